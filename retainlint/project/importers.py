"""Which files of a project lead to some of its modules: what is told of a module may come from the programs that use it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from retainlint.project.discovery import MARKERS, below
from retainlint.project.import_resolution import INSTALLED, Modules, imports_of
from retainlint.text.files import Disk, ancestors
from retainlint.text.prefilter import may_hold_backward, may_matter

if TYPE_CHECKING:
    from retainlint.project.discovery import Choices
    from retainlint.project.import_resolution import Import

PROJECT_FILES = 2_000
"""A project of more Python files isn't searched: what leads to a module is seen where both are checked."""

PROJECT_BYTES = 40_000_000
"""The same of their bytes."""

PROGRAMS = 20
"""So many files are followed on behalf of each that was named, the nearest first."""


class Importers:
    """The files that lead to others, each project being read once. `choices` say which files a project has."""

    def __init__(self, files: Disk, choices: Choices) -> None:
        self._files, self._choices = files, choices
        self._projects: dict[str, _Project] = {}

    def leading_to(self, names: Sequence[str]) -> list[str]:
        """The files that may run a backward pass of some others, and aren't among these: nearest first, spelt as they are.
        Those of a file are the same whichever others are named."""
        found: dict[str, str] = {}
        known = {os.path.abspath(name) for name in names}
        for name in names:
            if not may_hold_backward(name, self._files.read(os.path.abspath(name)) or b""):
                continue
            for place in islice(self._programs_above(name), PROGRAMS):
                if place not in known:
                    found.setdefault(place, place if os.path.isabs(name) else os.path.relpath(place))
        return list(found.values())

    def _programs_above(self, name: str) -> Iterator[str]:
        """The files that import one, then those that import these, as far as a backward pass may be run there."""
        modules = Modules(name, self._files)
        project = self._project(modules)
        near = [modules.place(name)]
        seen = set(near)
        while near:
            found = dict.fromkeys(place for module in near for place in project.importing(module) if place not in seen)
            for place in found:
                if may_matter(place, project.read(place)):
                    yield place
            seen.update(found)
            near = list(found)

    def _project(self, modules: Modules) -> _Project:
        root, place = modules.root, modules.place(modules.entry)
        is_marked = any(os.path.exists(os.path.join(root, marker)) for marker in MARKERS)
        key = root if is_marked else os.path.dirname(place)
        if key not in self._projects:
            places = self._below(root) if is_marked else self._beside(place, root)
            self._projects[key] = _Project(self._files, sorted(islice(places, PROJECT_FILES + 1)))
        return self._projects[key]

    def _below(self, root: str) -> Iterator[str]:
        """The Python files of a project that a check of it would take."""
        for place in below(root, self._choices):
            if place.endswith(".py") and INSTALLED.isdisjoint(place[len(root) :].split(os.sep)):
                yield place

    def _beside(self, place: str, root: str) -> Iterator[str]:
        """Of what has no marker those beside a file, and beside the packages around it, and what these import."""
        near = [file for directory in self._around(place, root) for file in directory]
        seen = set(near)
        while near:
            yield from near
            found = dict.fromkeys(each for file in near for each in self._imported(file) if each not in seen)
            seen.update(found)
            near = list(found)

    def _around(self, place: str, root: str) -> Iterator[list[str]]:
        """The Python files of each directory from that of a file up to the root."""
        for directory in ancestors(place):
            try:
                names = sorted(os.listdir(directory))
            except OSError:
                names = []
            choice = self._choices.of_directory(directory)
            files = [os.path.join(directory, name) for name in names if name.endswith(".py")]
            yield [file for file in files if not choice.excludes_anywhere(file)]
            if directory == root:
                break

    def _imported(self, file: str) -> list[str]:
        """The files that a file of what has no marker imports, but for those that are excluded."""
        found = Modules(file, self._files).imported(file, self._files.read(file) or b"")
        return [
            each
            for each in found
            if each.endswith(".py") and not self._choices.of_directory(os.path.dirname(each)).excludes_anywhere(each)
        ]


class _Project:
    """The texts of a project's files, and which of them import which; nothing of a project that is too large."""

    def __init__(self, files: Disk, places: list[str]) -> None:
        self._files = files
        self._texts: dict[str, bytes] = {}
        self._speaking: dict[str, list[str]] = {}  # by each word that stands where modules are imported
        self._imports: dict[str, frozenset[str]] = {}
        size = 0
        for place in places if len(places) <= PROJECT_FILES else ():
            data = self._texts[place] = files.read(place) or b""
            size += len(data)
        if size > PROJECT_BYTES:
            self._texts.clear()
        for place, data in self._texts.items():
            for word in {word for each in imports_of(data) for word in _words(place, each)}:
                self._speaking.setdefault(word, []).append(place)

    def read(self, place: str) -> bytes:
        return self._texts[place]

    def importing(self, module: str) -> list[str]:
        """The files that import the module at a place."""
        return [place for place in self._speaking.get(_word(module), ()) if module in self._imported(place)]

    def _imported(self, place: str) -> frozenset[str]:
        if place not in self._imports:
            self._imports[place] = frozenset(Modules(place, self._files).imported(place, self._texts[place]))
        return self._imports[place]


def _words(place: str, each: Import) -> tuple[str, str]:
    """What the modules may be called that an import in a file leads to."""
    package = place
    for _ in range(each.level):
        package = os.path.dirname(package)
    return each.module.rpartition(".")[2] or os.path.basename(package), each.name


def _word(place: str) -> str:
    """The name by which a module is imported."""
    directory, last = os.path.split(place)
    return os.path.basename(directory) if last == "__init__.py" else last.removesuffix(".py")
