"""Lays out the marks of one row and their texts below it, and squeezes a row that is too long for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from retainlint.report.terminal import Canvas, safe

if TYPE_CHECKING:
    from retainlint.diagnostic import Label

GAP = "..."
MARGIN = 8
"""Columns of source kept on both sides of a mark when a row is squeezed."""
ROOMY = 56
"""Columns from which on both can be had; below, margins are smaller."""
NARROW = 28
"""Columns in which a text may be wrapped beside or below its mark before the row is squeezed to make room."""


@dataclass(frozen=True)
class Mark:
    """A label's place: rows from 1, columns in characters from 0; `end` is behind its last character."""

    row: int
    start: int
    end_row: int
    end: int
    label: Label

    @property
    def role(self) -> str:
        return "primary" if self.label.primary else "secondary"

    @property
    def line(self) -> str:
        return "^" if self.label.primary else "-"

    def covers(self, row: int) -> bool:
        return self.row <= row <= self.end_row


def mark(label: Label) -> Mark:
    """Where a label's mark goes. One that ends with the line end of a row doesn't reach into the next one."""
    source = label.span.source
    row, column = source.place(label.span.start)
    end_row, end_column = source.place(max(label.span.end - 1, label.span.start))
    start = min(column - 1, len(source.row_text(row)))
    end = min(end_column, len(source.row_text(end_row)))
    return Mark(row, start, end_row, max(end, start + 1) if row == end_row else end, label)


class Squeeze:
    """A row with what lies far from its marks left out; `kept` are the stretches of columns that stay."""

    def __init__(self, kept: list[tuple[int, int]], width: int) -> None:
        self.kept, self._width = kept, width

    def at(self, column: int) -> int:
        """Where a column of the whole row stands in the squeezed one."""
        offset = 0
        for start, end in self.kept:
            offset += len(GAP) if start > 0 else 0
            if column <= end:
                return offset + max(column - start, 0)
            offset += end - start
        return offset

    @property
    def width(self) -> int:
        end = self.kept[-1][1]
        return self.at(end) + (len(GAP) if end < self._width else 0)

    def grown(self, room: int) -> Squeeze:
        """With up to `room` more columns kept: first those at the left end, then those between marks."""
        kept = list(self.kept)
        for index, (start, end) in enumerate(kept):
            before = kept[index - 1][1] if index else 0
            missing = start - before
            if 0 < missing <= room + len(GAP):
                kept[index] = (before, end)
                room -= max(missing - len(GAP), 0)
        return Squeeze(_merged(kept), self._width)

    def filled(self, room: int) -> Squeeze:
        """With the last stretch as long as fits into `room` columns."""
        start, end = self.kept[-1]
        if self.width < room:
            end = min(self._width, end + room - self.width)
        if self._width - end <= len(GAP):
            end = self._width
        return Squeeze([*self.kept[:-1], (start, end)], self._width)

    def drawn(self, text: str) -> Canvas:
        """The row's text, with an ellipsis for each stretch that is left out."""
        canvas = Canvas()
        for start, end in self.kept:
            piece = Canvas()
            piece.put_part(text, start, end)
            canvas.put(len(canvas), GAP if start > 0 else "")
            canvas.append(len(canvas), piece)
        canvas.put(len(canvas), GAP if self.kept[-1][1] < self._width else "")
        return canvas


