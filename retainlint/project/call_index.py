"""Who calls whom in a project, and which of its names may reach a backward pass, told by characters alone: nothing is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from retainlint.startup.lazy_patterns import pattern, rows_with
from retainlint.text.prefilter import (
    STEPS,
    code,
    may_backpropagate,
    may_lead_to_backward,
    may_spell_backward,
    spoken,
    without_asked,
)

if TYPE_CHECKING:
    from retainlint.project.import_resolution import Modules

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


ASKED = 800
"""So many of their functions and classes are looked at."""


MOST_HOPS = 4
"""So far from the entry."""


COMMON = frozenset("train eval step update forward fit run append add get".split())
"""Methods that many classes have: they tell something only of the object itself, or of a module."""


_ITSELF = ("self", "cls", ")")
"""What stands for the object itself before a dot; the bracket is that of `super()`."""


_CALLED_TOKEN = pattern(r"([^\W\d]\w*|[)\]])\s*([.(])?")

_BASES = pattern(r"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^()]*)", re.MULTILINE)

_CLOSING = (")", "]")

_DEFINING = ("def", "class")


class Leading:
    """Asked of a call in the entry's text, whether it leads to a walk in another module."""

    def __init__(self, modules: Modules, data: bytes) -> None:
        self._text = spoken(data) if may_lead_to_backward(data) else ""
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
        depth, leads = self._known.get(asked, (MOST_HOPS, False))
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
            return not method and self._backward_passes(place, text, body, "")
        found = methods(body).get(method or "__init__")
        if found is None:
            return any(self._leads(*each, method) for each in self._names.named(place, text, based(body)))
        return self._backward_passes(place, text, found, name)

    def _backward_passes(self, place: str, text: str, body: str, owner: str) -> bool:
        """Whether a function's body holds a walk, or calls what leads to one; `owner` is its class."""
        return _backward_passes(body) or any(self._calls(place, text, owner, *call) for call in _called(body))

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
def _backward_passes(body: str) -> bool:
    return may_backpropagate(body.encode())


@lru_cache(maxsize=2_000)
def _called(text: str) -> tuple[tuple[str, str], ...]:
    """The calls in a text: the word, or the bracket, before the name's dot, and the name."""
    found: dict[tuple[str, str], None] = {}
    before = joint = ""
    for word, behind in _CALLED_TOKEN.findall(text):
        if behind == "(" and word not in _CLOSING and before not in _DEFINING:
            found[before if joint == "." else "", word] = None
        before, joint = word, behind
    return tuple(found)


_DEFINITION_HEAD = pattern(
    rb"^([ \t]*)(?:(@)|(?:async[ \t]+)?def[ \t]+(\w+)|class[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=))", re.MULTILINE
)

