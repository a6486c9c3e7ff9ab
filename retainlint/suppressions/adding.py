"""Writes `# noqa: CODE` behind the rows of findings."""

from __future__ import annotations

from collections.abc import Iterable

from retainlint.suppressions.comments import Layout, Suppression, read
from retainlint.text.source import Source, Span


def with_noqa(source: Source, findings: Iterable[tuple[str, Span]]) -> tuple[str, int]:
    """The source's text with each finding, a code and a place in it, suppressed on its row; and how many are.

    A `# noqa` that lists codes is extended. Where no comment can stand, in a string or before a line that is
    continued, it goes behind the end of the statement. What has no such place stays as it is.
    """
    layout, comments = Layout(source), read(source)
    wanted: dict[int, list[str]] = {}
    added = 0
    for code, span in findings:
        row = _row(layout, span)
        if row is None:
            continue
        codes = wanted.setdefault(row, [])
        added += 1
        if code not in codes:
            codes.append(code)
    text = source.text
    for row in sorted(wanted, reverse=True):
        at, addition = _addition(source, row, sorted(wanted[row]), comments.by_row.get(row, ()))
        text = text[:at] + addition + text[at:]
    return text, added


def _row(layout: Layout, span: Span) -> int | None:
    last = span.end_place[0]
    if last in layout.open_rows:
        return last
    end = layout.ends.get(last)
    return end if end in layout.open_rows else None


def _addition(source: Source, row: int, codes: list[str], there: tuple[Suppression, ...]) -> tuple[int, str]:
    """What to put in at which offset."""
    for one in there:
        if not one.own and one.words:
            return one.words[-1].end, "".join(f", {code}" for code in codes)
    text = source.row_text(row)
    bare = text.rstrip(" \t\x0c")
    return source.offset(row, 1) + len(bare), f"  # noqa: {', '.join(codes)}"
