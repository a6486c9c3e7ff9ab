"""The texts that an editor holds open, as it tells of them: plain ones, and notebooks, whose cells are one program."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lsprotocol import types
from pygls import uris

from retainlint.text.source import Source, Span

UNITS: Mapping[str, tuple[str, int]] = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""How the columns of each position encoding are counted: in so many bytes of a row in a codec."""


class Columns:
    """Places as the protocol counts them: rows from 0, columns from 0 in the units that client and server agreed on."""

    def __init__(self, encoding: str = "utf-16") -> None:
        self._codec, self._unit = UNITS[encoding]

    def units(self, text: str) -> int:
        """How many columns a text takes."""
        return len(text) if text.isascii() else len(text.encode(self._codec, "surrogatepass")) // self._unit

    def position(self, source: Source, offset: int) -> types.Position:
        row, _ = source.place(offset)
        return types.Position(row - 1, self.units(source.text[source.row_starts[row - 1] : offset]))

    def offset(self, source: Source, position: types.Position) -> int:
        """The offset of a position; one behind a row's end, or the last row, counts as that end."""
        if position.line >= len(source.row_starts):
            return len(source.text)
        text = source.row_text(position.line + 1)
        if not text.isascii():
            data = text.encode(self._codec, "surrogatepass")[: position.character * self._unit]
            return source.row_starts[position.line] + len(data.decode(self._codec, "ignore"))
        return source.row_starts[position.line] + min(position.character, len(text))

    def changed(self, text: str, changes: Iterable[types.TextDocumentContentChangeEvent]) -> str:
        """A text after the changes that a client tells of, each of which counts from what the one before it made."""
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                source = Source("", text)
                start, end = self.offset(source, change.range.start), self.offset(source, change.range.end)
                text = text[:start] + change.text + text[end:]
            else:
                text = change.text
        return text


class Text:
    """A plain document. `place` is its absolute path, one that isn't there for what was never written."""

    def __init__(self, item: types.TextDocumentItem, place: str) -> None:
        self.uri, self.place, self.version, self.text = item.uri, place, item.version, item.text

    def data(self) -> bytes:
        """The bytes that the file would have."""
        return Source(self.place, self.text).as_bytes()

    @property
    def uris(self) -> list[str]:
        """Of the texts that diagnostics are told for."""
        return [self.uri]

    def version_of(self, uri: str) -> int | None:
        return self.version

    def located(self, span: Span, columns: Columns) -> types.Location:
        start, end = columns.position(span.source, span.start), columns.position(span.source, span.end)
        return types.Location(self.uri, types.Range(start, end))

    def offset(self, source: Source, uri: str, position: types.Position, columns: Columns) -> int:
        return columns.offset(source, position)


class Cell(NamedTuple):
    """A cell with its text, as the client numbers its versions."""

    uri: str
    is_code: bool
    language: str
    text: str
    version: int


class Notebook:
    """A notebook: all of its cells in their order, prose too, so that they are counted as they are in the file."""

    def __init__(self, params: types.DidOpenNotebookDocumentParams, place: str) -> None:
        self.uri, self.place, self.version = params.notebook_document.uri, place, params.notebook_document.version
        texts = {item.uri: item for item in params.cell_text_documents}
        self.cells = [_cell(cell, texts.get(cell.document)) for cell in params.notebook_document.cells]

    def change(self, params: types.DidChangeNotebookDocumentParams, columns: Columns) -> None:
        self.version = params.notebook_document.version
        change = params.change.cells
        if change is None:
            return
        if change.structure is not None:
            texts = {item.uri: item for item in change.structure.did_open or ()}
            known = {cell.uri: cell for cell in self.cells}
            array = change.structure.array
            new = [known.get(cell.document) or _cell(cell, texts.get(cell.document)) for cell in array.cells or ()]
            self.cells[array.start : array.start + array.delete_count] = new
        for data in change.data or ():
            is_code = data.kind == types.NotebookCellKind.Code
            self.cells = [each._replace(is_code=is_code) if each.uri == data.document else each for each in self.cells]
        for text in change.text_content or ():
            for at, cell in enumerate(self.cells):
                if cell.uri == text.document.uri:
                    changed = columns.changed(cell.text, text.changes)
                    self.cells[at] = cell._replace(text=changed, version=text.document.version)

    def data(self) -> bytes:
        """A notebook's file with these cells and nothing else in it."""
        cells = [
            {
                "cell_type": "code" if cell.is_code else "markdown",
                "metadata": {"vscode": {"languageId": cell.language}},
                "source": cell.text,
            }
            for cell in self.cells
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()

    @property
    def uris(self) -> list[str]:
        return [cell.uri for cell in self.cells if cell.is_code]

    def version_of(self, uri: str) -> int | None:
        return next((cell.version for cell in self.cells if cell.uri == uri), None)

    def located(self, span: Span, columns: Columns) -> types.Location:
        """A place within the cell in which a span of the program begins; it ends there, too."""
        source = span.source
        number = max(bisect_right(source.cells, span.start), 1)
        first, behind = source.cells[number - 1], [*source.cells, len(source.text) + 1][number]
        last = self.cells[number - 1]
        top = source.place(first)[0] - 1
        start = columns.position(source, span.start)
        end = columns.position(source, min(span.end, behind - 1))
        start, end = (types.Position(each.line - top, each.character) for each in (start, end))
        return types.Location(last.uri, types.Range(start, end))

    def offset(self, source: Source, uri: str, position: types.Position, columns: Columns) -> int:
        number = next((at for at, cell in enumerate(self.cells) if cell.uri == uri), 0)
        top = source.place(source.cells[number])[0] - 1
        return columns.offset(source, types.Position(position.line + top, position.character))


def _cell(cell: types.NotebookCell, item: types.TextDocumentItem | None) -> Cell:
    is_code = cell.kind == types.NotebookCellKind.Code
    if item is None:
        return Cell(cell.document, is_code, "python", "", 0)
    return Cell(cell.document, is_code, item.language_id, item.text, item.version)


def place_of(uri: str, root: str) -> str:
    """The absolute path of a document; below `root` for one that isn't on this machine's disk."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    if path is None:
        path = os.path.join(root, os.path.basename(uri.partition(":")[2]) or "untitled")
    return os.path.abspath(path)
