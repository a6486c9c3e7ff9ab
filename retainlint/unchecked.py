"""The findings that tell of a file that could not be checked, RTL900."""

from __future__ import annotations

from retainlint.catalogue import CATALOGUE, NOT_CHECKED
from retainlint.diagnostic import Diagnostic, Label, Severity
from retainlint.source import Source, Span

_RULE = (NOT_CHECKED, CATALOGUE[NOT_CHECKED][0])


def not_checked(source: Source, reason: str, row: int | None = None, column: int | None = None) -> Diagnostic:
    """RTL900: a file, or its place that stops us."""
    at = 0
    if source.text and row is not None:
        row = min(max(row, 1), len(source.row_starts))
        at = source.offset(row, min(max(column or 1, 1), len(source.row_text(row)) + 1))
    label = Label(Span(source, at, at), "here" if source.text else "", primary=True)
    return Diagnostic(*_RULE, Severity.ERROR, f"not checked: {reason}", (label,))


def bug(name: str, error: Exception) -> Diagnostic:
    """RTL900: a file in which we stumble ourselves."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename.rpartition('retainlint/')[2]}:{frames[-1].lineno}" if frames else ""
    what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return Diagnostic(
        *_RULE,
        Severity.ERROR,
        f"not checked: internal error{where}: {what}",
        (Label(Span(Source(name, ""), 0, 0), "", primary=True),),
        help="this is a bug in retainlint, not in your code: please report it, with the file if you can",
    )
