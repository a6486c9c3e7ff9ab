"""`zero_grad()` where it belongs: before the walk, and never between the walk and the step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, SwapZeroAndStep, ZeroFirst
from retainlint.fixes.code import Code
from retainlint.fixes.edits import Applicability, Edit, Fix
from retainlint.fixes.statements import before, removed


def zero_first(code: Code, cure: ZeroFirst, diagnostic: Diagnostic) -> Iterator[Fix]:
    """In each turn, and not once before the loop."""
    backward_pass = code.statement(cure.backward_pass.start) if cure.backward_pass.source is code.source else None
    if backward_pass is None or not code.holds(cure.owner):
        return
    row = f"{cure.owner}.zero_grad()"
    edits = [before(code, backward_pass, row)]
    loop = next((up for up in code.above(backward_pass) if isinstance(up, ast.For | ast.While)), None)
    for each in code.block(loop).statements if loop is not None else ():
        if code.start(each) < code.start(backward_pass) and ast.unparse(each) == row:
            edits.append(removed(code, each))
    yield Fix(Applicability.UNSAFE, f"Zero the gradients first: `{row}`", tuple(edits))


def swap_zero_and_step(code: Code, cure: SwapZeroAndStep, diagnostic: Diagnostic) -> Iterator[Fix]:
    if cure.zero.source is not code.source or cure.step.source is not code.source:
        return
    zero, step = code.statement(cure.zero.start), code.statement(cure.step.start)
    if zero is None or step is None or step not in code.block(zero).statements:
        return
    one, two = code.of(zero), code.of(step)
    edits = (Edit(code.start(zero), code.end(zero), two), Edit(code.start(step), code.end(step), one))
    yield Fix(Applicability.UNSAFE, f"Step before the gradients are zeroed: `{two}`, then `{one}`", edits)
