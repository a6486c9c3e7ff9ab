"""A text, and a place in it."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

from retainlint.startup.records import record

_ROW_END = re.compile(r"\r\n?|\n")

_NO_CHARACTER = re.compile("[\udc80-\udcff]")
"""Bytes that no encoding has taken for a character."""

_ODD = "\N{REPLACEMENT CHARACTER}"


class UnreadableSource(Exception):
    """Bytes that are no Python text; `reason` is written for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@record(eq=False)
class Source:
    """A Python text and the name it is shown under.

    Rows are split where Python's tokenizer splits them: at `\\n`, `\\r\\n` and a lone `\\r`, never at a form feed.
    Two sources are equal only if they are the same object. A text made of several cells is one program; `cells` are the
    offsets at which they start. `shown` is what stands in the file, as long and with the same rows, where that isn't
    all Python (rows of IPython, prose around a program, comments of other bytes); "" if it is `text`. A stub's text stands
    for a framework's: nobody is shown a place in it.
    """

    name: str
    text: str
    cells: tuple[int, ...] = ()
    shown: str = ""
    is_stub: bool = False

    @classmethod
    def of_cells(cls, name: str, cells: Sequence[str]) -> Source:
        """Cells in their order as one text; each but the last is ended by a newline if it has none."""
        starts: list[int] = []
        parts: list[str] = []
        at = 0
        for cell in cells:
            starts.append(at)
            parts.append(cell if cell.endswith("\n") else f"{cell}\n")
            at += len(parts[-1])
        return cls(name, "".join(parts), tuple(starts))

    @classmethod
    def decode(cls, name: str, data: bytes) -> Source:
        """Decode as Python would: a byte-order mark, else the coding cookie, else UTF-8.

        Raises UnreadableSource for null bytes, an unknown encoding, and bytes that the encoding doesn't allow, unless they
        stand in comments: there Python doesn't look at those of UTF-8.
        """
        if b"\0" in data:
            raise UnreadableSource("source contains null bytes")
        try:
            encoding = _encoding(data)
        except SyntaxError as error:
            raise UnreadableSource(str(error.msg)) from error
        bare = data.removeprefix(codecs.BOM_UTF8) if encoding == "utf-8-sig" else data
        try:
            return cls(name, bare.decode("utf-8" if encoding == "utf-8-sig" else encoding))
        except UnicodeDecodeError as error:
            if encoding.startswith("utf-8") and (source := _with_odd_comments(name, bare)) is not None:
                return source
            row, byte = error.object.count(b"\n", 0, error.start) + 1, error.object[error.start : error.start + 1].hex()
            raise UnreadableSource(f"not valid {encoding}: byte 0x{byte} in line {row}: {error.reason}") from error
        except (UnicodeError, LookupError) as error:
            raise UnreadableSource(f"not valid {encoding}: {error}") from error

    def encoded(self, like: bytes) -> bytes:
        """The text as a file's bytes, in the encoding and with the byte-order mark of `like`.

        Raises UnicodeEncodeError for a character that this encoding hasn't.
        """
        encoding = _encoding(like)
        mark = codecs.BOM_UTF8 if encoding == "utf-8-sig" else b""
        errors = "surrogateescape" if self.shown else "strict"
        return mark + (self.shown or self.text).encode("utf-8" if mark else encoding, errors)

    def as_bytes(self) -> bytes:
        """The text as a file's bytes, in the encoding that its first rows name, else in UTF-8."""
        plain = self.text.encode("utf-8", "surrogatepass")
        try:
            return plain if plain.startswith(codecs.BOM_UTF8) else self.encoded(plain)
        except (SyntaxError, UnicodeError):
            return plain

    @cached_property
    def row_starts(self) -> tuple[int, ...]:
        """Offset of the first character of each row."""
        return (0, *(end.end() for end in _ROW_END.finditer(self.text)))

    def place(self, offset: int) -> tuple[int, int]:
        """Row and column of an offset, both counted from 1, the column in characters."""
        row = bisect_right(self.row_starts, offset)
        return row, offset - self.row_starts[row - 1] + 1

    def place_in_cell(self, offset: int) -> tuple[int, int, int]:
        """Cell, row and column of an offset, all counted from 1, the row within its cell; a plain text is one cell."""
        row, column = self.place(offset)
        if not self.cells:
            return 1, row, column
        number = bisect_right(self.cells, offset)
        return number, row - self.place(self.cells[number - 1])[0] + 1, column

    def offset(self, row: int, column: int) -> int:
        """The offset of a row and column that count from 1."""
        return self.row_starts[row - 1] + column - 1

    def row_text(self, row: int) -> str:
        """The characters of a row, without its line end."""
        return self._row_of(self.text, row)

    def shown_row(self, row: int) -> str:
        """The same, as it stands in the file."""
        return self._row_of(self.shown or self.text, row)

    def _row_of(self, text: str, row: int) -> str:
        start = self.row_starts[row - 1]
        end = self.row_starts[row] if row < len(self.row_starts) else len(text)
        return text[start:end].rstrip("\r\n")


def _encoding(data: bytes) -> str:
    """The encoding of a text, by its mark and its first rows. Raises SyntaxError for one that there isn't."""
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:  # perhaps only since its first rows, as no row for Python, have to be UTF-8 there
        return tokenize.detect_encoding(io.BytesIO(data.decode(errors="replace").encode()).readline)[0]


def _with_odd_comments(name: str, data: bytes) -> Source | None:
    """A text that is UTF-8 but for bytes in its comments; None for any other."""
    shown = data.decode("utf-8", "surrogateescape")
    text = _NO_CHARACTER.sub(_ODD, shown)
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(text).readline)]
    except (SyntaxError, tokenize.TokenError):
        return None
    commented = sum(each.string.count(_ODD) for each in tokens if each.type == tokenize.COMMENT)
    return Source(name, text, shown=shown) if commented == text.count(_ODD) else None


@record
class CellPlace:
    """Rows and columns from 1, columns in characters, the end just behind the span. In a notebook, rows of the cell."""

    cell: int | None
    row: int
    column: int
    end_row: int
    end_column: int


@record
class Span:
    """The characters from `start` up to, not including, `end`."""

    source: Source
    start: int
    end: int

    def __contains__(self, part: Span) -> bool:
        return part.source is self.source and self.start <= part.start and part.end <= self.end

    @property
    def row(self) -> int:
        return self.source.place(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.place(self.start)[1]

    @property
    def end_place(self) -> tuple[int, int]:
        """Row and column just behind the span."""
        return self.source.place(self.end)

    @property
    def place(self) -> CellPlace:
        """Where it lies, as people and programs are told."""
        source = self.source
        if not source.cells:
            return CellPlace(None, self.row, self.column, *self.end_place)
        cell, row, column = source.place_in_cell(self.start)
        last, end_row, end_column = source.place_in_cell(self.end)
        if last != cell:  # it ends with its cell
            _, end_row, end_column = source.place_in_cell(max(self.end - 1, self.start))
            end_column += 1
        return CellPlace(cell, row, column, end_row, end_column)

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> str:
        """`line 9`, or `cell 2, line 9` in a notebook."""
        cell, row, _ = self.source.place_in_cell(self.start)
        return f"cell {cell}, line {row}" if self.source.cells else f"line {row}"

    def __str__(self) -> str:
        cell, row, _ = self.source.place_in_cell(self.start)
        return f"{self.source.name}:cell {cell}:{row}" if self.source.cells else f"{self.source.name}:{row}"


INITIALISERS = ("__init__", "__post_init__")
"""By these names Python runs what makes an object ready, the second of a dataclass."""
