"""Which arms of branches and which backward passes of the program no path came to: what stands there may still happen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from retainlint import ir, program
from retainlint.symbolic.state import known_libraries
from retainlint.text.source import Span

BACKWARD_NAMES = frozenset({"backward", "manual_backward", "autograd"})
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
        return frozenset(name for block in blocks for name in ir.names(block))


def names_leading_to_backward(program: program.Program) -> frozenset[str]:
    """The names of walks, and of the program's functions that walk or call one of these."""
    found = BACKWARD_NAMES
    while more := {code.name for code in _functions(program.module.body, found) if code.name not in found}:
        found |= more
    return found


def count(program: program.Program) -> int:
    """How many walks are written in a program, at most."""
    codes = (program.module, *_functions(program.module.body, BACKWARD_NAMES, classes=True))
    read = (each for code in codes for each in ir.walk(code.body) if isinstance(each, ir.Load | ir.GetAttr))
    return sum(each.name in BACKWARD_NAMES for each in read)


def _functions(block: ir.Block, names: frozenset[str], *, classes: bool = False) -> Iterator[ir.Code]:
    """Those that speak of some names; the same of classes, if these are asked for."""
    for instr in ir.walk(block):
        if isinstance(instr, ir.MakeFunction | ir.MakeClass) and not names.isdisjoint(instr.code.facts.names):
            if classes or isinstance(instr, ir.MakeFunction):
                yield instr.code
            yield from _functions(instr.code.body, names, classes=classes)


def has_backward(code: ir.Code, backpropagated: set[Span]) -> bool:
    """Whether a walk stands in a function's own body that isn't among those that were executed; one of another library
    than torch is no walk."""
    return any(
        span not in backpropagated for span in _backward_passes(code.body)
    ) and not known_libraries.speaks_another(code.span.source)


def makes_backward(code: ir.Code, entered: set[ir.Code]) -> bool:
    """Whether a function makes one that walks, and that nobody called."""
    return any(each.backward_passes and each not in entered for each in made(code))


def made(code: ir.Code) -> list[ir.Code]:
    """The functions that a function makes, whatever happens."""
    return [each.code for each in code.body if isinstance(each, ir.MakeFunction)]


class Sites:
    """The walks of a program, and the names of its functions that lead there."""

    def __init__(self, program: program.Program) -> None:
        self.program = program
        self.found: dict[int, tuple[ir.For | ir.While, frozenset[Span]]] = {}  # by the identity of a loop

    @cached_property
    def leading(self) -> frozenset[str]:
        """The names of the functions that lead there."""
        return names_leading_to_backward(self.program)

    def may_backpropagate(self, loop: ir.For | ir.While) -> bool:
        """Whether a loop's body leads to a walk of the program."""
        return bool(self._of(loop))

    def is_backpropagated(self, loop: ir.For | ir.While, backpropagated: set[Span]) -> bool:
        """Whether some path came to each walk that a loop's body leads to."""
        return self._of(loop) <= backpropagated

    def _of(self, loop: ir.For | ir.While) -> frozenset[Span]:
        if id(loop) not in self.found:
            self.found[id(loop)] = loop, frozenset(self._backward_below(loop))
        return self.found[id(loop)][1]

    def _backward_below(self, loop: ir.For | ir.While) -> Iterator[Span]:
        yield from _backward_passes(loop.body)
        seen: set[str] = set()
        waiting = set(ir.names((loop,)))
        while new := (waiting - seen) & self._functions.keys():
            seen |= new
            for code in (code for name in new for code in self._functions[name]):
                waiting |= code.facts.names
                if code.backward_passes:
                    yield from _backward_passes(code.body)

    @cached_property
    def _functions(self) -> dict[str, list[ir.Code]]:
        found: dict[str, list[ir.Code]] = {}
        for instr in ir.walk(self.program.module.body, classes=True):
            if isinstance(instr, ir.MakeFunction):
                found.setdefault(instr.code.name, []).append(instr.code)
        return found


def _backward_passes(block: ir.Block) -> Iterator[Span]:
    return (call.span for call, name in ir.calls(block) if name == "backward")
