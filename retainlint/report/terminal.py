"""What a terminal needs: how wide a character is, which ones are not to be let through, colours, lines cut to size."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby

TAB = "    "
ROWS = 4
"""Rows that are kept laid out: a long one is drawn for each of its findings."""
_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories that a terminal would act on or hide: controls, formats (bidi overrides too), lone surrogates, breaks."""
_COMMAND = r"(?i)#(?=\[|vso\[)"
"""In `##[error]` and `##vso[task...]`, which the logs of build servers act on wherever they stand, the second sign."""

_SGR = {"error": "1;31", "warning": "1;33", "secondary": "1;34", "gutter": "1;34", "strong": "1", "good": "1;32"}


class Style:
    """How to write for the reader: with colours or not, in how many columns."""

    def __init__(self, colour: bool = False, width: int = 140) -> None:
        self.colour, self.width = colour, width

    def paint(self, text: str, role: str) -> str:
        """The text in the colour of its role: "error", "warning", "secondary", "gutter", "strong", "good", ""."""
        return f"\x1b[{_SGR[role]}m{text}\x1b[0m" if self.colour and role and text else text


@lru_cache(maxsize=4096)
def glyph(character: str) -> tuple[str, int]:
    """How a character is shown and how many columns that takes: escaped if it could harm, a tab as blanks."""
    if " " <= character <= "~":
        return character, 1
    if character == "\t":
        return TAB, len(TAB)
    import unicodedata  # most texts do without

    category = unicodedata.category(character)
    if category in _ESCAPED or ord(character) & 0xFFFE == 0xFFFE:  # the last two of each plane are no characters
        escape = _escape(ord(character))
        return escape, len(escape)
    if category in ("Mn", "Me") or _joins(character):
        return character, 0
    is_wide = category != "Cn" and unicodedata.east_asian_width(character) in "WF"
    return character, 2 if is_wide else 1


def _joins(character: str) -> bool:
    """Korean vowels and finals that stand in one cell with the letter before them."""
    return "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff"


def _escape(number: int) -> str:
    if 0xDC80 <= number <= 0xDCFF:  # a byte of a file name that is no UTF-8
        number -= 0xDC00
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def glyphs(text: str) -> Iterator[tuple[str, int]]:
    """Each character of a text as `glyph` tells, with what would begin a build server's command escaped."""
    if "##" not in text:
        yield from map(glyph, text)
        return
    broken = {found.start() for found in re.finditer(_COMMAND, text) if text[found.start() - 1 : found.start()] == "#"}
    for at, character in enumerate(text):
        yield ("\\x23", 4) if at in broken else glyph(character)


def safe(text: str) -> str:
    """The text as a terminal, or a build server's log, may be given it."""
    if text.isascii() and text.isprintable() and "##" not in text:
        return text
    return "".join(shown for shown, _ in glyphs(text))


def safe_start(text: str) -> str:
    """A safe text for the start of a line, where `::` would begin one of GitHub's commands."""
    made = safe(text)
    return re.sub(r"^( *):(?=:)", r"\1\\x3a", made)


@lru_cache(maxsize=ROWS)
def columns(text: str) -> list[int]:
    """The column, from 0, at which each character of the text starts, and behind them that where the text ends."""
    at = [0]
    for _, wide in glyphs(text):
        at.append(at[-1] + wide)
    return at


@lru_cache(maxsize=ROWS)
def _shown(text: str) -> list[tuple[str, int]]:
    return [*glyphs(text)]


class Canvas:
    """One line of cells, each a column wide, that is drawn upon and then written out."""

    def __init__(self) -> None:
        self._cells: list[tuple[str, str]] = []

    def put(self, column: int, text: str, role: str = "") -> None:
        """Draw text from a column on, over what is there."""
        self._put(column, glyphs(text), role)

    def put_part(self, text: str, left: int, right: int) -> None:
        """Draw the columns of a text from `left` up to `right`, at the line's beginning."""
        at, every = columns(text), _shown(text)
        first, last = bisect_right(at, left) - 1, bisect_left(at, right)
        while last < len(every) and every[last][1] == 0:
            last += 1
        self._put(0, every[first:last], "")
        self.cut(left - at[first], right - at[first])

    def _put(self, column: int, every: Iterable[tuple[str, int]], role: str) -> None:
        for shown, wide in every:
            cells = [(c, role) for c in shown] if len(shown) == wide else [(shown, role), *[("", role)] * (wide - 1)]
            if wide == 0:  # a combining mark joins the character before it
                self._join(column - 1, shown)
                continue
            self._cells += [(" ", "")] * (column + wide - len(self._cells))
            self._cells[column : column + wide] = cells
            column += wide

    def _join(self, column: int, mark: str) -> None:
        """Add a combining mark to the character that stands in a column, or whose second half does."""
        if 0 < column < len(self._cells) and self._cells[column][0] == "":
            column -= 1
        if 0 <= column < len(self._cells):
            shown, role = self._cells[column]
            self._cells[column] = (shown + mark, role)

    def cut(self, left: int, right: int) -> None:
        """Keep the columns from `left` up to `right`."""
        self._cells = self._cells[left:right]
        self._mend()

    def _mend(self) -> None:
        """Blank the halves of wide characters whose other half is gone."""
        for at, (shown, role) in enumerate(self._cells):
            is_tail = at > 0 and shown == "" and _is_wide(self._cells[at - 1][0])
            is_head = _is_wide(shown) and at + 1 < len(self._cells) and self._cells[at + 1][0] == ""
            if (shown == "" and not is_tail) or (_is_wide(shown) and not is_head):
                self._cells[at] = (" ", role)

    def append(self, column: int, other: Canvas) -> None:
        """Put the cells of another line from a column on, behind all that is here."""
        self._cells += [(" ", "")] * (column - len(self._cells))
        self._cells += other._cells

    def __len__(self) -> int:
        return len(self._cells)

    def text(self, style: Style) -> str:
        """The line without the blanks at its end."""
        written = list(self._cells)
        while written and written[-1][0] in (" ", ""):
            written.pop()
        runs = groupby(written, key=lambda cell: cell[1])
        return "".join(style.paint("".join(shown for shown, _ in run), role) for role, run in runs)


def _is_wide(shown: str) -> bool:
    return shown != "" and glyph(shown[0])[1] == 2
