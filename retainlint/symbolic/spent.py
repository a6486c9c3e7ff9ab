"""Registers that nobody reads any more, told for any place within a block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from retainlint import ir
from retainlint.reads import READS

_SPENT = " spent"


class Spent:
    """What the blocks of one code read; each is looked into once."""

    def __init__(self, code: ir.Code) -> None:
        self.within: dict[int, Counter[ir.Register]] = {}  # by a block's identity: how often it reads each register
        self.total = self._reads(code.body)
        self.after: dict[tuple[int, int], frozenset[ir.Register]] = {}

    def behind(self, block: ir.Block, index: int) -> frozenset[ir.Register]:
        """What a block has written up to an instruction, and neither it nor what surrounds it reads behind that."""
        here = self.within.get(id(block))
        if here is None:
            return frozenset()  # a block of another code
        key = id(block), index
        found = self.after.get(key)
        if found is None:
            later = Counter[ir.Register]()
            for instr in block[index + 1 :]:
                later.update(self._read_by(instr))
            written = {register for instr in block[: index + 1] for register in _written(instr)}
            gone = (each for each in written if not later[each] and here[each] == self.total[each])
            found = self.after[key] = frozenset(gone)
        return found

    def _reads(self, block: ir.Block) -> Counter[ir.Register]:
        found = self.within.get(id(block))
        if found is None:
            found = self.within[id(block)] = Counter()
            for instr in block:
                found.update(self._read_by(instr))
        return found

    def _read_by(self, instr: ir.Instr) -> Counter[ir.Register]:
        found = Counter(_read(instr))
        for block in _inner(instr):
            found.update(self._reads(block))
        return found


def spent(code: ir.Code) -> Spent:
    """What is known of a code, which never changes: it is noted on it."""
    found: Spent | None = vars(code).get(_SPENT)
    if found is None:
        found = vars(code)[_SPENT] = Spent(code)
    return found


def _written(instr: ir.Instr) -> Iterable[ir.Register]:
    if isinstance(instr, ir.Unpack):
        return instr.dsts
    dst = getattr(instr, "dst", None)
    return () if dst is None else (dst,)


def _read(instr: ir.Instr) -> Iterator[ir.Register]:
    match instr:
        case ir.If():
            yield instr.cond
        case ir.For():
            yield instr.iterable
        case ir.While():
            yield instr.cond
        case ir.With():
            yield instr.context
        case ir.Try():
            yield from (handler.type for handler in instr.handlers if handler.type is not None)
        case ir.Return() | ir.Raise() | ir.Break() | ir.Continue():
            if (src := getattr(instr, "src", None)) is not None:
                yield src
        case _:
            yield from READS[type(instr)](instr)


def _inner(instr: ir.Instr) -> Iterator[ir.Block]:
    match instr:
        case ir.If():
            yield from (instr.then, instr.orelse)
        case ir.For():
            yield from (instr.body, instr.orelse)
        case ir.While():
            yield from (instr.test, instr.body, instr.orelse)
        case ir.With():
            yield instr.body
        case ir.Try():
            yield from (instr.body, instr.orelse, instr.final)
            for handler in instr.handlers:
                yield from (handler.test, handler.body)
