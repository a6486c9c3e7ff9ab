"""The call index: a module's definitions, bases, calls and names, read once per text off its characters, and what follows from them: what of a file, and of the project around it, may run a backward pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from retainlint.project.import_resolution import Import, Modules, imports_in
from retainlint.startup.lazy_patterns import pattern
from retainlint.text import stubs
from retainlint.text.files import Held
from retainlint.text.name_guesses import COMMON
from retainlint.text.prefilter import (
    may_backpropagate,
    may_lead_to_backward,
    may_spell_backward,
    may_start_backward,
    others,
    spoken,
)
from retainlint.text.recalling import recalled

SEARCHED = 40
"""So many modules are read on behalf of one file."""

ASKED = 800
"""So many of their functions and classes are looked at."""

MOST_HOPS = 4
"""So far from the entry."""

MOST_NESTED = 20
"""Functions nested more deeply than this are taken for parts of those around them."""

_ITSELF = ("self", "cls", ")")
"""What stands for the object itself before a dot; the bracket is that of `super()`."""

_OF_OBJECTS = pattern(r"__\w+__|forward")
"""Methods that are seldom called by their names: whoever makes an object of the class may come to them."""

_HEAD = pattern(r"^([ \t]*)(?:(@)|(?:async[ \t]+)?(def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=))", re.MULTILINE)
_WORD = pattern(r"[^\W\d]\w*")
_CALL = pattern(r"([^\W\d]\w*|[)\]])\s*([.(])?")
_ALIAS = pattern(r"\b(\w+)[ \t]+as[ \t]+(\w+)")
_KEPT_IN = pattern(r"\.(\w+)[ \t]*=(?!=)([^\n]*)")
_BASES = pattern(r"[ \t]*\(([^()]*)(\(?)")
_BASE = pattern(r"(?<![\w.])[A-Za-z_][\w.]*(?![\w.]|[ \t]*=)")
_MADE = pattern(r"\b(\w+|\])[ \t]*=[ \t]*([A-Z]\w*)\(")
_FILLED = pattern(
    r"\b(\w+)(?:\[[^\[\]\n]{1,80}\])?(?:\[[^\[\]\n]{1,80}\][ \t]*=(?!=)|\.(?:append|add|update|setdefault)\()"
)
_DECORATOR = pattern(r"@(\w+)")
_SUBSCRIPT = pattern(r"\[[^\[\]]*\]")


class Definition:
    """A function or class of a module."""

    def __init__(self, index: ModuleIndex, head: re.Match[str]) -> None:
        self._index, self._head = index, head
        self.indent, self.kind, self.name = len(head[1]), head[3], head[4]

    @cached_property
    def body(self) -> str:
        """What stands behind its name, and deeper than its head."""
        start, text = self._head.end(), self._index.text
        end = re.compile(rf"\n[ \t]{{0,{self.indent}}}(?=[^\s)#])").search(text, start)
        return text[start : end.start() if end else len(text)]

    @cached_property
    def calls(self) -> tuple[tuple[str, str], ...]:
        return _calls(self.body)

    @property
    def called(self) -> set[str]:
        """The names that it calls, or decorates its own functions with."""
        return {name for holder, name in self.calls if not holder}.union(_DECORATOR.findall(self.body))

    @cached_property
    def runs_backward(self) -> bool:
        return may_backpropagate(self.body.encode())

    @cached_property
    def fills(self) -> frozenset[str]:
        """What it puts something into: the names of tables, or of attributes."""
        return frozenset(_FILLED.findall(self.body))

    @property
    def registers(self) -> bool:
        """Whether it puts something into a table of its module."""
        return not self.fills.isdisjoint(self._index.tables)

    @cached_property
    def methods(self) -> dict[str, Definition]:
        """The functions within it, whose names may be said to be a class's."""
        start, end = self._head.end(), self._head.end() + len(self.body)
        inside = (each for each in self._index.every if start < each._head.start() < end)
        return {each.name: each for each in inside if each.kind == "def" and each.indent}

    @cached_property
    def base_words(self) -> list[str]:
        """The words between the brackets of a class's head."""
        found = _BASES.match(self._index.text, self._head.end())
        return _WORD.findall(found[1]) if found is not None else []

    @cached_property
    def bases(self) -> list[str] | None:
        """The classes between them, as they are spelt; None for what is computed."""
        found = _BASES.match(self._index.text, self._head.end())
        if found is None:
            return []
        return None if found[2] else _BASE.findall(_SUBSCRIPT.sub("", found[1]))