class RowMarks:
    """The marks within one row. `at` are its characters' columns, `edges` columns that hooks lead to."""

    def __init__(self, marks: list[Mark], at: list[int], edges: list[int], room: int) -> None:
        spots = {m: (at[m.start], max(at[min(m.end, len(at) - 1)], at[m.start] + 1)) for m in marks}
        self._narrow = min(NARROW, max(room // 2, MARGIN))
        self._marks, self._room, self.squeeze = marks, room, Squeeze([(0, at[-1])], at[-1])
        self._settle(spots)
        if max(at[-1], self._extent()) > room:
            near = [*spots.values(), *((edge, edge + 1) for edge in edges)] or [(0, 0)]
            parts = [end for spot in near for end in _ends(*spot, room)]
            for margin in (MARGIN, MARGIN // 2 - 1, 0) if room >= ROOMY else (MARGIN // 2 - 1,):
                kept = [(max(start - margin, 0), min(max(end, start) + margin, at[-1])) for start, end in parts]
                self.squeeze = Squeeze(_merged(kept), at[-1])
                if self.squeeze.width <= room:
                    break
            self._settle(spots)
            spare = room - max(self._extent(), self.squeeze.width)
            self.squeeze = self.squeeze.grown(max(spare, 0)).filled(room)
            self._settle(spots)

    def _settle(self, spots: dict[Mark, tuple[int, int]]) -> None:
        """Put the marks where the squeeze has their columns, and decide whose text follows its mark."""
        placed = {m: (self.squeeze.at(start), self.squeeze.at(end)) for m, (start, end) in spots.items()}
        self._spots = {m: (start, max(end, start + 1)) for m, (start, end) in placed.items()}
        self._inline = self._picked()
        texts = [m for m in self._marks if m.label.text and m is not self._inline]
        self._hung = sorted(texts, key=lambda m: self._spots[m], reverse=True)

    def _picked(self) -> Mark | None:
        """The mark that reaches farthest to the right, if there is room for a text behind it."""
        if not self._spots:
            return None
        last = max(self._spots, key=lambda m: (self._spots[m][1], self._spots[m][0], m.label.primary))
        fits = self._spots[last][1] + 1 + min(len(last.label.text), self._narrow) <= self._room
        return last if last.label.text and fits else None

    def _extent(self) -> int:
        """The column that the lines below the row need, when texts are as narrow as they may be."""
        needs = [(end + 1 if m is self._inline else start, m.label.text) for m, (start, end) in self._spots.items()]
        return max((column + min(len(text), self._narrow) for column, text in needs), default=0)

    def lines(self, roles: dict[str, str]) -> Iterator[Canvas]:
        """The line of marks, then the texts that hang below it, from the right to the left."""
        if not self._marks:
            return
        canvas = Canvas()
        # Shorter marks are drawn over longer ones, the primary one over one of its length.
        for m in sorted(self._marks, key=lambda m: (self._spots[m][0] - self._spots[m][1], m.label.primary)):
            start, end = self._spots[m]
            canvas.put(start, m.line * (end - start), roles[m.role])
        if self._inline is not None:
            yield from self._text(self._inline, self._spots[self._inline][1] + 1, canvas, self._hung, roles)
        else:
            yield canvas
        if self._hung:
            yield self._connectors(self._hung, roles)
        for number, m in enumerate(self._hung):
            rest = self._hung[number + 1 :]
            yield from self._text(m, self._spots[m][0], self._connectors(rest, roles), rest, roles)

    def _text(self, m: Mark, column: int, first: Canvas, below: list[Mark], roles: dict[str, str]) -> Iterator[Canvas]:
        """A mark's text from a column on, in as many lines as it takes beside the connectors of those below it."""
        for number, line in enumerate(_wrapped(m.label.text, max(self._room - column, MARGIN))):
            canvas = self._connectors(below, roles) if number else first
            canvas.put(column, line, roles[m.role])
            yield canvas

    def _connectors(self, marks: list[Mark], roles: dict[str, str]) -> Canvas:
        """The bars that lead from marks down to their texts."""
        canvas = Canvas()
        for m in marks:
            canvas.put(self._spots[m][0], "|", roles[m.role])
        return canvas


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(safe(text), width, break_long_words=False, break_on_hyphens=False) or [""]


def _ends(start: int, end: int, room: int) -> list[tuple[int, int]]:
    """A stretch whole if it is short, else its two ends."""
    most, least = (room // 3, MARGIN) if room >= ROOMY else (room // 4, MARGIN // 2)
    return [(start, end)] if end - start <= 2 * most else [(start, start + most), (end - least, end)]


def _merged(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches in order, those joined that touch or leave out no more than an ellipsis would take."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        start = 0 if start <= len(GAP) else start
        if merged and start - merged[-1][1] <= len(GAP):
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
