"""Registers that nobody reads any more, told for any place within a block."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from retainlint import ir


class DeadRegisters:
    """What the blocks of one code read. Its instructions are numbered as they stand, those inside of others too: so a block is
    all that lies between two numbers."""

    def __init__(self, code: ir.Code) -> None:
        self._reads: dict[ir.Register, tuple[int, int]] = {}  # the first and the last number that reads a register
        self._numbers: dict[int, list[int]] = {}  # of a block's instructions, by its identity, and that of its end
        self._behind: dict[int, dict[ir.Register, int]] = {}
        self._number(code.body, 0)

    def behind(self, block: ir.Block) -> Mapping[ir.Register, int]:
        """Behind which of its instructions neither a block nor what surrounds it reads what it has written."""
        found = self._behind.get(id(block))
        if found is None:
            found = self._behind[id(block)] = {}
            numbers = self._numbers.get(id(block), [0])  # of a block of another code nothing is known
            for index, instr in enumerate(block[: len(numbers) - 1]):
                for register in _written(instr):
                    first, last = self._reads.get(register, (numbers[index], numbers[index]))
                    if numbers[0] <= first and last < numbers[-1]:
                        found.setdefault(register, max(index, bisect_right(numbers, last) - 1))
        return found

    def _number(self, block: ir.Block, number: int) -> int:
        """Number a block's instructions; the number behind them."""
        numbers = self._numbers[id(block)] = []
        for instr in block:
            numbers.append(number)
            for register in ir.READS[type(instr)](instr):
                self._reads[register] = self._reads.get(register, (number, 0))[0], number
            number += 1
            for inner in ir.blocks(instr):
                number = self._number(inner, number)
        numbers.append(number)
        return number


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
