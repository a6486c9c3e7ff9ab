"""From which functions of a project a walk may be reached, told by their names alone: nothing is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from retainlint.walks import may_walk

_SPOKEN = re.compile(
    rb"#[^\n]*"
    rb'|"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*\'\'\''
    rb'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'',
    re.DOTALL,
)
"""Comments and texts."""

_NAMES = re.compile(rb"[\w.:]+")
_COMPUTED = re.compile(rb"\{([^{}]+)\}")

_HEAD = re.compile(
    rb"^([ \t]*)(?:(@)|(?:async[ \t]+)?def[ \t]+(\w+)|class[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=))", re.MULTILINE
)
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_ALIAS = re.compile(rb"\b(\w+)[ \t]+as[ \t]+(\w+)")
_KEPT_IN = re.compile(rb"\.(\w+)[ \t]*=(?!=)([^\n]*)")

_OF_OBJECTS = re.compile(rb"__\w+__|forward")
"""Methods that are seldom called by their names: whoever makes an object of the class may come to them."""

DEEPEST = 20
"""Functions nested more deeply than this are taken for parts of those around them."""

_READ = 500
"""So many texts' names are remembered. It decides nothing but the time it takes."""


@dataclass
class _Named:
    """A function, class or variable: the words that stand in it, and whether a walk may."""

    name: bytes
    words: set[bytes]
    walks: bool = False


def reaching(texts: Iterable[bytes]) -> frozenset[str]:
    """The names of functions, methods, classes and variables in some modules from which a walk may be reached: those that
    hold one, and whatever speaks of their names."""
    left = [named for text in texts for named in _outlined(text)]
    reached: set[bytes] = set()
    fresh = {name for name, _, walks in left if walks}
    while fresh:
        reached |= fresh
        left = [named for named in left if named[0] not in reached]
        fresh = {name for name, words, _ in left if not fresh.isdisjoint(words)}
    return frozenset(name.decode(errors="replace") for name in reached)


def mentions(text: bytes, names: frozenset[str]) -> bool:
    """Whether any of some names stands in a text's code."""
    return any(word.decode(errors="replace") in names for word in _words(_code(text)))


@lru_cache(maxsize=_READ)
def _outlined(text: bytes) -> tuple[tuple[bytes, frozenset[bytes], bool], ...]:
    """What a module names, each with its words and whether a walk may stand in it."""
    text = _code(text)
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
                named.walks |= may_walk(inside)
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


@lru_cache(maxsize=_READ)
def spoken(text: bytes) -> str:
    """A text without its comments, and without texts that are no names."""
    return _code(text).decode(errors="replace")


def _code(text: bytes) -> bytes:
    return _SPOKEN.sub(_short, text)


def _short(found: re.Match[bytes]) -> bytes:
    """What is left of a text: a name, for `getattr` or a table, and what is computed within."""
    spoken = found[0]
    if spoken[:1] == b"#" or spoken[:3] in (b'"""', b"'''"):
        return b""
    if _NAMES.fullmatch(spoken, 1, len(spoken) - 1):
        return spoken
    return b'""' if b"{" not in spoken else b'"%s"' % b" ".join(_COMPUTED.findall(spoken))


def _words(text: bytes) -> set[bytes]:
    return set(_WORD.findall(text))
