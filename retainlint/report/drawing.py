"""Draws one file's rows with the marks of a finding under them, in the manner of rustc."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from retainlint.report.marks import Mark, RowMarks, mark
from retainlint.report.terminal import Canvas, Style, columns
from retainlint.text.source import Source

if TYPE_CHECKING:
    from retainlint.diagnostic import Label

GAP = "..."
MOST_ROWS = 6
"""Of a mark over more rows than this, only the first and the last two are shown."""


class Drawing:
    """The rows of one source that a finding speaks of. A label without text that isn't primary only shows its row."""

    def __init__(self, source: Source, labels: Sequence[Label], gutter: int, style: Style, severity: str) -> None:
        self._source, self._gutter, self._style = source, gutter, style
        self._roles = {"primary": severity, "secondary": "secondary"}
        self._marks = marks = [mark(label) for label in labels]
        self._above = (
            labels[0].span.row - labels[0].span.place.row if labels else 0
        )  # rows of the cells before this one
        self._single = [m for m in marks if m.row == m.end_row and (m.label.primary or m.label.text)]
        self._long = [m for m in marks if m.row < m.end_row and (m.label.primary or m.label.text)]
        self._lanes = _lanes(self._long)
        self._left = max(self._lanes.values(), default=-2) + 2  # columns that the bars of long marks take
        self._room = max(style.width - gutter - 3 - self._left, 24)

    def lines(self) -> Iterator[str]:
        previous = 0
        for row in rows_shown(self._source, self._marks):
            if previous and row > previous + 1:
                yield self._gap(row)
            yield from self._row(row)
            previous = row

    def _gap(self, row: int) -> str:
        canvas = Canvas()
        canvas.put(0, GAP, "gutter")
        for m in self._long:
            if m.row < row <= m.end_row:
                canvas.put(self._gutter + 3 + self._lanes[m], "|", self._roles[m.role])
        return canvas.text(self._style)

    def _row(self, row: int) -> Iterator[str]:
        """The row itself, then the lines with its marks."""
        text = self._source.shown_row(row)
        at = columns(text)
        starts = [m for m in self._long if m.row == row]
        ends = sorted((m for m in self._long if m.end_row == row), key=lambda m: -self._lanes[m])
        hooks = {m: at[m.start] for m in starts} | {m: max(at[m.end] - 1, 0) for m in ends}
        marks = RowMarks([m for m in self._single if m.row == row], at, list(hooks.values()), self._room)
        bars = {m: "|" for m in self._long if m.row < row <= m.end_row}
        slashes = {m: "/" for m in starts if not text[: m.start].strip()}
        yield self._line(f"{row - self._above:>{self._gutter}}", {**bars, **slashes}, marks.squeeze.drawn(text))
        bars.update(dict.fromkeys(slashes, "|"))
        for line in marks.lines(self._roles):
            yield self._line("", bars, line)
        for m in starts:
            if m not in slashes:
                yield self._line("", bars, Canvas(), (m, marks.squeeze.at(hooks[m]), ""))
                bars[m] = "|"
        for m in ends:
            yield self._line("", bars, Canvas(), (m, marks.squeeze.at(hooks[m]), m.label.text))
            del bars[m]

    def _line(self, number: str, bars: dict[Mark, str], body: Canvas, hook: tuple[Mark, int, str] | None = None) -> str:
        """A line behind its gutter and bars; a hook leads from a long mark's bar to a column of the row above."""
        head, left = Canvas(), Canvas()
        head.put(0, f"{number:>{self._gutter}} |", "gutter")
        if hook is not None:
            m, column, text = hook
            role = self._roles[m.role]
            for at in range(self._lanes[m] + 1, self._left + column):
                left.put(at, "_", role)
            left.put(self._left + column, m.line + (f" {text}" if text else ""), role)
        for m, bar in bars.items():
            left.put(self._lanes[m], bar, self._roles[m.role])
        if hook is None:
            left.append(self._left, body)
        head.append(self._gutter + 3, left)
        return head.text(self._style)


def rows_shown(source: Source, marks: Sequence[Mark]) -> list[int]:
    """The rows with marks, of long marks the first and last ones, and single rows between."""
    rows: set[int] = set()
    for m in marks:
        span = range(m.row, m.end_row + 1) if m.label.primary or m.label.text else (m.row,)
        rows.update(span if len(span) <= MOST_ROWS else [*span[:2], *span[-2:]])
    between = {a + 1 for a, b in pairwise(sorted(rows)) if b == a + 2}
    return sorted(rows | {row for row in between if source.shown_row(row).strip()})


def _lanes(marks: list[Mark]) -> dict[Mark, int]:
    """A column for the bar of each long mark, so that no two share one in any row."""
    lanes: dict[Mark, int] = {}
    for m in sorted(marks, key=lambda m: (m.row, -m.end_row)):
        taken = {lane for other, lane in lanes.items() if other.covers(m.row)}
        lanes[m] = next(lane for lane in range(len(marks)) if lane not in taken)
    return lanes
