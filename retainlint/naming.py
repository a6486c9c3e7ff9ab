"""What the names in a text stand for, in the modules of its project: told by their characters, nothing is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from retainlint.patterns import pattern, rows_with
from retainlint.spelling import spoken

if TYPE_CHECKING:
    from retainlint.modules import Modules

SEARCHED = 40
"""So many modules are read on behalf of one file."""

_IMPORT = pattern(
    r"[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*(?:\(([^)]*)\)|((?:\\\n|[^\n;])*))|import[ \t]+([^\n;]+))"
)
_NAME = pattern(r"([\w.]+|\*)(?:\s+as\s+(\w+))?")
DEFINED = pattern(r"^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)", re.MULTILINE)
_METHOD = pattern(r"^([ \t]+)(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
WORD = pattern(r"[^\W\d]\w*")


class Origin(NamedTuple):
    """Where an imported name comes from: a module, and a name in it; "" for the module itself."""

    level: int
    module: str
    name: str


class Naming:
    """The names of an entry, whose code is `text`, and those of the modules to which they lead."""

    def __init__(self, modules: Modules, text: str) -> None:
        self._modules = modules
        self.text = text
        self.place = modules.place(modules.entry)
        self._texts = {self.place: text}

    @property
    def is_spent(self) -> bool:
        """Whether no further module is read."""
        return len(self._texts) > SEARCHED

    def imports(self) -> bool:
        """Whether the entry imports any module of its project."""
        names, stars = imported(self.text)
        origins = {(each.module, each.level) for each in (*names.values(), *stars)}
        return any(self._modules.find(self.place, *origin) is not None for origin in origins)

    def named(self, place: str, text: str, names: list[str]) -> Iterator[tuple[str, str]]:
        for name in names:
            if place != self.place and defined(text, name)[0]:
                yield place, name
            else:
                yield from self.origins(place, text, name)
                module = self.module(place, text, name)
                yield from ((module, other) for other in names if module is not None and other != name)

    def origins(self, place: str, text: str, name: str) -> Iterator[tuple[str, str]]:
        """Where an imported name, which is no module, may be defined."""
        names, stars = imported(text)
        if name in names:
            origin = names[name]
            found = self._modules.find(place, origin.module, origin.level) if origin.name else None
            if found is not None and self._modules.submodule(found, origin.name) is None:
                yield found, origin.name
            return
        for star in stars:
            found = self._modules.find(place, star.module, star.level)
            if found is not None:
                yield found, name

    def module(self, place: str, text: str, name: str) -> str | None:
        """The place of a module that a text imports under some name."""
        origin = imported(text)[0].get(name)
        found = self._modules.find(place, origin.module, origin.level) if origin is not None else None
        if origin is None or found is None:
            return None
        return self._modules.submodule(found, origin.name) if origin.name else found

    def read(self, place: str) -> str:
        if place not in self._texts:
            if place.endswith("/") or self.is_spent:
                return ""
            self._texts[place] = spoken(self._modules.read(place) or b"")
        return self._texts[place]


@lru_cache(maxsize=200)
def imported(text: str) -> tuple[dict[str, Origin], tuple[Origin, ...]]:
    """Where the names come from that a text imports, and from which modules it imports all."""
    names: dict[str, Origin] = {}
    stars: list[Origin] = []
    for statement in rows_with(text, "import", _IMPORT):
        dots, module, bracketed, plain, whole = statement.groups("")
        for name, alias in _NAME.findall(bracketed or plain):
            if name == "*":
                stars.append(Origin(len(dots), module, ""))
            else:
                names[alias or name] = Origin(len(dots), module, name)
        for name, alias in _NAME.findall(whole):
            names[alias or name.rpartition(".")[2]] = Origin(0, name, "")
    return names, tuple(stars)


@lru_cache(maxsize=2_000)
def defined(text: str, name: str) -> tuple[str, str]:
    """What a module defines under a name: "def", "class" or "", and its text."""
    kind, start, indent = _heads(text).get(name, ("", 0, 0))
    return kind, _block(text, start, indent) if kind else ""


@lru_cache(maxsize=200)
def _heads(text: str) -> dict[str, tuple[str, int, int]]:
    """What a module defines, by name: "def" or "class", where the head's name ends, and how far it is indented."""
    found: dict[str, tuple[str, int, int]] = {}
    for head in DEFINED.finditer(text):
        known = found.get(head[3])
        if known is None or known[2] > len(head[1]):
            found[head[3]] = head[2], head.end(), len(head[1])
    return found


def _block(text: str, start: int, indent: int) -> str:
    """What stands deeper than a head, behind it."""
    end = re.compile(rf"\n[ \t]{{0,{indent}}}(?=[^\s)#])").search(text, start)
    return text[start : end.start() if end else len(text)]


def based(body: str) -> list[str]:
    """The words between the brackets of a class's head."""
    head = re.match(r"[ \t]*\(([^()]*)", body)
    return WORD.findall(head[1]) if head is not None else []


@lru_cache(maxsize=500)
def methods(body: str) -> dict[str, str]:
    """The methods of a class, each with its text."""
    return {found[2]: _block(body, found.end(), len(found[1])) for found in _METHOD.finditer(body)}
