"""Which calls of a file lead to walks in other modules, told by the names on their way: nothing is parsed."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from retainlint.naming import WORD, Naming, based, defined, methods
from retainlint.patterns import pattern
from retainlint.spelling import spoken
from retainlint.walks import may_lead_to_walks, may_walk

if TYPE_CHECKING:
    from retainlint.modules import Modules

ASKED = 800
"""So many of their functions and classes are looked at."""

DEEPEST = 4
"""So far from the entry."""

COMMON = frozenset("train eval step update forward fit run append add get".split())
"""Methods that many classes have: they tell something only of the object itself, or of a module."""

_ITSELF = ("self", "cls", ")")
"""What stands for the object itself before a dot; the bracket is that of `super()`."""

_TOKEN = pattern(r"([^\W\d]\w*|[)\]])\s*([.(])?")
_BASES = pattern(r"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^()]*)", re.MULTILINE)
_CLOSING = (")", "]")
_DEFINING = ("def", "class")


class Leading:
    """Asked of a call in the entry's text, whether it leads to a walk in another module."""

    def __init__(self, modules: Modules, data: bytes) -> None:
        self._text = spoken(data) if may_lead_to_walks(data) else ""
        self._names = Naming(modules, self._text)
        self._place = self._names.place
        self._depth = 0
        self._asked = 0
        self._known: dict[tuple[str, str, str], tuple[int, bool]] = {}  # how far from the entry it was told, and what

    def any(self) -> bool:
        """Whether any call of the text does."""
        return bool(self._text) and self._names.imports() and any(self(*call) for call in _called(self._text))

    def __call__(self, receiver: str, name: str) -> bool:
        """`receiver` is the word, or the bracket, before the name's dot, "" where there is none."""
        if not self._text:
            return False
        if not receiver or self._names.module(self._place, self._text, receiver):
            return self._leads_by(self._place, self._text, receiver, name)
        if receiver in _ITSELF:
            return any(self._leads(*each, name) for each in self._bases)
        return name not in COMMON and any(self._leads(*each, name) for each in self._made)

    # -- the way --------------------------------------------------------------------------------------------------

    def _leads_by(self, place: str, text: str, receiver: str, name: str) -> bool:
        """Whether a function leads to a walk that a text imports, or whose module it does."""
        if receiver:
            module = self._names.module(place, text, receiver)
            return module is not None and self._leads(module, name)
        return any(self._leads(*each) for each in self._names.origins(place, text, name))

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
        text = self._names.read(place)
        kind, body = defined(text, name)
        if not kind:
            return any(self._leads(*each, method) for each in self._names.origins(place, text, name))
        if kind == "def":
            return not method and self._walks(place, text, body, "")
        found = methods(body).get(method or "__init__")
        if found is None:
            return any(self._leads(*each, method) for each in self._names.named(place, text, based(body)))
        return self._walks(place, text, found, name)

    def _walks(self, place: str, text: str, body: str, owner: str) -> bool:
        """Whether a function's body holds a walk, or calls what leads to one; `owner` is its class."""
        return _walks(body) or any(self._calls(place, text, owner, *call) for call in _called(body))

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
        heads = (WORD.findall(bases) for _, bases in _BASES.findall(self._text))
        named = (self._names.named(self._place, self._text, words) for words in heads)
        return list(dict.fromkeys(each for found in named for each in found))

    @cached_property
    def _made(self) -> list[tuple[str, str]]:
        """The imported classes of which the entry may make objects."""
        names = dict.fromkeys(name for _, name in _called(self._text) if name[:1].isupper())
        return list(self._names.named(self._place, self._text, list(names)))


# -- texts --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2_000)
def _walks(body: str) -> bool:
    return may_walk(body.encode())


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
