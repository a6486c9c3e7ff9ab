"""Modules that only define things: one way through their body is enough, since no more than one is gone on with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from retainlint import ir
from retainlint.symbolic.between import WORD, text_of
from retainlint.symbolic.machine import Interpreter
from retainlint.symbolic.state import State
from retainlint.symbolic.untaken import blocks

_NAME = re.compile(r"(\w+)\s*\(")
_TRAINS = re.compile(r"fit|train|run|main|step|backward|launch|spawn|grad")


def run(machine: Interpreter, begun: State, body: ir.Block) -> list[State]:
    """Run a module's statements; if they only define things, one way behind each of them: the first, from which the
    entries start anyway. Where that comes to a walk all the same, all ways are run."""
    state, steps, walks, dropped = begun.fork(), machine.steps, len(machine.waste.walks), False
    done: list[State] = []
    for at, instr in enumerate(body, 1):
        ended = machine.run((instr,), [state])
        going = [each for each in ended if each.flow is None]
        done += [each for each in ended if each.flow is not None]
        walked, forks = len(machine.waste.walks) > walks, len(going) > 1
        if walked and dropped:
            machine.imports.wasted += machine.steps - steps
            machine.steps = steps
            return machine.run(body, [begun])
        if walked or not going or (forks and not dropped and not only_defines(machine.program.module.body)):
            return done + machine.run(body[at:], going)
        dropped |= forks
        state = going[0]
    return [*done, state]


def only_defines(body: ir.Block) -> bool:
    """Whether a module's statements, outside of its functions, call nothing of its own that leads to a walk, and nothing
    that sounds like training."""
    walking = _walking({instr.code for instr in _outer(body) if isinstance(instr, ir.MakeFunction | ir.MakeClass)})
    for instr in _outer(body):
        if isinstance(instr, ir.Call):
            named = _NAME.findall(instr.span.text)
            if not named or any(name in walking or _TRAINS.search(name.lower()) for name in named):
                return False
    return True


def _walking(own: Iterable[ir.Code]) -> set[str]:
    """The names of functions and classes in which a walk may stand, or that speak of one of these."""
    found = {code.name for code in own if code.walks}
    left = [(code.name, set(WORD.findall(text_of(code)))) for code in own if not code.walks]
    while new := {name for name, words in left if name not in found and not found.isdisjoint(words)}:
        found |= new
    return found


def _outer(block: ir.Block) -> Iterator[ir.Instr]:
    """What stands in a module outside of its functions."""
    for instr in block:
        yield instr
        for inner in (instr.code.body,) if isinstance(instr, ir.MakeClass) else blocks(instr):
            yield from _outer(inner)
