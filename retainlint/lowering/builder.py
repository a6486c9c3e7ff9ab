"""One code under construction: the instructions, registers and names that lowering functions add to it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Concatenate, ParamSpec, TypeAlias

import libcst as cst

from retainlint.ir import Block, Build, Const, Instr, Item, Kind, Literal, Load, Opaque, Register, Scope, Store
from retainlint.lowering.positions import Offsets
from retainlint.lowering.scopes import SEERS, Names
from retainlint.startup.records import record
from retainlint.text.source import Source, Span

Rest = ParamSpec("Rest")

Value: TypeAlias = "Callable[[Builder, Any], Register]"
"""Lowers one class of expression nodes: emits its instructions, gives the register that holds its value."""

Statement: TypeAlias = "Callable[[Builder, Any], None]"
"""Lowers one class of statement nodes."""


@record
class Unit:
    """A text that is being lowered, and what lowers each class of nodes."""

    source: Source
    offsets: Offsets
    values: Mapping[type[cst.CSTNode], Value]
    statements: Mapping[type[cst.CSTNode], Statement]
    backward_offsets: list[int]  # where the words stand that a walk is written with
    aside: Mapping[int, int] = field(default_factory=dict)  # bodies for which a number stands in: their starts and ends
    gaps: list[Opaque] = field(default_factory=list)

    def backward_passes(self, start: int, end: int) -> bool:
        """Whether a walk may be written between two offsets."""
        at = bisect_left(self.backward_offsets, start)
        return at < len(self.backward_offsets) and self.backward_offsets[at] < end

    def holds_walrus(self, start: int, end: int) -> bool:
        return self.source.text.find(":=", start, end) >= 0

    def walruses(self, start: int, end: int) -> Callable[[cst.CSTNode], bool] | None:
        """Which statements between two offsets may hold a `:=`; None if none does."""
        return self._may_bind if self.holds_walrus(start, end) else None

    def _may_bind(self, statement: cst.CSTNode) -> bool:
        place = None if getattr(statement, "decorators", ()) else self.offsets.get(id(statement))
        return place is None or self.holds_walrus(*place)


class Builder:
    """One code under construction. `out` is the block that instructions are added to."""

    def __init__(self, unit: Unit, names: Names, qualname: str) -> None:
        self.unit = unit
        self.names = names
        self.qualname = qualname
        self.out: list[Instr] = []
        self.registers = 0
        self.is_generator = False
        self.annotated: list[str] = []

    # -- instructions ---------------------------------------------------------------------------------------------

    def fresh(self) -> Register:
        self.registers += 1
        return self.registers - 1

    def emit(self, instr: Instr) -> None:
        self.out.append(instr)

    def put(
        self,
        kind: Callable[Concatenate[Span, Register, Rest], Instr],
        span: Span,
        *rest: Rest.args,
        **named: Rest.kwargs,
    ) -> Register:
        """Add an instruction that computes something: the register that will hold it."""
        dst = self.fresh()
        self.out.append(kind(span, dst, *rest, **named))
        return dst

    @contextmanager
    def block(self) -> Iterator[list[Instr]]:
        """A block of its own for the instructions added inside the `with`."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    def suite(self, body: cst.BaseSuite | cst.Else | cst.Finally | None) -> Block:
        """The block of the statements of a suite."""
        if isinstance(body, (cst.Else, cst.Finally)):
            body = body.body
        if body is None:
            return ()
        with self.block() as out:
            self.run(body)
        return tuple(out)

    def run(self, body: cst.BaseSuite) -> None:
        """Add the statements of a suite to the block at hand."""
        for statement in body.body:
            self.statement(statement)

    def statement(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.SimpleStatementLine):
            for small in node.body:
                self.statement(small)
            return
        lower = self.unit.statements.get(type(node))
        if lower is None:
            self.opaque(self.span(node), f"a {type(node).__name__} statement")
        else:
            lower(self, node)

    def value(self, node: cst.CSTNode, kind: type[cst.CSTNode] | None = None) -> Register:
        """What an expression computes; lowered as one of another `kind`, where that is all the same."""
        lower = self.unit.values.get(kind or type(node))
        if lower is None:
            return self.unknown(self.span(node), f"a {type(node).__name__} expression")
        return lower(self, node)

    def const(self, span: Span, value: Literal) -> Register:
        return self.put(Const, span, value)

    def build(self, span: Span, kind: Kind, items: Iterable[Item], texts: tuple[str, ...] = ()) -> Register:
        return self.put(Build, span, kind, tuple(items), texts)  # whose own instructions come first

    def opaque(self, span: Span, reason: str, dst: Register | None = None) -> None:
        """What ir can't say."""
        gap = Opaque(span, reason, dst)
        self.unit.gaps.append(gap)
        self.out.append(gap)

    def unknown(self, span: Span, reason: str) -> Register:
        """A value that ir can't say."""
        dst = self.fresh()
        self.opaque(span, reason, dst)
        return dst

    # -- names ----------------------------------------------------------------------------------------------------

    def load(self, span: Span, name: str) -> Register:
        name, scope = self.names.resolve(name)
        if scope is Scope.GLOBAL and name in SEERS and not _asks_one(span, name):
            self.names.read_unspelled()
        return self.put(Load, span, name, scope)

    def store(self, span: Span, name: str, src: Register) -> None:
        name, scope = self.names.resolve(name)
        self.out.append(Store(span, name, scope, src))

    # -- places ---------------------------------------------------------------------------------------------------

    def span(self, node: cst.CSTNode) -> Span:
        return Span(self.unit.source, *self.unit.offsets[id(node)])

    def between(self, first: cst.CSTNode, last: cst.CSTNode) -> Span:
        """From the start of one node up to the end of another, with the parentheses around each."""
        text, start = self.unit.source.text, self.unit.offsets[id(first)][0]
        for _ in getattr(first, "lpar", ()):
            start = text.rindex("(", 0, start)
        return Span(self.unit.source, start, self.end(last))

    def slice_span(self, first: cst.SubscriptElement, last: cst.SubscriptElement) -> Span:
        """From one element of a subscript up to another; the space behind a slice's colon is no part of it."""
        text, (start, _), (_, end) = self.unit.source.text, self.unit.offsets[id(first)], self.unit.offsets[id(last)]
        return Span(self.unit.source, start, start + len(text[start:end].rstrip()))

    def end(self, node: cst.CSTNode) -> int:
        """Where a node ends, with the parentheses that close it."""
        text, at = self.unit.source.text, self.unit.offsets[id(node)][1]
        for _ in getattr(node, "rpar", ()):
            while text[at] != ")":
                at = text.index("\n", at) if text[at] == "#" else at + 1
            at += 1
        return at

    def text(self, node: cst.CSTNode) -> str:
        start, end = self.unit.offsets[id(node)]
        return self.unit.source.text[start:end]


def _asks_one(span: Span, name: str) -> bool:
    """Whether it is `vars(obj)`, which reads the names of that object and no others."""
    return name == "vars" and _ASKED.match(span.source.text, span.end) is not None


_ASKED = re.compile(r"\s*\(\s*[^\s)#]")
