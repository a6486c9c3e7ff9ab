"""Which arms of branches and which backward passes of the program no path came to: what stands there may still happen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from retainlint import ir, program
from retainlint.symbolic.state import code_text
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
        return frozenset(name for block in blocks for name in _mentioned(block))


def names_leading_to_backward(program: program.Program) -> frozenset[str]:
    """The names of walks, and of the program's functions that walk or call one of these."""
    found = BACKWARD_NAMES
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


def count(program: program.Program) -> int:
    """How many walks are written in a program, at most."""
    return sum(name in BACKWARD_NAMES for name in _mentioned(program.module.body, BACKWARD_NAMES))


def _functions(block: ir.Block, names: frozenset[str]) -> Iterator[ir.Code]:
    """Those that may speak of some names."""
    for instr in ir.walk(block):
        if isinstance(instr, ir.MakeFunction | ir.MakeClass) and _may_speak(instr.code, names):
            if isinstance(instr, ir.MakeFunction):
                yield instr.code
            yield from _functions(instr.code.body, names)


def _may_speak(code: ir.Code, names: frozenset[str] | None) -> bool:
    """Whether a function's body has to be looked at for some names."""
    return names is None or not isinstance(code, ir.Deferred) or not names.isdisjoint(code.words)


def _mentioned(block: ir.Block, names: frozenset[str] | None = None) -> Iterable[str]:
    """The names and attributes that a block reads, those of blocks and functions inside it too; or as many as there may be
    some names among."""
    for instr in ir.walk(block):
        if isinstance(instr, ir.Load | ir.GetAttr):
            yield instr.name
        elif isinstance(instr, ir.MakeFunction | ir.MakeClass) and _may_speak(instr.code, names):
            yield from _mentioned(instr.code.body, names)


_BACKWARD = re.compile(r".*\.\s*backward\s*\([^()]*\)", re.DOTALL)


def has_backward(code: ir.Code, backpropagated: set[Span]) -> bool:
    """Whether a walk stands in a function's own body that isn't among those that were executed; one of another library
    than torch is no walk."""
    return any(span not in backpropagated for span in _backward_passes(code.body)) and not code_text.speaks_another(
        code.span.source
    )


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
        waiting = set(code_text.WORD.findall(loop.span.source.text[loop.span.start : _end(loop)]))
        while new := (waiting - seen) & self._functions.keys():
            seen |= new
            for code in (code for name in new for code in self._functions[name]):
                waiting |= set(code_text.WORD.findall("".join(code_text.texts([code]))))
                if code.backward_passes:
                    yield from _backward_passes(code.body)

    @cached_property
    def _functions(self) -> dict[str, list[ir.Code]]:
        found: dict[str, list[ir.Code]] = {}
        for instr in ir.walk(self.program.module.body, classes=True):
            if isinstance(instr, ir.MakeFunction):
                found.setdefault(instr.code.name, []).append(instr.code)
        return found


def _end(loop: ir.For | ir.While) -> int:
    """Where the last thing in a loop's body ends."""
    return max((each.span.end for each in ir.walk(loop.body)), default=loop.span.end)


def _backward_passes(block: ir.Block) -> Iterator[Span]:
    return (i.span for i in ir.walk(block) if isinstance(i, ir.Call) and _BACKWARD.fullmatch(i.span.text))