@dataclass(eq=False)
class Mention:
    """A name of a module, the words that stand in what it names, and whether a backward pass may."""

    name: str
    words: set[str]
    runs_backward: bool = False


class ModuleIndex:
    """What a text defines, imports, calls and names, told by characters alone: nothing is parsed."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def text(self) -> str:
        return spoken(self.data)

    @cached_property
    def _heads(self) -> list[re.Match[str]]:
        return [*_HEAD.finditer(self.text)]

    def _segments(self) -> Iterator[tuple[re.Match[str], int]]:
        """Each head, and where the next one begins."""
        return zip(self._heads, [*(head.start() for head in self._heads[1:]), len(self.text)])

    @cached_property
    def every(self) -> list[Definition]:
        return [Definition(self, head) for head in self._heads if head[3]]

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        """By name the outermost definition, the first of those."""
        found: dict[str, Definition] = {}
        for each in self.every:
            if each.name not in found or found[each.name].indent > each.indent:
                found[each.name] = each
        return found

    @cached_property
    def classes(self) -> list[Definition]:
        return [each for each in self.every if each.kind == "class"]

    @cached_property
    def calls(self) -> tuple[tuple[str, str], ...]:
        return _calls(self.text)

    @cached_property
    def made(self) -> dict[str, list[str]]:
        """By name the class of which it is first bound to an object."""
        return {name: [made] for name, made in reversed(_MADE.findall(self.text))}

    @cached_property
    def _imports(self) -> tuple[Import, ...]:
        return imports_in(self.text)

    @cached_property
    def imported(self) -> dict[str, Import]:
        """Where the names come from that the text imports."""
        return {each.bound: each for each in self._imports if each.name != "*"}

    @cached_property
    def stars(self) -> list[Import]:
        return [each for each in self._imports if each.name == "*"]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.text))

    @cached_property
    def runs_backward(self) -> bool:
        return may_backpropagate(self.text.encode())

    @cached_property
    def mentions(self) -> list[Mention]:
        """What the module names, functions, methods, classes and variables, each with its words."""
        found = [Mention(name, set(_WORD.findall(value))) for name, value in self._aliases()]
        around: list[tuple[int, Mention, bool]] = []  # what stands around, behind its indent; if it is a class
        decorators = ""
        for head, end in self._segments():
            segment = self.text[head.start() : end]
            indent, at, kind, defined, variable = head.groups()
            while around and around[-1][0] >= len(indent):
                around.pop()
            if at or (decorators and not kind):
                decorators += segment
                continue
            if (kind or all(is_class for *_, is_class in around)) and len(around) < MOST_NESTED:
                if around and kind == "def" and _OF_OBJECTS.fullmatch(defined):
                    named = around[-1][1]
                else:
                    found.append(named := Mention(defined or variable, set()))
                around.append((len(indent), named, kind == "class"))
                named.words.update(_WORD.findall(decorators))
                decorators = ""
            for depth, named, is_class in around:
                if not is_class or named is around[-1][1]:
                    inside = _deeper(segment, depth)
                    named.words.update(_WORD.findall(inside))
                    if self.runs_backward and may_backpropagate(inside.encode()):
                        named.runs_backward = True
        return found

    @cached_property
    def tables(self) -> frozenset[str]:
        """The variables of the module."""
        return frozenset(head[5] for head in self._heads if head[5] and not head[1])

    @cached_property
    def decorated(self) -> list[tuple[list[str], str]]:
        """The words of the decorators of each function and class that has any, and its name."""
        found, words = list[tuple[list[str], str]](), list[str]()
        for head, end in self._segments():
            if head[2]:
                words += _WORD.findall(self.text[head.start() : end])
            elif words and head[3]:
                found.append((words, head[4]))
                words = []
        return found

    def _aliases(self) -> Iterator[tuple[str, str]]:
        """Names that stand for others: `import a as b`, `self.b = a`."""
        for origin, alias in _ALIAS.findall(self.text):
            yield alias, origin
        yield from _KEPT_IN.findall(self.text)


@recalled
def indexed(data: bytes) -> ModuleIndex:
    return ModuleIndex(data)


def _deeper(segment: str, indent: int) -> str:
    """The rows of a segment that stand deeper than its first, or close its brackets."""
    found = re.match(rf"[^\n]*(?:\n(?:[ \t]*(?=\n)|[ \t]{{{indent + 1},}}[^\n]*|[ \t]*[)\]}}][^\n]*))*", segment)
    return found[0] if found is not None else segment


def _calls(text: str) -> tuple[tuple[str, str], ...]:
    """The calls in a text: the word, or the bracket, before the name's dot, and the name."""
    found: dict[tuple[str, str], None] = {}
    before = joint = ""
    for word, behind in _CALL.findall(text):
        if behind == "(" and word not in (")", "]") and before not in ("def", "class"):
            found[before if joint == "." else "", word] = None
        before, joint = word, behind
    return tuple(found)


