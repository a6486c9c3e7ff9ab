"""Which calls of a file lead to walks in other modules, told by the names on their way: nothing is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from retainlint.spelling import spoken
from retainlint.walks import may_lead_to_walks, may_walk

if TYPE_CHECKING:
    from retainlint.modules import Modules

SEARCHED = 40
"""So many modules are read on behalf of one file."""

ASKED = 800
"""So many of their functions and classes are looked at."""

DEEPEST = 4
"""So far from the entry."""

COMMON = frozenset("train eval step update forward fit run append add get".split())
"""Methods that many classes have: they tell something only of the object itself, or of a module."""

_ITSELF = ("self", "cls", ")")
"""What stands for the object itself before a dot; the bracket is that of `super()`."""

_TOKEN = re.compile(r"([^\W\d]\w*|[)\]])\s*([.(])?")
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*(?:\(([^)]*)\)|((?:\\\n|[^\n;])*))|import[ \t]+([^\n;]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"([\w.]+|\*)(?:\s+as\s+(\w+))?")
_BASES = re.compile(r"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^()]*)", re.MULTILINE)
_HEAD = re.compile(r"^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)", re.MULTILINE)
_METHOD = re.compile(r"^([ \t]+)(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d]\w*")
_CLOSING = (")", "]")
_DEFINING = ("def", "class")


class _Origin(NamedTuple):
    """Where an imported name comes from: a module, and a name in it; "" for the module itself."""

    level: int
    module: str
    name: str


class Leading:
    """Asked of a call in the entry's text, whether it leads to a walk in another module."""

    def __init__(self, modules: Modules, data: bytes) -> None:
        self._modules = modules
        self._text = spoken(data) if may_lead_to_walks(data) else ""
        self._place = modules.place(modules.entry)
        self._depth = 0
        self._texts: dict[str, str] = {}
        self._asked = 0
        self._known: dict[tuple[str, str, str], tuple[int, bool]] = {}  # how far from the entry it was told, and what

    def any(self) -> bool:
        """Whether any call of the text does."""
        return any(self(*call) for call in _called(self._text))

    def __call__(self, receiver: str, name: str) -> bool:
        """`receiver` is the word, or the bracket, before the name's dot, "" where there is none."""
        if not self._text:
            return False
        if not receiver or self._module(self._place, self._text, receiver):
            return self._leads_by(self._place, self._text, receiver, name)
        if receiver in _ITSELF:
            return any(self._leads(*each, name) for each in self._bases)
        return name not in COMMON and any(self._leads(*each, name) for each in self._made)

    # -- the way --------------------------------------------------------------------------------------------------

    def _leads_by(self, place: str, text: str, receiver: str, name: str) -> bool:
        """Whether a function leads to a walk that a text imports, or whose module it does."""
        if receiver:
            module = self._module(place, text, receiver)
            return module is not None and self._leads(module, name)
        return any(self._leads(*each) for each in self._origins(place, text, name))

    def _leads(self, place: str, name: str, method: str = "") -> bool:
        """Whether a function of a module does, the making of an object of a class, or a method of it."""
        asked = place, name, method
        depth, leads = self._known.get(asked, (DEEPEST, False))
        if not leads and self._depth < depth and self._asked < ASKED:
            self._known[asked] = self._depth, False  # for those who call themselves
            self._asked += 1
            self._depth += 1
            leads = self._reaches(*asked)
            self._depth -= 1
            self._known[asked] = self._depth, leads
        return leads

    def _reaches(self, place: str, name: str, method: str) -> bool:
        text = self._read(place)
        kind, body = _defined(text, name)
        if not kind:
            return any(self._leads(*each, method) for each in self._origins(place, text, name))
        if kind == "def":
            return not method and self._walks(place, text, body, "")
        found = _methods(body).get(method or "__init__")
        if found is None:
            return any(self._leads(*each, method) for each in self._named(place, text, _based(body)))
        return self._walks(place, text, found, name)

    def _walks(self, place: str, text: str, body: str, owner: str) -> bool:
        """Whether a function's body holds a walk, or calls what leads to one; `owner` is its class."""
        return may_walk(body.encode()) or any(self._calls(place, text, owner, *call) for call in _called(body))

    def _calls(self, place: str, text: str, owner: str, receiver: str, name: str) -> bool:
        if receiver in _ITSELF:
            return bool(owner) and self._leads(place, owner, name)
        if receiver:
            return self._leads_by(place, text, receiver, name)
        return self._leads(place, name)

    # -- names ----------------------------------------------------------------------------------------------------

    @cached_property
    def _bases(self) -> list[tuple[str, str]]:
        """The imported classes from which those of the entry are derived, each with its module's place."""
        named = (self._named(self._place, self._text, _WORD.findall(bases)) for _, bases in _BASES.findall(self._text))
        return list(dict.fromkeys(each for found in named for each in found))

    @cached_property
    def _made(self) -> list[tuple[str, str]]:
        """The imported classes of which the entry may make objects."""
        names = dict.fromkeys(name for _, name in _called(self._text) if name[:1].isupper())
        return list(self._named(self._place, self._text, list(names)))

    def _named(self, place: str, text: str, names: list[str]) -> Iterator[tuple[str, str]]:
        for name in names:
            if place != self._place and _defined(text, name)[0]:
                yield place, name
            else:
                yield from self._origins(place, text, name)
                module = self._module(place, text, name)
                yield from ((module, other) for other in names if module is not None and other != name)

    def _origins(self, place: str, text: str, name: str) -> Iterator[tuple[str, str]]:
        """Where an imported name, which is no module, may be defined."""
        names, stars = _imported(text)
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

    def _module(self, place: str, text: str, name: str) -> str | None:
        """The place of a module that a text imports under some name."""
        origin = _imported(text)[0].get(name)
        found = self._modules.find(place, origin.module, origin.level) if origin is not None else None
        if origin is None or found is None:
            return None
        return self._modules.submodule(found, origin.name) if origin.name else found

    def _read(self, place: str) -> str:
        if place not in self._texts:
            if place.endswith("/") or len(self._texts) >= SEARCHED:
                return ""
            self._texts[place] = spoken(self._modules.read(place) or b"")
        return self._texts[place]


