"""A lowered module as lines of JSON and back: plain data, of which nothing can be made but instructions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any, TypeAlias, get_args

from retainlint import ir, program
from retainlint.program import Origin, Part, Use
from retainlint.text.source import Source, Span

Json: TypeAlias = Any
Make: TypeAlias = Callable[[ir.Head], ir.Code]
Places: TypeAlias = "list[tuple[int, int]]"

_KINDS: tuple[type, ...] = (*get_args(ir.Instr), ir.Code, ir.Head, ir.Arg, ir.Item, ir.Param, ir.Handler)
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
_ENUMS: dict[str, dict[Json, Enum]] = {
    each.__name__: {member.value: member for member in each} for each in (ir.Scope, ir.Kind)
}

_PLAIN = frozenset({"Register", "int", "str", "bool", "Register | None", "int | None", "str | None", "str | Register"})
_PLAIN_TUPLES = frozenset({"tuple[Register, ...]", "tuple[str, ...]", "tuple[int, int]"})
_SETS = frozenset({"frozenset[str]", "frozenset[Register]"})
_ROWS = frozenset({"Item", "Code"})
_TUPLES_OF_ROWS = frozenset(
    {"Block", "tuple[Arg, ...]", "tuple[Item, ...]", "tuple[Param, ...]", "tuple[Handler, ...]"}
)


def module(program: program.Program) -> tuple[bytes, list[ir.Deferred]]:
    """A module as a line, without the bodies that wait; and whose these are.

    Raises ValueError for what can't be written so (half of a character in a text, an integer of 5,000 digits), and
    RecursionError.
    """
    writer = _Writer()
    row = writer.row(program.module)
    return _line([writer.lives, [writer.row(gap) for gap in program.gaps], row]), writer.waiting


def outline(backward_passes: list[int], bodies: Places, types: Places, parts: Iterable[Part]) -> bytes:
    """What is known of a module before any part of it is lowered, as a line."""
    return _line([backward_passes, bodies, types, [_part(part) for part in parts]])


def block(instructions: ir.Block) -> tuple[bytes, list[ir.Deferred]]:
    """What a part of a module does, as a line, without the bodies that wait; and whose these are. Raises as `module` does,
    and for one that couldn't be read."""
    _refuse_unread(instructions)
    writer = _Writer()
    rows = [writer.row(each) for each in instructions]
    return _line([writer.lives, rows]), writer.waiting


def body(code: ir.Code) -> bytes:
    """A function that has waited for its body, as a line. Raises as `module` does, and for one whose body couldn't be read."""
    _refuse_unread(code.body)
    writer = _Writer()
    row = writer.row(code)
    return _line([writer.lives, row])


def read_module(line: bytes, source: Source, make: Make) -> program.Program:
    """The module that was written, with `make` for the bodies that wait.

    Of what we didn't write comes any error that JSON or a wrong type or number brings.
    """
    lives, gaps, row = json.loads(line)
    reader = _Reader(source, lives, make)
    code = reader.row(row)
    if not isinstance(code, ir.Code):
        raise TypeError("no module")
    return program.Program(source, code, tuple(map(reader.row, gaps)))


def read_outline(line: bytes) -> tuple[list[int], Places, Places, tuple[Part, ...]]:
    """What was known of a module: the offsets of walks, the places of bodies and of annotations, and the parts."""
    backward_passes, bodies, types, rows = json.loads(line)
    return backward_passes, [(a, b) for a, b in bodies], [(a, b) for a, b in types], tuple(map(_read_part, rows))


def read_block(line: bytes, source: Source, make: Make) -> ir.Block:
    """What a part did that was written; with errors as `read_module`."""
    lives, rows = json.loads(line)
    return _Reader(source, lives, make).rows(rows)


def read_body(line: bytes, source: Source) -> ir.Code:
    """The function that was written; with errors as `read_module`."""
    lives, row = json.loads(line)
    code = _Reader(source, lives).row(row)
    if not isinstance(code, ir.Code):
        raise TypeError("no function")
    return code


def _refuse_unread(instructions: ir.Block) -> None:
    if instructions and isinstance(instructions[0], ir.Opaque):
        raise ValueError("it may only have been too deep for the stack at hand")


def _part(part: Part) -> Json:
    imports = [[each.module, each.name, each.level] for each in part.imports]
    uses = [
        [each.origin.module, each.origin.name, each.origin.level, each.attributes, each.alone, each.called]
        for each in part.uses
    ]
    names = sorted(part.binds), sorted(part.reads), sorted(part.changes)
    return [part.start, part.end, *names, imports, uses, part.always, part.stars]