def reaching(texts: Iterable[bytes]) -> frozenset[str]:
    """The names of functions, methods, classes and variables in some modules from which a walk may be reached: those that
    hold one, and whatever speaks of their names."""
    closed = [indexed(text) for text in dict.fromkeys(texts)]
    left = _registered(closed)
    reached: set[str] = set()
    fresh: set[str] = set()
    opened = [each for each in closed if may_spell_backward(each.data)]
    while opened or fresh:
        closed = [each for each in closed if each not in opened]  # they are asked where they speak of what is reached
        reached |= fresh
        new = [mention for each in opened for mention in each.mentions]
        left = [mention for mention in left if mention.name not in reached]
        fresh = {mention.name for mention in left if not fresh.isdisjoint(mention.words)}
        fresh |= {each.name for each in new if each.runs_backward or not reached.isdisjoint(each.words)}
        fresh -= reached
        left += new
        opened = [each for each in closed if not fresh.isdisjoint(each.words)]
    return frozenset(reached)


def _registered(modules: Sequence[ModuleIndex]) -> list[Mention]:
    """Tables, and objects that hold one, each with what a decorator puts there: `@stage("train")`, `@LOSSES.register`."""
    found: list[Mention] = []
    for words, name in (each for module in modules for each in module.decorated):
        makers = (module.definitions.get(word) for word in words for module in modules)
        if tables := {table for maker in makers if maker is not None for table in maker.fills}:
            found += [Mention(table, {name}) for table in (*tables, words[0])]
    return found


Place: TypeAlias = "tuple[str, str]"
"""A module's place, and a name in it."""