_WORD = pattern(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")

_ALIAS = pattern(rb"\b(\w+)[ \t]+as[ \t]+(\w+)")

_KEPT_IN = pattern(rb"\.(\w+)[ \t]*=(?!=)([^\n]*)")


_OF_OBJECTS = pattern(rb"__\w+__|forward")
"""Methods that are seldom called by their names: whoever makes an object of the class may come to them."""


MOST_NESTED = 20
"""Functions nested more deeply than this are taken for parts of those around them."""


_READ = 500
"""So many texts' names are remembered. It decides nothing but the time it takes."""


_Outlined: TypeAlias = "tuple[bytes, frozenset[bytes], bool]"
"""A name of a module, the words that stand in what it names, and whether a walk may."""


@dataclass
class _Named:
    """A function, class or variable: the words that stand in it, and whether a walk may."""

    name: bytes
    words: set[bytes]
    backward_passes: bool = False


def reaching(texts: Iterable[bytes]) -> frozenset[str]:
    """The names of functions, methods, classes and variables in some modules from which a walk may be reached: those that
    hold one, and whatever speaks of their names."""
    closed = list(dict.fromkeys(texts))
    left: list[_Outlined] = []
    reached: set[bytes] = set()
    fresh: set[bytes] = set()
    opened = [
        text for text in closed if may_spell_backward(text)
    ]  # the others only where they speak of what is reached
    while opened or fresh:
        closed = [text for text in closed if text not in opened]
        reached |= fresh
        new = [named for text in opened for named in _outlined(text)]
        left = [named for named in left if named[0] not in reached]
        fresh = {name for name, words, _ in left if not fresh.isdisjoint(words)}
        fresh |= {name for name, words, backward_passes in new if backward_passes or not reached.isdisjoint(words)}
        fresh -= reached
        left += new
        opened = [text for text in closed if not fresh.isdisjoint(_spelled(text))]
    return frozenset(name.decode(errors="replace") for name in reached)


def mentions(text: bytes, names: frozenset[str]) -> bool:
    """Whether any of some names stands in a text's code."""
    return any(word.decode(errors="replace") in names for word in _spelled(text))


@lru_cache(maxsize=_READ)
def _outlined(text: bytes) -> tuple[_Outlined, ...]:
    """What a module names, each with its words and whether a walk may stand in it."""
    text = without_asked(code(text))
    backward_passes = may_backpropagate(text)
    found = [_Named(name, _words(value)) for name, value in _bound(text)]
    around: list[
        tuple[int, _Named, bool]
    ] = []  # what the text at hand stands in: the indent, the name, if it is a class
    decorators = b""
    heads = [*_DEFINITION_HEAD.finditer(text)]
    for head, end in zip(heads, [*(head.start() for head in heads[1:]), len(text)]):
        segment = text[head.start() : end]
        indent, at, function, cls, variable = head.groups()
        while around and around[-1][0] >= len(indent):
            around.pop()
        if at or (decorators and not (function or cls)):
            decorators += segment
            continue
        if (function or cls or all(is_class for _, _, is_class in around)) and len(around) < MOST_NESTED:
            named = _Named(function or cls or variable, set())
            if around and function and _OF_OBJECTS.fullmatch(function):
                named = around[-1][1]
            else:
                found.append(named)
            around.append((len(indent), named, bool(cls)))
            named.words |= _words(decorators)
            decorators = b""
        for depth, named, is_class in around:
            if not is_class or named is around[-1][1]:
                inside = _inside(segment, depth)
                named.words |= _words(inside)
                named.backward_passes = named.backward_passes or (backward_passes and may_backpropagate(inside))
    return tuple((named.name, frozenset(named.words), named.backward_passes) for named in found)


def _inside(segment: bytes, indent: int) -> bytes:
    """The rows of a segment that stand deeper than its first, or close its brackets."""
    found = re.match(rb"[^\n]*(?:\n(?:[ \t]*(?=\n)|[ \t]{%d,}[^\n]*|[ \t]*[)\]}][^\n]*))*" % (indent + 1), segment)
    return found[0] if found is not None else segment


def _bound(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names that stand for others: `import a as b`, `self.b = a`."""
    for origin, alias in _ALIAS.findall(text):
        yield alias, origin
    yield from _KEPT_IN.findall(text)


@lru_cache(maxsize=_READ // 2)
def _spelled(text: bytes) -> frozenset[bytes]:
    """The words in a text's code."""
    return frozenset(_words(code(text)))


def _words(text: bytes) -> set[bytes]:
    return set(_WORD.findall(text))


TRAINERS = ("LightningModule", "Trainer")
"""With what the name ends of a class that has the steps of its heirs walked."""


_STEP = pattern(rb"\bdef[ \t]+(?:%s)(?=[ \t]*\()" % "|".join(STEPS).encode())

_CLASS_HEAD = pattern(r"[ \t]*\(([^()]*)(\(?)")

_BASE = pattern(r"(?<![\w.])[A-Za-z_][\w.]*(?![\w.]|[ \t]*=)")

_SUBSCRIPT = pattern(r"\[[^\[\]]*\]")


def may_step(modules: Modules | None, data: bytes) -> bool:
    """Whether a walk may stand in a text whose walks are spelt, if it is but a step's: some class that has one is derived
    from what walks its result. Without `modules` only the text's own names tell."""
    if _STEP.search(data) is None or may_spell_backward(_STEP.sub(b"def step", data)):
        return True
    text = spoken(data)
    if any(trainer in text for trainer in TRAINERS):
        return True
    return modules is not None and _derives(Naming(modules, text))


def _derives(names: Naming) -> bool:
    """Whether a class of the entry that has a step is derived from a trainer, from what nobody can tell, or from a class in
    whose module a walk stands: perhaps of what the step returns."""
    pending = [(names.place, name) for name in _stepping(names.text)]
    seen: set[tuple[str, str]] = set()
    while pending:
        asked = pending.pop()
        if asked in seen:
            continue
        seen.add(asked)
        if asked[0] != names.place and may_backpropagate(names.read(asked[0]).encode()):
            return True
        above = _above(names, *asked)
        if above is None or names.is_spent:
            return True
        pending += above
    return False


def _stepping(text: str) -> list[str]:
    """The classes of a text that have a step."""
    classes = dict.fromkeys(head[3] for head in DEFINED.finditer(text) if head[2] == "class")
    return [name for name in classes if not methods(defined(text, name)[1]).keys().isdisjoint(STEPS)]


def _above(names: Naming, place: str, name: str) -> list[tuple[str, str]] | None:
    """What the definition of a class names: the classes from which it is derived, or whose name it is, by their modules'
    places; None for a trainer, and for what nobody can tell."""
    text = names.read(place)
    kind, body = defined(text, name)
    if kind != "class":
        return _origins(names, place, text, name)
    head = _CLASS_HEAD.match(body)
    if head is None:
        return []
    if head[2]:  # a call
        return None
    found: list[tuple[str, str]] = []
    for base in _BASE.findall(_SUBSCRIPT.sub("", head[1])):
        above = _named(names, place, text, base)
        if above is None:
            return None
        found += above
    return found


def _named(names: Naming, place: str, text: str, base: str) -> list[tuple[str, str]] | None:
    """What a base leads to, as it is spelt."""
    *packages, last = base.split(".")
    if last.endswith(TRAINERS):
        return None
    if not packages:
        return [(place, last)] if defined(text, last)[0] == "class" else _origins(names, place, text, last)
    found = [module for package in packages if (module := names.module(place, text, package)) is not None]
    return [(module, last) for module in found]


def _origins(names: Naming, place: str, text: str, name: str) -> list[tuple[str, str]] | None:
    """Where a name comes from that is no class of the text itself."""
    origin = imported(text)[0].get(name)
    if origin is not None and origin.name.endswith(TRAINERS):
        return None
    found = list(names.origins(place, text, name))
    unknown = origin is None and not found and any(trainer in text for trainer in TRAINERS)
    return None if unknown else found
