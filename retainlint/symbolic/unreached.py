"""Which walks no path came to: a function is then run for itself, and a loop's counters are tried."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from retainlint import ir
from retainlint.source import Span
from retainlint.symbolic import between
from retainlint.symbolic.models import frameworks
from retainlint.symbolic.untaken import blocks

_WALK = re.compile(r".*\.\s*backward\s*\([^()]*\)", re.DOTALL)


def has_walks(code: ir.Code, walked: set[Span]) -> bool:
    """Whether a walk stands in a function's own body that isn't among those that were executed; one of another library
    than torch is no walk."""
    return any(span not in walked for span in _walks(code.body)) and not frameworks.speaks_another(code.span.source)


def makes_walks(code: ir.Code, entered: set[ir.Code]) -> bool:
    """Whether a function makes one that walks, and that nobody called."""
    return any(each.walks and each not in entered for each in made(code))


def made(code: ir.Code) -> list[ir.Code]:
    """The functions that a function makes, whatever happens."""
    return [each.code for each in code.body if isinstance(each, ir.MakeFunction)]


class Sites:
    """The walks of a program, and the names of its functions that lead there."""

    def __init__(self, program: ir.Program) -> None:
        self.program = program
        self.found: dict[int, tuple[ir.For | ir.While, frozenset[Span]]] = {}  # by the identity of a loop

    def may_walk(self, loop: ir.For | ir.While) -> bool:
        """Whether a loop's body leads to a walk of the program."""
        return bool(self._of(loop))

    def is_walked(self, loop: ir.For | ir.While, walked: set[Span]) -> bool:
        """Whether some path came to each walk that a loop's body leads to."""
        return self._of(loop) <= walked

    def _of(self, loop: ir.For | ir.While) -> frozenset[Span]:
        if id(loop) not in self.found:
            self.found[id(loop)] = loop, frozenset(self._walks_below(loop))
        return self.found[id(loop)][1]

    def _walks_below(self, loop: ir.For | ir.While) -> Iterator[Span]:
        yield from _walks(loop.body)
        seen: set[str] = set()
        waiting = set(between.WORD.findall(loop.span.source.text[loop.span.start : _end(loop)]))
        while new := (waiting - seen) & self._functions.keys():
            seen |= new
            for code in (code for name in new for code in self._functions[name]):
                waiting |= set(between.WORD.findall("".join(between.texts([code]))))
                if code.walks:
                    yield from _walks(code.body)

    @cached_property
    def _functions(self) -> dict[str, list[ir.Code]]:
        found: dict[str, list[ir.Code]] = {}
        for code in _codes(self.program.module.body):
            found.setdefault(code.name, []).append(code)
        return found


def _end(loop: ir.For | ir.While) -> int:
    """Where the last thing in a loop's body ends."""
    return max((span.end for span in spans(loop.body)), default=loop.span.end)


def spans(block: ir.Block) -> Iterator[Span]:
    """Where the instructions of a block stand, and those inside them."""
    for instr in block:
        yield instr.span
        for inner in blocks(instr):
            yield from spans(inner)


def _codes(block: ir.Block) -> Iterator[ir.Code]:
    """The functions of a module, and the methods of its classes."""
    for instr in block:
        if isinstance(instr, ir.MakeFunction):
            yield instr.code
        elif isinstance(instr, ir.MakeClass):
            yield from _codes(instr.code.body)
        for inner in blocks(instr):
            yield from _codes(inner)


def _walks(block: ir.Block) -> Iterator[Span]:
    for instr in block:
        if isinstance(instr, ir.Call) and _WALK.fullmatch(instr.span.text):
            yield instr.span
        for inner in blocks(instr):
            yield from _walks(inner)