def _read_part(row: Json) -> Part:
    start, end, binds, reads, changes, imports, uses, always, stars = row
    return Part(
        start, end, frozenset(binds), frozenset(reads), frozenset(changes), tuple(Origin(*each) for each in imports),
        tuple(Use(Origin(*each[:3]), tuple(each[3]), *each[4:]) for each in uses), always, stars,
    )  # fmt: skip


def _line(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


@cache
def _fields(kind: type) -> tuple[bool, list[tuple[str, str]]]:
    """Whether a class starts with its span, and the name and type of each field else, in their order."""
    every = [(field.name, str(field.type)) for field in fields(kind)]
    spanned = every[0][1] == "Span"
    return spanned, every[spanned:]


class _Writer:
    """Each thing becomes `[number of its class, start, end, fields...]`; what is live somewhere, its number in `lives`."""

    def __init__(self) -> None:
        self.lives: list[Json] = []
        self.waiting: list[ir.Deferred] = []
        self._numbers: dict[int, int] = {}

    def row(self, one: Any) -> Json:
        if isinstance(one, ir.Deferred):
            self.waiting.append(one)
            return [len(_KINDS), self.row(one.head), one.backward_passes]
        spanned, rest = _fields(one.__class__)
        row: list[Json] = [_NUMBERS[type(one)]]
        if spanned:
            row += (one.span.start, one.span.end)
        for name, kind in rest:
            value = getattr(one, name)
            row.append(value if kind in _PLAIN else self._value(value, kind))
        return row

    def _value(self, value: Any, kind: str) -> Json:
        if kind == "Literal":
            return _literal(value)
        if kind in _PLAIN_TUPLES or kind in _SETS:
            return sorted(value) if kind in _SETS else value
        if kind in _TUPLES_OF_ROWS:
            return [self.row(each) for each in value]
        if kind in _ENUMS:
            return value.value
        if kind in _ROWS:
            return self.row(value)
        if kind == "Live":
            return self._live(value)
        if kind.startswith("Span"):
            return None if value is None else (value.start, value.end)
        raise TypeError(kind)

    def _live(self, live: ir.Live) -> int:
        if id(live) not in self._numbers:
            self._numbers[id(live)] = len(self.lives)
            self.lives.append([sorted(live.registers), sorted(live.names)])
        return self._numbers[id(live)]


_Plan: TypeAlias = tuple[type, int, list[tuple[int, Callable[[Json], Any]]]]
"""How a thing is made of a row: its class, where what is no span starts, and what makes the values that aren't as they
were written."""


class _Reader:
    """The same, read; `make` gives the bodies that wait."""

    def __init__(self, source: Source, lives: Json, make: Make | None = None) -> None:
        self._source, self._make = source, make
        self._lives = [ir.Live(frozenset(registers), frozenset(names)) for registers, names in lives]
        self._plans: dict[int, _Plan] = {}

    def _plan(self, number: int) -> _Plan:
        kind = _KINDS[number]
        spanned, rest = _fields(kind)
        first = 3 if spanned else 1
        special = [(at, self._read(type)) for at, (_, type) in enumerate(rest, first) if type not in _PLAIN]
        return self._plans.setdefault(number, (kind, first, special))

    def _read(self, kind: str) -> Callable[[Json], Any]:
        if kind in _TUPLES_OF_ROWS:
            return self.rows
        if kind in _PLAIN_TUPLES:
            return tuple
        if kind in _SETS:
            return frozenset
        readers: dict[str, Callable[[Json], Any]] = {"Literal": _read_literal, "Live": self._lives.__getitem__}
        if kind in _ENUMS:
            return _ENUMS[kind].__getitem__
        return readers.get(kind) or (self.row if kind in _ROWS else self._span)

    def rows(self, rows: Json) -> tuple[Any, ...]:
        return tuple([self.row(row) for row in rows])

    def row(self, row: Json) -> Any:
        if row[0] == len(_KINDS):
            _, head, backward_passes = row
            assert self._make is not None
            return ir.Deferred(self.row(head), backward_passes, self._make)
        kind, first, special = self._plans.get(row[0]) or self._plan(row[0])
        for at, read in special:
            row[at] = read(row[at])
        if first == 3:
            return kind(Span(self._source, row[1], row[2]), *row[3:])
        return kind(*row[1:])

    def _span(self, place: Json) -> Span | None:
        return None if place is None else Span(self._source, *place)


def _literal(value: ir.Literal) -> Json:
    """None, texts and numbers are themselves; the rest becomes `[name of its class, what it is made of]`."""
    if isinstance(value, bytes):
        return ["bytes", value.decode("latin-1")]
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    return ["..."] if value is ... else value


def _read_literal(value: Json) -> ir.Literal:
    if not isinstance(value, list):
        return value  # type: ignore[no-any-return]
    kind, *parts = value
    if kind == "bytes":
        return str(parts[0]).encode("latin-1")
    return complex(*parts) if kind == "complex" else ...
