"""Arms of branches that no path took, since a count or an option decided: what stands in them may still happen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from retainlint import ir

WALKS = frozenset({"backward", "manual_backward", "autograd"})
"""Names in whose neighbourhood something is walked."""


class Arms:
    """Which arms of which branches were taken."""

    def __init__(self) -> None:
        self.taken: dict[int, tuple[ir.If, int]] = {}  # by the identity of the instruction; 1 for then, 2 for orelse

    def take(self, instr: ir.If, arm: bool) -> None:
        way = 1 if arm else 2
        known = self.taken.get(id(instr), (instr, 0))[1]
        if not known & way:
            self.taken[id(instr)] = instr, known | way

    def untaken(self) -> frozenset[str]:
        """The names that the untaken arms of the branches that were reached mention."""
        blocks = (instr.orelse if arms == 1 else instr.then for instr, arms in self.taken.values() if arms != 3)
        return frozenset(name for block in blocks for name in _mentioned(block))


def walkers(program: ir.Program) -> frozenset[str]:
    """The names of walks, and of the program's functions that walk or call one of these."""
    found = WALKS
    known: dict[ir.Code, frozenset[str]] = {}
    while True:
        mentions: dict[str, frozenset[str]] = {}
        for code in _functions(program.module.body, found):
            if code not in known:
                known[code] = frozenset(_mentioned(code.body))
            mentions[code.name] = known[code]
        more = {name for name, inside in mentions.items() if name not in found and not found.isdisjoint(inside)}
        if not more:
            return found
        found |= more


def count(program: ir.Program) -> int:
    """How many walks are written in a program, at most."""
    return sum(name in WALKS for name in _mentioned(program.module.body, WALKS))


def _functions(block: ir.Block, names: frozenset[str]) -> Iterator[ir.Code]:
    """Those that may speak of some names."""
    for instr in block:
        if isinstance(instr, ir.MakeFunction | ir.MakeClass) and _may_speak(instr.code, names):
            if isinstance(instr, ir.MakeFunction):
                yield instr.code
            yield from _functions(instr.code.body, names)
        for inner in blocks(instr):
            yield from _functions(inner, names)


def _may_speak(code: ir.Code, names: frozenset[str] | None) -> bool:
    """Whether a function's body has to be looked at for some names."""
    return names is None or not isinstance(code, ir.Deferred) or not names.isdisjoint(code.words)


def _mentioned(block: ir.Block, names: frozenset[str] | None = None) -> Iterable[str]:
    """The names and attributes that a block reads, those of blocks and functions inside it too; or as many as there may be
    some names among."""
    for instr in block:
        if isinstance(instr, ir.Load | ir.GetAttr):
            yield instr.name
        elif isinstance(instr, ir.MakeFunction | ir.MakeClass) and _may_speak(instr.code, names):
            yield from _mentioned(instr.code.body, names)
        for inner in blocks(instr):
            yield from _mentioned(inner, names)


_BLOCKS: dict[type, Callable[[Any], Iterable[ir.Block]]] = {
    ir.If: lambda instr: (instr.then, instr.orelse),
    ir.For: lambda instr: (instr.body, instr.orelse),
    ir.While: lambda instr: (instr.test, instr.body, instr.orelse),
    ir.With: lambda instr: (instr.body,),
    ir.Try: lambda instr: (
        instr.body, instr.orelse, instr.final, *(block for each in instr.handlers for block in (each.test, each.body)),
    ),
}  # fmt: skip


def blocks(instr: ir.Instr) -> Iterable[ir.Block]:
    """The blocks that an instruction holds; most hold none."""
    found = _BLOCKS.get(type(instr))
    return () if found is None else found(instr)
