"""Where a span lies, in the terms that formats ask for: cells, relative paths, URIs, columns in other units."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from retainlint.report.terminal import safe_start
from retainlint.text.source import Source, Span

if TYPE_CHECKING:
    from retainlint.diagnostic import Label


def in_cell(span: Span) -> str:
    """`cell 2:3:5: ` before what is told of a place in a notebook, for formats that know no cells; else ""."""
    return "" if span.place.cell is None else f"{in_file(span)}: "


def in_file(span: Span) -> str:
    """`row:column`, or `cell 2:row:column`."""
    at = span.place
    return f"{'' if at.cell is None else f'cell {at.cell}:'}{at.row}:{at.column}"


def pointed(span: Span) -> str:
    """`path:row:column`, or `path:cell 2:row:column`, as editors and terminals make links of it."""
    return f"{safe_start(span.source.name)}:{in_file(span)}"


def sheet(label: Label) -> tuple[str, int | None]:
    """The file, or the cell of a notebook, in which a label stands."""
    return label.span.source.name, label.span.place.cell


def relative(name: str, root: str = "") -> str:
    """The path from `root` (default: the current directory) with slashes; absolute if the file lies outside."""
    whole = os.path.abspath(name)
    base = os.path.abspath(root or os.curdir)
    try:
        inside = os.path.normcase(os.path.commonpath((whole, base))) == os.path.normcase(base)
    except ValueError:  # two drives
        inside = False
    return (os.path.relpath(whole, base) if inside else whole).replace(os.sep, "/")


def uri(path: str) -> str:
    """A path as a URI: a relative one stays relative, an absolute one begins with `file://`."""
    from urllib.parse import quote

    drive, inside = os.path.splitdrive(path)
    inside = inside.replace(os.sep, "/")
    try:
        quoted = quote(inside, errors="surrogateescape")  # the bytes of a name that is no text
    except UnicodeEncodeError:
        quoted = quote(inside, errors="surrogatepass")
    if not os.path.isabs(path):
        return quoted
    drive = drive.replace(os.sep, "/")  # `C:`, or `//server/share`
    return f"file:{drive}{quoted}" if drive.startswith("//") else f"file://{drive and '/'}{drive}{quoted}"


def columns_in(source: Source, offset: int, encoding: str, unit: int) -> int:
    """The column of an offset, from 1, in units of `unit` bytes of its row in an encoding."""
    row, column = source.place(offset)
    before = source.text[source.row_starts[row - 1] : offset]
    return column if before.isascii() else len(before.encode(encoding, "surrogatepass")) // unit + 1
