"""A second walk of the same graph, taken out."""

from __future__ import annotations

from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, DropBackward
from retainlint.fixes.code import Code
from retainlint.fixes.edits import Applicability, Fix
from retainlint.fixes.statements import TUNES, backpropagated, calls, removed


def drop_backward(code: Code, cure: DropBackward, diagnostic: Diagnostic) -> Iterator[Fix]:
    """Nothing if gradients are used between the two walks, since then both may be meant."""
    if cure.backward_pass.source is not code.source or cure.first.source is not code.source:
        return
    one, two = code.statement(cure.first.start), code.statement(cure.backward_pass.start)
    if one is None or two is None or one is two or backpropagated(two) is None:
        return
    block = code.block(two)
    before = code.within(one, block.statements)
    if before is None or before is two or calls(block.upto(before, two), TUNES):
        return
    yield Fix(Applicability.UNSAFE, f"Remove the second walk, `{code.of(two)}`", (removed(code, two),), merges=1)
