"""The data files of a project, as its programs open them: what is in those that none of its modules writes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from retainlint.startup.lazy_patterns import pattern

if TYPE_CHECKING:
    from retainlint.project.call_index import CallIndex

MOST = 8
"""So many paths are looked at for an entry: a program that opens more reads data, and no settings."""

LONGEST_ROW = 20
"""Lines that brackets join to one; more are taken for several."""

_CALLED = pattern(r"\b(\w+)\(")
_MODE = pattern(r"[\"'][rbtU]{0,3}[wax+][rbtwax+U]{0,3}[\"']")
"""How a file is opened to be written."""
_WRITES = pattern(r"write|dump|save|copy|move|remove|rename|replace|unlink|touch|download|retrieve|symlink")
"""What is called so may write, move or remove a file."""

_NAMED = r"\b(\w+)[ \t]*(?::[^=,()]{{1,60}})?=(?!=)(?:(?!open|load|read)[^=])*?(?:{})"
"""A name that is given what a file is called, or a path that is made of that."""


class DataFiles:
    """What an entry's program reads of its project that is no module; `index` is the entry's."""

    def __init__(self, index: CallIndex) -> None:
        assert index.modules is not None
        self._index, self._modules = index, index.modules
        self._said: dict[str, bytes | None] = {}

    def said(self, path: str) -> bytes | None:
        """What a file holds, by the path under which it is opened; None unless it is the project's, and there is only one
        that may be meant, and no module that the entry leads to seems to write it."""
        if path not in self._said:
            self._said[path] = self._read(path) if len(self._said) < MOST else None
        return self._said[path]

    def _read(self, path: str) -> bytes | None:
        name = os.path.basename(path)
        if not name or "\0" in path:
            return None
        held = [data for place in self._places(path) if (data := self._modules.data(place)) is not None]
        if len(set(held)) != 1 or writes(self._texts(), name):
            return None
        return held[0]

    def _places(self, path: str) -> Iterable[str]:
        """Where a file may lie. Nobody knows the working directory: it is taken to be the script's own, or the root."""
        beside = os.path.dirname(self._modules.place(self._modules.entry))
        return dict.fromkeys(os.path.normpath(os.path.join(above, path)) for above in (beside, self._modules.root))

    def _texts(self) -> Iterator[str]:
        return (data.decode(errors="replace") for data in (self._index.data, *self._index.around))

    def where(self, name: str) -> str | None:
        """The absolute path that a module knows as its own; None where links make it another."""
        modules = self._modules
        place = modules.place(name)
        real, root = modules.files.real(place), modules.files.real(modules.root)
        is_known = name.endswith(".py") and os.path.relpath(real, root) == os.path.relpath(place, modules.root)
        return place if is_known else None


def writes(texts: Iterable[str], name: str) -> bool:
    """Whether one of some modules seems to write a file of that name: in a row that spells it, or that speaks of what was
    given this name. Such names count in their module; those of constants count in all."""
    every = list(texts)
    naming = {text: list(_rows(text)) for text in every if name in text}
    names = {text: _names(rows, name) for text, rows in naming.items()}
    shared = {each for found in names.values() for each in found if each.isupper()}
    for text in every:
        if text in naming or any(each in text for each in shared):
            spoken = shared | names.get(text, set())
            if any(_may_write(row) and _speaks_of(row, name, spoken) for row in naming.get(text) or _rows(text)):
                return True
    return False


def _may_write(row: str) -> bool:
    called = _CALLED.findall(row)
    return ("open" in called and _MODE.search(row) is not None) or any(
        _WRITES.search(each) is not None for each in called if each != "deepcopy"
    )


def _names(rows: list[str], name: str) -> set[str]:
    """What variables and parameters are given a file's name, or a path that is made of one of them."""
    found = set[str]()
    for _ in range(3):
        words = "|".join((re.escape(name), *(rf"\b{each}\b" for each in sorted(found))))
        named = re.compile(_NAMED.format(words))
        found |= {match[1] for row in rows if _speaks_of(row, name, found) for match in named.finditer(row)}
    return found


def _speaks_of(row: str, name: str, spoken: set[str]) -> bool:
    return name in row or (bool(spoken) and not spoken.isdisjoint(re.findall(r"\w+", row)))


def _rows(text: str) -> Iterator[str]:
    """The rows of a text, what brackets join being one."""
    joined, depth, count = "", 0, 0
    for line in text.split("\n"):
        joined, count = f"{joined} {line}" if joined else line, count + 1
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if depth <= 0 or count >= LONGEST_ROW:
            yield joined
            joined, depth, count = "", 0, 0
    yield joined
