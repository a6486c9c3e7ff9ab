"""Records of ours as JSON and back: of what is read nothing can be made but objects of the classes that a codec knows.

What JSON has stands for itself; anything else is a list, of a number that tells its kind and of what it is made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from types import EllipsisType, ModuleType
from typing import Any, TypeAlias

from retainlint.text.source import Source, Span

Json: TypeAlias = Any

_PLAIN = frozenset({str, int, bool, float, type(None)})
_PLAIN_NAMES = frozenset({"str", "int", "bool", "float", "None", "Register"})
_TUPLE, _SET, _BYTES, _COMPLEX, _ELLIPSIS, _SPAN, _SHARED, WAITING = range(8)


class Codec:
    """The kinds of values by their numbers: the records and enums of some modules, the latter by their members. Of the
    `shared` classes an object that stands in many places is written once. The modules are asked for when one is met."""

    def __init__(self, modules: Callable[[], Iterable[ModuleType]], shared: tuple[type, ...] = ()) -> None:
        self._modules, self.shared = modules, shared

    @cached_property
    def kinds(self) -> dict[int, Any]:
        own = [
            one
            for module in self._modules()
            for one in vars(module).values()
            if isinstance(one, type) and one.__module__ == module.__name__
        ]
        members = [member for one in own if issubclass(one, Enum) for member in one]
        return dict(enumerate([*filter(is_dataclass, own), *members], WAITING + 1))

    @cached_property
    def numbers(self) -> dict[Any, int]:
        return {kind: number for number, kind in self.kinds.items()}


@cache
def _fields(kind: Any) -> tuple[bool, list[tuple[str, bool]]]:
    """Whether a class starts with its span, and of each field else, in their order, its name and whether JSON has it."""
    every = [(field.name, str(field.type)) for field in fields(kind)]
    spanned = every[:1] == [("span", "Span")]
    return spanned, [(name, _PLAIN_NAMES.issuperset(type.split(" | "))) for name, type in every[spanned:]]


class Writer:
    """`source` gives the number of a text; `plans` tell how an object of a class is written."""

    def __init__(self, codec: Codec, source: Callable[[Source], int]) -> None:
        self._codec, self._source = codec, source
        self._numbers: dict[int, int] = {}
        self.shared: list[Json] = []
        self.plans: dict[type, Callable[[Any], Json]] = {
            tuple: lambda one: [_TUPLE, *map(self.value, one)],
            frozenset: lambda one: [_SET, *sorted(one)],
            bytes: lambda one: [_BYTES, one.decode("latin-1")],
            complex: lambda one: [_COMPLEX, one.real, one.imag],
            EllipsisType: lambda _: [_ELLIPSIS],
            Span: lambda one: [_SPAN, source(one.source), one.start, one.end],
            **dict.fromkeys(codec.shared, self._once),
        }

    def value(self, one: Any) -> Json:
        """Raises KeyError for what the codec doesn't know."""
        kind = one.__class__
        return one if kind in _PLAIN else (self.plans.get(kind) or self._plan(kind))(one)

    def line(self, value: Json) -> bytes:
        """What was written as one line, which `Reader.line` takes. Raises ValueError for what can't be written so (half of
        a character in a text, an integer of 5,000 digits), and RecursionError."""
        parts = [self.shared, value]
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    def _plan(self, kind: Any) -> Callable[[Any], Json]:
        if issubclass(kind, Enum):
            return self.plans.setdefault(kind, lambda one: [self._codec.numbers[one]])
        number, (spanned, rest), source, value = self._codec.numbers[kind], _fields(kind), self._source, self.value

        def row(one: Any) -> Json:
            found = [number, source(one.span.source), one.span.start, one.span.end] if spanned else [number]
            for name, is_plain in rest:
                part = getattr(one, name)
                found.append(part if is_plain else value(part))
            return found

        return self.plans.setdefault(kind, row)

    def _once(self, one: Any) -> Json:
        if id(one) not in self._numbers:
            self._numbers[id(one)] = len(self.shared)
            parts = [self.value(getattr(one, field.name)) for field in fields(one)]
            self.shared.append([self._codec.numbers[one.__class__], *parts])
        return [_SHARED, self._numbers[id(one)]]


class Reader:
    """The same, read: `sources` are the texts by number, `plans` tell what is made of a list by the number before it. Of
    what we didn't write comes any error that JSON or a wrong type or number brings."""

    def __init__(self, codec: Codec, sources: Sequence[Source]) -> None:
        self._codec, self._sources = codec, sources
        self._shared: list[Any] = []
        self.plans: dict[int, Callable[[Json], Any]] = {
            _TUPLE: lambda row: tuple(map(self.value, row[1:])),
            _SET: lambda row: frozenset(row[1:]),
            _BYTES: lambda row: str(row[1]).encode("latin-1"),
            _COMPLEX: lambda row: complex(row[1], row[2]),
            _ELLIPSIS: lambda row: ...,
            _SPAN: self._span,
            _SHARED: lambda row: self._shared[row[1]],
        }

    def value(self, value: Json) -> Any:
        if value.__class__ is not list:
            return value
        return (self.plans.get(value[0]) or self._plan(value[0]))(value)

    def line(self, line: bytes) -> Any:
        shared, value = json.loads(line)
        self._shared = [self.value(each) for each in shared]
        return self.value(value)

    def _span(self, row: Json) -> Span:
        _, number, start, end = row[:4]
        source = self._sources[number]
        if not 0 <= start <= end <= len(source.text):
            raise ValueError("a place behind the text's end")
        return Span(source, start, end)

    def _plan(self, number: int) -> Callable[[Json], Any]:
        kind = self._codec.kinds[number]
        if isinstance(kind, Enum):
            return self.plans.setdefault(number, lambda _: kind)
        spanned, rest = _fields(kind)
        first = 4 if spanned else 1
        special = [at for at, (_, is_plain) in enumerate(rest, first) if not is_plain]
        value, span = self.value, self._span

        def made(row: Json) -> Any:
            for at in special:
                if row[at].__class__ is list:
                    row[at] = value(row[at])
            return kind(span(row), *row[4:]) if spanned else kind(*row[1:])

        return self.plans.setdefault(number, made)
