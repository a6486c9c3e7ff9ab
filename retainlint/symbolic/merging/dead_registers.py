"""Registers that nobody reads any more, told for any place within a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from retainlint import ir
from retainlint.ir import READS


class DeadRegisters:
    """What the blocks of one code read; each is looked into once."""

    def __init__(self, code: ir.Code) -> None:
        self.within: dict[int, dict[ir.Register, int]] = {}  # by a block's identity: how often it reads each register
        self.last: dict[int, dict[ir.Register, int]] = {}  # and by which of its instructions it does last
        self.total = self._reads(code.body)
        self.since: dict[int, dict[ir.Register, int]] = {}
        self.after: dict[tuple[int, int], frozenset[ir.Register]] = {}

    def behind(self, block: ir.Block, index: int) -> frozenset[ir.Register]:
        """What a block has written up to an instruction, and neither it nor what surrounds it reads behind that."""
        key = id(block), index
        found = self.after.get(key)
        if found is None:
            if id(block) not in self.within:
                return frozenset()  # a block of another code
            since = self._since(block)
            found = self.after[key] = frozenset([each for each, begun in since.items() if begun <= index])
        return found

    def _since(self, block: ir.Block) -> dict[ir.Register, int]:
        """Behind which instruction of a block nobody reads what it has written; not what is read outside it too."""
        found = self.since.get(id(block))
        if found is None:
            found = self.since[id(block)] = {}
            here, last, total = self.within[id(block)], self.last[id(block)], self.total
            for index, instr in enumerate(block):
                for register in _written(instr):
                    if register not in found and here.get(register) == total.get(register):
                        found[register] = max(index, last.get(register, 0))
        return found

    def _reads(self, block: ir.Block) -> dict[ir.Register, int]:
        found = self.within.get(id(block))
        if found is None:
            found = self.within[id(block)] = {}
            last = self.last[id(block)] = {}
            for index, instr in enumerate(block):
                kind = type(instr)
                for register in _READS[kind](instr):
                    found[register] = found.get(register, 0) + 1
                    last[register] = index
                for inner in () if kind in READS else ir.blocks(instr):
                    for register, times in self._reads(inner).items():
                        found[register] = found.get(register, 0) + times
                        last[register] = index
        return found


def spent(code: ir.Code) -> DeadRegisters:
    """What is known of a code, which never changes: it is noted on it."""
    found: DeadRegisters | None = code.dead_registers
    if found is None:
        found = code.dead_registers = DeadRegisters(code)
    return found


def _written(instr: ir.Instr) -> Iterable[ir.Register]:
    if isinstance(instr, ir.Unpack):
        return instr.dsts
    dst = getattr(instr, "dst", None)
    return () if dst is None else (dst,)


def _source(instr: Any) -> Iterable[ir.Register]:
    src = getattr(instr, "src", None)
    return () if src is None else (src,)


_READS: dict[type, Callable[[Any], Iterable[ir.Register]]] = {
    **READS,
    ir.If: lambda instr: (instr.cond,),
    ir.For: lambda instr: (instr.iterable,),
    ir.While: lambda instr: (instr.cond,),
    ir.With: lambda instr: (instr.context,),
    ir.Try: lambda instr: (each.type for each in instr.handlers if each.type is not None),
    ir.Return: _source,
    ir.Raise: _source,
    ir.Break: _source,
    ir.Continue: _source,
}