class CallIndex:
    """What of an entry, which holds `data`, and of the modules to which its names lead, may run a backward pass."""

    def __init__(self, modules: Modules | None, data: bytes) -> None:
        """Without `modules` only the entry's own names tell."""
        self.modules, self._modules = modules, modules or Modules("", Held({}))
        self._entry, self.data = indexed(data), data
        self._place = self._modules.place(self._modules.entry)
        self._read = {self._place: self._entry}
        self._depth = self._asked = 0
        self._known: dict[tuple[str, str, str], tuple[int, bool]] = {}  # how far from the entry it was told, and what

    @cached_property
    def spells_backward(self) -> bool:
        """Whether a walk may stand in the entry's code: more than is spoken of one, and a step's result is a trainer's."""
        if not may_spell_backward(self.data):
            return False
        steps = rb"\bdef[ \t]+(?:%s)[ \t]*\(" % "|".join(others().steps).encode()
        if re.search(steps, self.data) is None or may_spell_backward(self.data, steps=False):
            return True
        if any(trainer in self._entry.text for trainer in (*stubs.words("anywhere"), *stubs.stepping())):
            return True
        return self.modules is not None and self._steps_are_walked()

    @cached_property
    def starts_backward(self) -> bool:
        """Whether the entry is run for the walks of others that may be reached from it: it is a script that speaks of
        functions, of its own or of the modules that it imports, which lead to one, or its functions call what does, or its
        classes inherit methods that do."""
        if may_start_backward(self.data) and any(map(may_backpropagate, self.around)):
            if not self._reached.isdisjoint(self._entry.words):
                return True
        found = self._may_lead and (any(self.leads(*call) for call in self._entry.calls) or self._inherits_backward())
        self._asked = 0  # whoever asks of single calls later may ask as much
        self._known.clear()
        return found

    def reaches(self, name: str) -> bool:
        """Whether a walk may be reached from a function, method or class of that name."""
        return name in self._reached

    def leads(self, receiver: str, name: str) -> bool:
        """Whether a function of another module, as the entry calls it, leads to a walk; `receiver` is the word, or the
        bracket, before the name's dot, "" where there is none."""
        if not self._may_lead:
            return False
        if not receiver or (self._module(self._place, receiver) and self._leads_by(self._place, receiver, name)):
            return self._leads_by(self._place, receiver, name)
        if receiver in _ITSELF:
            return any(self._leads(*each, name) for each in self._bases)
        if COMMON.takes(name):
            return any(self._leads(*each, name) for each in self._classes(self._entry.made.get(receiver, ())))
        return any(self._leads(*each, name) for each in self._made)

    # -- what is around ---------------------------------------------------------------------------------------------

    @cached_property
    def around(self) -> list[bytes]:
        """The texts of the modules that the entry imports, and of those that these import, nearest first."""
        pending, seen = self._modules.imported(self._place, self.data), {self._place}
        texts: list[bytes] = []
        for place in pending:
            if len(texts) >= SEARCHED:
                break
            if place not in seen:
                seen.add(place)
                texts.append(self._modules.read(place) or b"")
                pending += self._modules.imported(place, texts[-1])
        return texts

    @cached_property
    def _reached(self) -> frozenset[str]:
        return reaching((self.data, *self.around))

    @cached_property
    def _may_lead(self) -> bool:
        """Whether any call of the entry may: it imports a module of its project."""
        if not may_lead_to_backward(self.data):
            return False
        origins = (*self._entry.imported.values(), *self._entry.stars)
        return any(self._find(self._place, origin) is not None for origin in origins)

    # -- what leads to a walk ---------------------------------------------------------------------------------------

    def _leads_by(self, place: str, receiver: str, name: str) -> bool:
        """Whether a function leads to a walk that a module imports, or whose module it does."""
        if receiver:
            module = self._module(place, receiver)
            return module is not None and self._leads(module, name)
        return any(self._leads(*each) for each in self._origins(place, name))

    def _leads(self, place: str, name: str, method: str = "", heir: Place | None = None) -> bool:
        """Whether a function of a module does, the making of an object of a class, or a method of it, on an object of
        the `heir`."""
        asked = place, name, method if heir is None else f"{method} {'.'.join(heir)}"
        depth, leads = self._known.get(asked, (MOST_HOPS, False))
        if not leads and self._depth < depth and self._asked < ASKED:
            self._known[asked] = self._depth, False  # for those who call themselves
            self._asked += 1
            self._depth += 1
            leads = self._runs_backward(place, name, method, heir)
            self._depth -= 1
            self._known[asked] = self._depth, leads
        return leads

    def _runs_backward(self, place: str, name: str, method: str, heir: Place | None) -> bool:
        found, owner = self._index(place).definitions.get(name), ""
        if found is None:
            return self._any_lead(self._origins(place, name), method)
        if found.kind == "class":
            words, owner = found.base_words, name
            own = [each for each in found.methods if _OF_OBJECTS.fullmatch(each) and each != "__init__"]
            if not method and any(self._any_lead([(place, name)], each) for each in own):
                return True
            cls, found = found, found.methods.get(method or "__init__")
            if found is None:
                above = self._any_lead(self._named(place, words), method, heir or (place, name))
                return above or self._kept(place, cls, method)
        elif method:
            return False
        if found.runs_backward or any(self._called(place, owner, *call) for call in found.calls):
            return True
        called = [name for receiver, name in found.calls if receiver in _ITSELF] if heir is not None else []
        return heir is not None and any(self._leads(*heir, each) for each in called)

    def _kept(self, place: str, cls: Definition, attribute: str) -> bool:
        """Whether a method or function does that a class keeps under an attribute: `self.update = getattr(self, "update_" + mode)`."""
        words = {
            word for each, value in _KEPT_IN.findall(cls.body) if each == attribute for word in _WORD.findall(value)
        }
        own = cls.methods if "getattr" in words else words & cls.methods.keys()
        if any(self._leads(place, cls.name, each) for each in own):
            return True
        return any(self._leads(place, each) for each in words & self._index(place).definitions.keys())

    def _any_lead(self, places: Iterable[Place], method: str, heir: Place | None = None) -> bool:
        """Whether any of those does that a name may mean, or from which a class inherits: they are no further away."""
        above = list(places)
        self._depth -= 1
        leads = any(self._leads(*each, method, heir) for each in above)
        self._depth += 1
        return leads

    def _called(self, place: str, owner: str, receiver: str, name: str) -> bool:
        """Whether what is called in a function, or in a method of the class `owner`, leads to a walk."""
        if receiver == ")" and owner:
            above = list(self._named(place, self._index(place).definitions[owner].base_words))
            if any(self._leads(*each, name, (place, owner)) for each in above):
                return True
        if receiver in _ITSELF:
            return bool(owner) and self._leads(place, owner, name)
        if not receiver:
            return self._leads(place, name)
        return self._leads_by(place, receiver, name) or (not COMMON.takes(name) and name in self._reached)

    # -- what a trainer runs ----------------------------------------------------------------------------------------

    def _steps_are_walked(self) -> bool:
        """Whether a class of the entry that has a step is derived from a trainer, from what nobody can tell, or from a
        class in whose module a walk stands: perhaps of what the step returns."""
        names = dict.fromkeys(each.name for each in self._entry.classes)
        stepping = (
            name for name in names if not self._entry.definitions[name].methods.keys().isdisjoint(others().steps)
        )
        pending = [(self._place, name) for name in stepping]
        seen: set[Place] = set()
        while pending:
            asked = pending.pop()
            if asked in seen:
                continue
            seen.add(asked)
            if asked[0] != self._place and self._index(asked[0]).runs_backward:
                return True
            above = self._above(*asked)
            if above is None or len(self._read) > SEARCHED:
                return True
            pending += above
        return False

    def _above(self, place: str, name: str) -> list[Place] | None:
        """What the definition of a class names: the classes from which it is derived, or whose name it is; None for a
        trainer, and for what nobody can tell."""
        definition = self._index(place).definitions.get(name)
        if definition is None or definition.kind != "class":
            return self._origins_above(place, name)
        found: list[Place] = []
        for base in definition.bases if definition.bases is not None else stubs.words("anywhere")[:1]:
            above = self._based(place, base)
            if above is None:
                return None
            found += above
        return found

    def _based(self, place: str, base: str) -> list[Place] | None:
        """What a base leads to, as it is spelt."""
        *packages, last = base.split(".")
        if last.endswith(stubs.words("anywhere")):
            return None
        if packages:
            return [(module, last) for each in packages if (module := self._module(place, each)) is not None]
        definition = self._index(place).definitions.get(last)
        is_class = definition is not None and definition.kind == "class"
        return [(place, last)] if is_class else self._origins_above(place, last)

    def _origins_above(self, place: str, name: str) -> list[Place] | None:
        """Where a name comes from that is no class of the module itself."""
        index = self._index(place)
        origin = index.imported.get(name)
        if origin is not None and origin.name.endswith(stubs.words("anywhere")):
            return None
        found = list(self._origins(place, name))
        is_unknown = origin is None and not found and any(trainer in index.text for trainer in stubs.words("anywhere"))
        return None if is_unknown else found

    # -- names ------------------------------------------------------------------------------------------------------

    def _index(self, place: str) -> ModuleIndex:
        if place not in self._read:
            if place.endswith("/") or len(self._read) > SEARCHED:
                return indexed(b"")
            self._read[place] = indexed(self._modules.read(place) or b"")
        return self._read[place]

    def _find(self, place: str, origin: Import) -> str | None:
        return self._modules.find(place, origin.module, origin.level)

    def _module(self, place: str, name: str) -> str | None:
        """The place of a module that another imports under some name."""
        origin = self._index(place).imported.get(name)
        found = self._find(place, origin) if origin is not None else None
        if origin is None or found is None:
            return None
        return self._modules.submodule(found, origin.name) if origin.name else found

    def _origins(self, place: str, name: str) -> Iterator[Place]:
        """Where an imported name, which is no module, may be defined."""
        index = self._index(place)
        origin = index.imported.get(name)
        if origin is not None:
            found = self._find(place, origin) if origin.name else None
            if found is not None and self._modules.submodule(found, origin.name) is None:
                yield found, origin.name
            return
        for star in index.stars:
            found = self._find(place, star)
            if found is not None:
                yield found, name

    def _named(self, place: str, names: list[str]) -> Iterator[Place]:
        """Where the classes may be defined that some words name, with their modules."""
        for name in names:
            if place != self._place and name in self._index(place).definitions:
                yield place, name
            else:
                yield from self._origins(place, name)
                module = self._module(place, name)
                yield from ((module, other) for other in names if module is not None and other != name)

    @cached_property
    def _bases(self) -> list[Place]:
        """The imported classes from which those of the entry are derived."""
        named = (self._named(self._place, each.base_words) for each in self._entry.classes)
        return list(dict.fromkeys(each for found in named for each in found))

    def _inherits_backward(self) -> bool:
        """Whether a method leads to a walk that one of these classes, or of those above them, has itself, or calls one of
        that name of what the entry makes."""
        pending, seen = list(self._bases), set[Place]()
        while pending:
            place, name = each = pending.pop()
            found = self._index(place).definitions.get(name) if each not in seen else None
            seen.add(each)
            if found is not None and found.kind == "class":
                if any(self._leads(place, name, method) for method in found.methods):
                    return True
                called = {method for receiver, method in found.calls if receiver and receiver not in _ITSELF}
                if any(self._leads(*made, method) for made in self._made for method in called):
                    return True
                pending += self._named(place, found.base_words)
        return False

    @cached_property
    def _made(self) -> list[Place]:
        """The imported classes of which the entry may make objects, or of whose heirs."""
        return self._classes(name for _, name in self._entry.calls if name[:1].isupper())

    def _classes(self, called: Iterable[str]) -> list[Place]:
        """Where the imported classes are that some calls make, or the bases of those of the entry."""
        names = dict.fromkeys(called)
        own = (each for name in names if (each := self._entry.definitions.get(name)) is not None)
        above = (word for each in own if each.kind == "class" for word in each.base_words)
        return list(self._named(self._place, list(dict.fromkeys((*names, *above)))))
