"""Finds the files that a traceback speaks of: where they lie here, and the row that was meant if they were edited since."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from retainlint.commands.tracebacks import TracebackFrame
from retainlint.text import alike, is_notebook, notebook
from retainlint.text.source import Source, UnreadableSource

SEARCHED = 20_000
"""So many files and directories are looked at in search of one that isn't where the traceback says."""

_LEFT_OUT = frozenset({"node_modules", "venv", "env", "site-packages", "dist-packages", "__pycache__", "build", "dist"})
_LIBRARY = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|lib/python\d[\d.]*|torch/(?:nn|autograd|_tensor\.py))(?:/|$)"
)


@dataclass(frozen=True)
class Located:
    """A frame whose file is here. `row` counts in the file's own text, over all cells of a notebook; `edited` says that
    the row isn't where, or what, it was."""

    frame: TracebackFrame
    source: Source
    row: int
    edited: bool = False

    @property
    def file(self) -> str:
        return self.source.name


class Finder:
    """Looks files up below a directory, which is searched through at most once."""

    def __init__(self, here: str = os.curdir) -> None:
        self._here = here
        self._sources: dict[str, Source | None] = {}
        self._numbers: dict[str, list[int | None]] = {}

    def located(self, frames: Iterable[TracebackFrame]) -> list[Located]:
        """Those of the user's frames whose file can be read, in their order."""
        found = (self._located(frame) for frame in frames if is_users(frame))
        return [each for each in found if each is not None]

    def _located(self, frame: TracebackFrame) -> Located | None:
        if frame.cell is not None:
            return self._in_cell(frame, frame.cell)
        for path in self._paths(frame):
            source = self._read(path)
            if source is not None and frame.row > 0:
                return _placed(frame, source)
        return None

    def _paths(self, frame: TracebackFrame) -> Iterator[str]:
        """The path itself, then what ends alike below here: the most alike first."""
        path = os.path.expanduser(frame.file)
        if os.path.isfile(path):
            yield self._shown(path)
            return
        parts = [part for part in re.split(r"[/\\]+", frame.file) if part and not part.endswith(":")]
        for start in range(len(parts)):
            if os.path.isfile(candidate := os.path.join(self._here, *parts[start:])):
                yield self._shown(candidate)
                return
        named = [path for path in self._below if os.path.basename(path) == parts[-1:][0]] if parts else []
        yield from sorted(named, key=lambda path: (-alike(path.split(os.sep)[::-1], parts[::-1]), path))[:3]

    @cached_property
    def _below(self) -> list[str]:
        """Python files and notebooks below here, in a stable order, without those of environments."""
        found: list[str] = []
        seen = 0
        for directory, names, files in os.walk(self._here):
            names[:] = sorted(name for name in names if name not in _LEFT_OUT and not name.startswith("."))
            seen += len(names) + len(files)
            found += (self._shown(os.path.join(directory, f)) for f in sorted(files) if f.endswith((".py", ".ipynb")))
            if seen > SEARCHED:
                break
        return found

    def _in_cell(self, frame: TracebackFrame, number: int) -> Located | None:
        """A row of a cell in a notebook below here: where the same number stands at a cell with the same row."""
        best: tuple[tuple[bool, float], Located] | None = None
        for path in (path for path in self._below if path.endswith(".ipynb")):
            source = self._read(path)
            for counted, located in self._rows_alike(frame, source) if source is not None else ():
                rank = (counted == number, os.path.getmtime(path))
                if best is None or rank > best[0]:
                    best = rank, located
        return best[1] if best is not None else None

    def _rows_alike(self, frame: TracebackFrame, source: Source) -> Iterator[tuple[int | None, Located]]:
        """The cells whose row of that number is the frame's, each with the number that the kernel gave it."""
        ends = (*source.cells[1:], len(source.text))
        for start, end, number in zip(source.cells, ends, self._numbers[source.name], strict=True):
            row = source.place(start)[0] + frame.row - 1
            if row > len(source.row_starts) or source.row_starts[row - 1] >= end:
                continue
            if _same(source.shown_row(row), frame.text) if frame.text else number == frame.cell:
                yield number, Located(frame, source, row)

    def _read(self, path: str) -> Source | None:
        """The file's text; of a notebook that of its cells."""
        if path not in self._sources:
            try:
                with open(path, "rb") as file:
                    self._sources[path] = self._decoded(path, file.read())
            except (OSError, UnreadableSource):
                self._sources[path] = None
        return self._sources[path]

    def _decoded(self, path: str, data: bytes) -> Source:
        if not is_notebook(path):
            return Source.decode(path, data)
        book = notebook.read(path, data)
        self._numbers[path] = [cell.number for cell in book.cells]
        return book.source

    def _shown(self, path: str) -> str:
        place, here = os.path.abspath(path), os.path.join(os.path.abspath(self._here), "")
        return place[len(here) :] if place.startswith(here) else path


def is_users(frame: TracebackFrame) -> bool:
    """Whether a frame is of code that the user wrote, as far as its path tells."""
    path = frame.file.replace("\\", "/")
    return frame.cell is not None or not (path.startswith("<") or _LIBRARY.search(path.lower()))


def _placed(frame: TracebackFrame, source: Source) -> Located:
    """The frame at its row, or at the nearest row with the text that the traceback shows there."""
    rows = len(source.row_starts)
    if not frame.text or (frame.row <= rows and _same(source.row_text(frame.row), frame.text)):
        return Located(frame, source, min(frame.row, rows), frame.row > rows)
    others = [row for row in range(1, rows + 1) if _same(source.row_text(row), frame.text)]
    return Located(frame, source, min(others, key=lambda row: abs(row - frame.row), default=min(frame.row, rows)), True)


def _same(row: str, shown: str) -> bool:
    """Whether a row is the one that a traceback shows: stripped, perhaps cut, perhaps behind the start of a log's row."""
    return bool(row.strip()) and shown.strip().endswith(row.strip())
