"""A list of tensors emptied after the walk that used them."""

from __future__ import annotations

from collections.abc import Iterator

from retainlint.diagnostic import Clear, Diagnostic
from retainlint.fixes.code import Code
from retainlint.fixes.edits import Applicability, Fix
from retainlint.fixes.statements import after


def clear(code: Code, cure: Clear, diagnostic: Diagnostic) -> Iterator[Fix]:
    walk = code.statement(cure.walk.start) if cure.walk.source is code.source else None
    if walk is not None and code.holds(cure.name):
        edit = after(code, walk, f"{cure.name}.clear()")
        yield Fix(Applicability.UNSAFE, f"Clear `{cure.name}` after the walk", (edit,))
