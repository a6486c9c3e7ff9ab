"""A comment that suppresses nothing, taken out or shortened."""

from __future__ import annotations

from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, RemoveSuppression
from retainlint.fixes.code import Code
from retainlint.fixes.edits import Applicability, Edit, Fix


def remove_suppression(code: Code, cure: RemoveSuppression, diagnostic: Diagnostic) -> Iterator[Fix]:
    if cure.span.source is code.source:
        edit = Edit(cure.span.start, cure.span.end, cure.left)
        message = "Shorten the list of what is suppressed" if cure.left.strip(" #") else "Remove the unused suppression"
        yield Fix(Applicability.SAFE, message, (edit,))
