"""A list of tensors emptied after the walk that used them."""

from __future__ import annotations

from collections.abc import Iterator

from retainlint.diagnostic import Clear, Diagnostic
from retainlint.fixes.code import Code
from retainlint.fixes.edits import Applicability, Fix
from retainlint.fixes.statements import after


def clear(code: Code, cure: Clear, diagnostic: Diagnostic) -> Iterator[Fix]:
    backward_pass = code.statement(cure.backward_pass.start) if cure.backward_pass.source is code.source else None
    if backward_pass is not None and code.holds(cure.name):
        edit = after(code, backward_pass, f"{cure.name}.clear()")
        yield Fix(Applicability.UNSAFE, f"Clear `{cure.name}` after the walk", (edit,))
