"""A program's own body: scripts that only set up a trainer of another module, and modules that only define things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from retainlint import ir
from retainlint.symbolic.exploration.entry_points import class_made_by, driven, entries, inherited
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.models.unknown import conventions, objects
from retainlint.symbolic.state import events, limits
from retainlint.symbolic.state.classes import of_program
from retainlint.symbolic.state.effort import OutOfSteps
from retainlint.symbolic.state.state import State


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
    return not any(
        name is None or name in backpropagating or conventions.TRAINING.takes(name.lower()) for name in _called(body)
    )


def _called(body: ir.Block) -> Iterator[str | None]:
    """What is called by name outside of functions, or in a lambda; None for what has no name, and nobody called it."""
    names: dict[ir.Register, str] = {}
    given: set[ir.Register] = set()
    for instr in ir.walk(body, classes=True):
        match instr:
            case ir.Load(dst=dst, name=name) | ir.GetAttr(dst=dst, name=name):
                names[dst] = name
            case ir.MakeFunction(code=code) if code.name in ir.NAMELESS:
                yield from (each.name for each in code.facts.calls)
            case ir.Call(dst=dst, func=func):
                given.add(dst)
                if func not in given:
                    yield names.get(func)


def _backpropagating(own: Iterable[ir.Code]) -> set[str]:
    """The names of functions and classes in which a walk may stand, or that speak of one of these."""
    found = {code.name for code in own if code.backward_passes}
    left = [(code.name, code.facts.names) for code in own if not code.backward_passes]
    while new := {name for name, words in left if name not in found and not found.isdisjoint(words)}:
        found |= new
    return found


Subclasses: TypeAlias = "frozenset[ir.Code]"

NO_SUBCLASSES: Subclasses = frozenset()


_MAKING = (ir.MakeFunction, ir.Store)


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
        f"the script was left: no backward pass within {limits.SCRIPT_START_STEPS} steps, so what its classes inherit was run",
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
    if not isinstance(script, ir.If) or script.orelse:
        return None
    made = {each.dst: each for each in body[:at] if isinstance(each, ir.Load | ir.Const | ir.Compare)}
    test = made.get(script.cond)
    if not isinstance(test, ir.Compare) or test.op != "==":
        return None
    sides = [made.get(test.left), made.get(test.right)]
    names = any(isinstance(each, ir.Load) and each.name == "__name__" for each in sides)
    return at if names and any(isinstance(each, ir.Const) and each.value == "__main__" for each in sides) else None


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
    if not own <= {method for method, _ in methods} or _calls_backward(script):
        return NO_SUBCLASSES
    spoken, names = module.facts, {method.name for method, _ in methods}
    if any(each.name in names and each.receiver not in ("", "self", "super()") for each in spoken.calls):
        return NO_SUBCLASSES
    known = {*spoken.defined, *(each.name for each in ir.walk(module.body) if isinstance(each, ir.Store))}
    known -= spoken.imported
    known.update(name for subclass in subclasses for name in _methods(state, subclass))
    return NO_SUBCLASSES if any(map(project.reaches, spoken.names - known)) else subclasses


def _calls_backward(block: ir.Block) -> bool:
    """Whether a call for gradients is written in a block, or in what it defines."""
    makes = (each.code for each in ir.walk(block) if isinstance(each, ir.MakeFunction | ir.MakeClass))
    inner = (each.name for code in makes for each in code.facts.calls)
    return any(
        name == "grad" or name.endswith("backward") for name in chain((name for _, name in ir.calls(block)), inner)
    )


def _methods(state: State, subclass: ir.Code) -> Iterator[str]:
    for each in of_program(state, class_made_by(state, subclass)):
        yield from each.attrs


def _open_names(state: State, block: ir.Block) -> None:
    """Bind the names that a block of the module would have bound, to what nobody knows."""
    names = state.writable().names
    for store in ir.walk(block):
        if isinstance(store, ir.Store) and store.name not in names:
            names[store.name] = objects.fresh(state, store.span, name=store.name)