# -- texts --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2_000)
def _called(text: str) -> tuple[tuple[str, str], ...]:
    """The calls in a text: the word, or the bracket, before the name's dot, and the name."""
    found: dict[tuple[str, str], None] = {}
    before = joint = ""
    for word, behind in _TOKEN.findall(text):
        if behind == "(" and word not in _CLOSING and before not in _DEFINING:
            found[before if joint == "." else "", word] = None
        before, joint = word, behind
    return tuple(found)


@lru_cache(maxsize=200)
def _imported(text: str) -> tuple[dict[str, _Origin], tuple[_Origin, ...]]:
    """Where the names come from that a text imports, and from which modules it imports all."""
    names: dict[str, _Origin] = {}
    stars: list[_Origin] = []
    for dots, module, bracketed, plain, whole in _IMPORT.findall(text):
        for name, alias in _NAME.findall(bracketed or plain):
            if name == "*":
                stars.append(_Origin(len(dots), module, ""))
            else:
                names[alias or name] = _Origin(len(dots), module, name)
        for name, alias in _NAME.findall(whole):
            names[alias or name.rpartition(".")[2]] = _Origin(0, name, "")
    return names, tuple(stars)


def _defined(text: str, name: str) -> tuple[str, str]:
    """What a module defines under a name: "def", "class" or "", and its text."""
    kind, start, indent = _heads(text).get(name, ("", 0, 0))
    return kind, _block(text, start, indent) if kind else ""


@lru_cache(maxsize=200)
def _heads(text: str) -> dict[str, tuple[str, int, int]]:
    """What a module defines, by name: "def" or "class", where the head's name ends, and how far it is indented."""
    found: dict[str, tuple[str, int, int]] = {}
    for head in _HEAD.finditer(text):
        known = found.get(head[3])
        if known is None or known[2] > len(head[1]):
            found[head[3]] = head[2], head.end(), len(head[1])
    return found


def _block(text: str, start: int, indent: int) -> str:
    """What stands deeper than a head, behind it."""
    end = re.compile(rf"\n[ \t]{{0,{indent}}}(?=[^\s)#])").search(text, start)
    return text[start : end.start() if end else len(text)]


def _based(body: str) -> list[str]:
    """The words between the brackets of a class's head."""
    head = re.match(r"[ \t]*\(([^()]*)", body)
    return _WORD.findall(head[1]) if head is not None else []


@lru_cache(maxsize=500)
def _methods(body: str) -> dict[str, str]:
    """The methods of a class, each with its text."""
    return {found[2]: _block(body, found.end(), len(found[1])) for found in _METHOD.finditer(body)}
