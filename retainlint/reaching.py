"""From which functions of a project a walk may be reached, told by their names alone: nothing is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from retainlint.patterns import pattern
from retainlint.spelling import code, may_spell_walk
from retainlint.uncalled import without_asked
from retainlint.walks import may_walk

_HEAD = pattern(
    rb"^([ \t]*)(?:(@)|(?:async[ \t]+)?def[ \t]+(\w+)|class[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=))", re.MULTILINE
)
_WORD = pattern(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_ALIAS = pattern(rb"\b(\w+)[ \t]+as[ \t]+(\w+)")
_KEPT_IN = pattern(rb"\.(\w+)[ \t]*=(?!=)([^\n]*)")

_OF_OBJECTS = pattern(rb"__\w+__|forward")
"""Methods that are seldom called by their names: whoever makes an object of the class may come to them."""

DEEPEST = 20
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
    walks: bool = False


def reaching(texts: Iterable[bytes]) -> frozenset[str]:
    """The names of functions, methods, classes and variables in some modules from which a walk may be reached: those that
    hold one, and whatever speaks of their names."""
    closed = list(dict.fromkeys(texts))
    left: list[_Outlined] = []
    reached: set[bytes] = set()
    fresh: set[bytes] = set()
    opened = [text for text in closed if may_spell_walk(text)]  # the others only where they speak of what is reached
    while opened or fresh:
        closed = [text for text in closed if text not in opened]
        reached |= fresh
        new = [named for text in opened for named in _outlined(text)]
        left = [named for named in left if named[0] not in reached]
        fresh = {name for name, words, _ in left if not fresh.isdisjoint(words)}
        fresh |= {name for name, words, walks in new if walks or not reached.isdisjoint(words)}
        fresh -= reached
        left += new
        opened = [text for text in closed if not fresh.isdisjoint(_spelt(text))]
    return frozenset(name.decode(errors="replace") for name in reached)


def mentions(text: bytes, names: frozenset[str]) -> bool:
    """Whether any of some names stands in a text's code."""
    return any(word.decode(errors="replace") in names for word in _spelt(text))


@lru_cache(maxsize=_READ)
def _outlined(text: bytes) -> tuple[_Outlined, ...]:
    """What a module names, each with its words and whether a walk may stand in it."""
    text = without_asked(code(text))
    walks = may_walk(text)
    found = [_Named(name, _words(value)) for name, value in _bound(text)]
    around: list[
        tuple[int, _Named, bool]
    ] = []  # what the text at hand stands in: the indent, the name, if it is a class
    decorators = b""
    heads = [*_HEAD.finditer(text)]
    for head, end in zip(heads, [*(head.start() for head in heads[1:]), len(text)]):
        segment = text[head.start() : end]
        indent, at, function, cls, variable = head.groups()
        while around and around[-1][0] >= len(indent):
            around.pop()
        if at or (decorators and not (function or cls)):
            decorators += segment
            continue
        if (function or cls or all(is_class for _, _, is_class in around)) and len(around) < DEEPEST:
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
                named.walks = named.walks or (walks and may_walk(inside))
    return tuple((named.name, frozenset(named.words), named.walks) for named in found)


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
def _spelt(text: bytes) -> frozenset[bytes]:
    """The words in a text's code."""
    return frozenset(_words(code(text)))


def _words(text: bytes) -> set[bytes]:
    return set(_WORD.findall(text))
