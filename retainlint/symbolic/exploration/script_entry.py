"""A program's own body: scripts that only set up a trainer of another module, and modules that only define things."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from retainlint import ir
from retainlint.symbolic.exploration.entry_points import class_made_by, driven, entries, inherited
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state import code_text, events, limits
from retainlint.symbolic.state.classes import ancestry
from retainlint.symbolic.state.code_text import WORD, text_of
from retainlint.symbolic.state.protocol import OutOfSteps
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import ClassObj

_NAME = re.compile(r"(\w+)\s*\(")

_TRAINS = re.compile(r"fit|train|run|main|step|backward|launch|spawn|grad")


def run_definitions(machine: Interpreter, begun: State, body: ir.Block) -> list[State]:
    """Run a module's statements; if they only define things, one way behind each of them: the first, from which the
    entries start anyway. Where that comes to a walk all the same, all ways are run."""
    state, steps, backward_passes, dropped = begun.fork(), machine.steps, machine.backward_count, False
    done: list[State] = []
    for at, instr in enumerate(body, 1):
        ended = machine.run((instr,), [state])
        going = [each for each in ended if each.flow is None]
        done += [each for each in ended if each.flow is not None]
        backpropagated, forks = machine.backward_count > backward_passes, len(going) > 1
        if backpropagated and dropped:
            machine.imports.wasted += machine.steps - steps
            machine.steps = steps
            return machine.run(body, [begun])
        if backpropagated or not going or (forks and not dropped and not only_defines(machine.program.module.body)):
            return done + machine.run(body[at:], going)
        dropped |= forks
        state = going[0]
    return [*done, state]


def only_defines(body: ir.Block) -> bool:
    """Whether a module's statements, outside of its functions, call nothing of its own that leads to a walk, and nothing
    that sounds like training."""
    backpropagating = _backpropagating(
        {instr.code for instr in ir.walk(body, classes=True) if isinstance(instr, ir.MakeFunction | ir.MakeClass)}
    )
    for instr in ir.walk(body, classes=True):
        if isinstance(instr, ir.Call):
            named = _NAME.findall(instr.span.text)
            if not named or any(name in backpropagating or _TRAINS.search(name.lower()) for name in named):
                return False
    return True


def _backpropagating(own: Iterable[ir.Code]) -> set[str]:
    """The names of functions and classes in which a walk may stand, or that speak of one of these."""
    found = {code.name for code in own if code.backward_passes}
    left = [(code.name, set(WORD.findall(text_of(code)))) for code in own if not code.backward_passes]
    while new := {name for name, words in left if name not in found and not found.isdisjoint(words)}:
        found |= new
    return found


Subclasses: TypeAlias = "frozenset[ir.Code]"

NO_SUBCLASSES: Subclasses = frozenset()


_GUARD = re.compile(r"""__name__\s*==\s*["']__main__["']|["']__main__["']\s*==\s*__name__""")


_MAKING = (ir.MakeFunction, ir.Store)


_DEFINED = re.compile(r"\b(?:def|class)[ \t]+(\w+)")

_BACKWARD = re.compile(r"(?:backward|\bgrad)\s*\(")


def run(machine: Interpreter, begun: State, *, whole: bool = False) -> tuple[list[State], Subclasses]:
    """Run a module's body; how it ended, and the heirs whose methods are to be run in the place of its script, if that was
    left. OutOfSteps if it takes too many steps."""
    body, state = machine.program.module.body, begun.fork()
    at = None if whole or machine.imports.project is None else guard(body)
    if at is None:
        return run_definitions(machine, state, body), NO_SUBCLASSES
    script = body[at : at + 1]
    ended = run_definitions(machine, state, body[:at] + body[at + 1 :])
    before = [each for each in ended if each.flow is None]
    subclasses = _leads_to(machine, before[0], script) if before else NO_SUBCLASSES
    after = _script(machine, before, script) if subclasses else machine.run(script, before)
    if after is None:
        return before, subclasses
    return [each for each in ended if each.flow is not None] + after, NO_SUBCLASSES


def _script(machine: Interpreter, states: list[State], block: ir.Block) -> list[State] | None:
    """Run the last block of a module; None if it is left, since what its heirs do shows what it leads to."""
    known, machine.budget = machine.backward_count, machine.steps + limits.SCRIPT_START_STEPS
    try:
        return machine.run(block, [each.fork() for each in states])
    except OutOfSteps:
        machine.budget = machine.full
        if machine.backward_count > known:
            return machine.run(block, states)
    finally:
        machine.budget = machine.full
    machine.events.emit(events.NotFollowed())
    machine.gap(
        block[0].span,
        f"the script was left: no walk within {limits.SCRIPT_START_STEPS} steps, so what its classes inherit was run",
        spoils=False,
    )
    for each in states:
        _open_names(each, block)
    return None


def guard(body: ir.Block) -> int | None:
    """Where in a module's body stands what only runs where the module is the program, if behind it nothing is done but
    that functions are made."""
    at = next((index for index, each in reversed([*enumerate(body)]) if type(each) not in _MAKING), len(body))
    script = body[at] if at < len(body) else None
    alone = isinstance(script, ir.If) and not script.orelse and _GUARD.fullmatch(script.span.text.strip("()"))
    return at if alone else None


def _leads_to(machine: Interpreter, state: State, script: ir.Block) -> Subclasses:
    """The classes whose methods a trainer of another module calls, if they are all that a script leads to: all that its
    module speaks of, and from which a walk may be reached, are its own names, which stand for no more than its words, and
    the methods of these heirs, each walk of its own stands in such a method, and it leaves it to the trainer to call them."""
    module, project = machine.program.module, machine.imports.project
    methods = (*inherited(state, module), *driven(state, module))
    subclasses = frozenset(subclass for _, subclass in methods)
    if project is None or not subclasses:
        return NO_SUBCLASSES
    own = {code for code, _ in entries(module, None) if code.backward_passes}
    text = module.span.source.text
    if not own <= {method for method, _ in methods} or _BACKWARD.search(text, script[0].span.start):
        return NO_SUBCLASSES
    if re.search(rf"(?<!self)(?<!super\(\))\.(?:{'|'.join({method.name for method, _ in methods})})\(", text):
        return NO_SUBCLASSES
    known = {*_DEFINED.findall(text), *(each.name for each in ir.walk(module.body) if isinstance(each, ir.Store))}
    known -= {
        name
        for instr in ir.walk(module.body)
        if isinstance(instr, ir.Import)
        for name in code_text.WORD.findall(instr.span.text)
    }
    known.update(name for subclass in subclasses for name in _methods(state, subclass))
    return NO_SUBCLASSES if any(map(project.reaches, set(code_text.WORD.findall(text)) - known)) else subclasses


def _methods(state: State, subclass: ir.Code) -> Iterator[str]:
    cls = class_made_by(state, subclass)
    for base in () if cls is None else ancestry(state, cls):
        held = state.get(base)
        yield from held.attrs if isinstance(held, ClassObj) else ()


def _open_names(state: State, block: ir.Block) -> None:
    """Bind the names that a block of the module would have bound, to what nobody knows."""
    names = state.writable().names
    for store in ir.walk(block):
        if isinstance(store, ir.Store) and store.name not in names:
            names[store.name] = objects.fresh(state, store.span, name=store.name)
