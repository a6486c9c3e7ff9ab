"""Which files of a project lead to some of its modules: what is told of a module may come from the programs that use it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from retainlint.project.import_resolution import INSTALLED, MARKERS, Modules
from retainlint.text.files import Disk, ancestors
from retainlint.text.prefilter import may_hold_backward, may_matter

PROJECT_FILES = 2_000
"""A project of more Python files isn't searched: what leads to a module is seen where both are named."""

PROJECT_BYTES = 40_000_000
"""The same of their bytes."""

PROGRAMS = 20
"""So many files are followed on behalf of those that were named, the nearest first."""

FARTHEST = 3
"""So many imports lie between a file and a module to which it leads, at most."""

_PASSED = INSTALLED | {"node_modules", "__pycache__", "build", "dist", "venv", "env"}
"""Directories in which nothing of the project's own lies, as those whose name begins with a dot."""


class Importers:
    """The files that lead to others, each project being read once."""

    def __init__(self, files: Disk) -> None:
        self._files = files
        self._texts: dict[str, dict[str, bytes]] = {}
        self._imported: dict[str, frozenset[str]] = {}

    def leading_to(self, names: Iterable[str]) -> list[str]:
        """The files that may run a backward pass of some others, and aren't among these: nearest first, spelt as they are."""
        asked = [name for name in names if may_hold_backward(name, self._files.read(os.path.abspath(name)) or b"")]
        found: dict[str, str] = {}
        known = {os.path.abspath(name) for name in asked}
        for name in asked:
            for place, data in self._above(name):
                if place not in known and may_matter(place, data):
                    found.setdefault(place, place if os.path.isabs(name) else os.path.relpath(place))
        return list(found.values())[:PROGRAMS]

    def _above(self, name: str) -> Iterator[tuple[str, bytes]]:
        """The files that import one, then those that import these."""
        modules = Modules(name, self._files)
        texts = self._project(modules)
        near, seen = {modules.place(name)}, {modules.place(name)}
        for _ in range(FARTHEST):
            words = re.compile(rb"\b(?:%s)\b" % b"|".join(sorted(map(_word, near))))
            found = [
                (place, data)
                for place, data in texts.items()
                if place not in seen and words.search(data) and not near.isdisjoint(self._imports(place, data))
            ]
            yield from found
            near = {place for place, _ in found}
            seen |= near
            if not near:
                break

    def _imports(self, place: str, data: bytes) -> frozenset[str]:
        if place not in self._imported:
            self._imported[place] = frozenset(Modules(place, self._files).imported(place, data))
        return self._imported[place]

    def _project(self, modules: Modules) -> dict[str, bytes]:
        """The Python files of a project; of what has no marker only those beside it, and beside the packages around it."""
        root = modules.root
        if root not in self._texts:
            is_marked = any(os.path.exists(os.path.join(root, marker)) for marker in MARKERS)
            self._texts[root] = self._read(_below(root) if is_marked else _beside(modules.place(modules.entry), root))
        return self._texts[root]

    def _read(self, places: Iterable[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        size = 0
        for place in places:
            found[place] = self._files.read(place) or b""
            size += len(found[place])
            if len(found) > PROJECT_FILES or size > PROJECT_BYTES:
                return {}
        return found


def _word(place: str) -> bytes:
    """The name by which a module is imported."""
    directory, last = os.path.split(place)
    name = os.path.basename(directory) if last == "__init__.py" else last.removesuffix(".py")
    return re.escape(os.fsencode(name))


def _below(root: str) -> Iterator[str]:
    for directory, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if not name.startswith(".") and name not in _PASSED)
        yield from (os.path.join(directory, name) for name in sorted(files) if name.endswith(".py"))


def _beside(place: str, root: str) -> Iterator[str]:
    for directory in ancestors(place):
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            names = []
        yield from (os.path.join(directory, name) for name in names if name.endswith(".py"))
        if directory == root:
            break
