"""Chooses where to start, runs each entry within its budget, and sums up what was seen."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, FunctionType
from typing import TypeVar, cast

from retainlint import ir, program
from retainlint.incident import Definition, Entry, Exploration
from retainlint.startup.process import room_to_recurse
from retainlint.startup.records import replace
from retainlint.symbolic.detectors import Detectors, claims_of
from retainlint.symbolic.exploration import findings, fitting_arguments, given_arguments, script_entry, unrolled
from retainlint.symbolic.exploration.drivers import Objects, enter, prepare
from retainlint.symbolic.exploration.entry_points import (
    by_runner,
    callers,
    callers_first,
    changing,
    conducted,
    entries,
    inherited,
    no_leads,
    receivers,
)
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.state import coverage, events, limits, path_choice
from retainlint.symbolic.state.effort import OutOfSteps
from retainlint.symbolic.state.imports import Project
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const
from retainlint.text.source import Span

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., object])


def explore(
    program: program.Program,
    budget: int = limits.ENTRY_STEPS,
    project: Project | None = None,
    *,
    tells_caught: bool = False,
    left_out: Container[Definition] = (),
    proves: bool = True,
    unrolls: bool = True,
) -> Exploration:
    """Run a module and every function in it that may walk and wasn't reached from elsewhere.

    `project` is asked for the modules that it imports; what it doesn't know, and all without it, stays unknown.
    With `tells_caught`, a failure that a `try` catches is one. What is `left_out` isn't run for itself. Witnesses are
    written if it `proves`: who only asks whether something fails needs none. If it `unrolls`, a script whose loops were
    cut short is run once more.
    """
    with room_to_recurse(_depth() + limits.INTERPRETER_FRAMES):  # a call of the program takes a dozen of ours
        machine = Interpreter(program, budget, project, tells_caught=tells_caught, listeners=Detectors)
        try:
            found = _explore(machine, left_out, proves)
            shortened = machine.shortened
        finally:
            machine.close()
        if not shortened:
            return found
        if not unrolls:
            return replace(found, shortened=True)
        machine = Interpreter(
            program, limits.UNROLLED_STEPS, project, tells_caught=tells_caught, unrolls=True, listeners=Detectors
        )
        machine.graphs.effort.charge(found.effort)
        try:
            return unrolled.merged(found, *_unrolled(machine, proves))
        finally:
            machine.close()


EXHAUSTED = (OutOfSteps, RecursionError)
"""What ends an entry, which is a gap; the others are run nevertheless."""


def with_room(function: Function) -> Function:
    """The same function, with a frame so large that the frames of what it calls fit behind it, where there is memory for it.

    CPython 3.11 and later take the memory of frames from the system in pieces of 16 KiB, some fifteen frames, and give
    a piece back with its last frame: a call that happens to stand at an edge, in a loop, asks the system each time.
    """
    code = function.__code__.replace(co_stacksize=limits.FRAME_WORDS)
    roomy = FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)

    def with_a_look(*arguments: object) -> object:
        try:
            mmap.mmap(-1, 2 * 8 * limits.FRAME_WORDS).close()
        except (OSError, MemoryError):
            return function(*arguments)
        return roomy(*arguments)

    return cast(Function, with_a_look)


def _depth() -> int:
    """How many frames the stack has."""
    frame: FrameType | None = sys._getframe()
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


@with_room
def _unrolled(machine: Interpreter, proves: bool) -> tuple[Exploration, bool, frozenset[Span]]:
    """What the script comes to with all its iterations, and whether there is but one way through it, as `unrolled.run` says."""
    machine.imports.allowance = limits.UNROLLED_STEPS
    is_only, often = unrolled.run(machine, _begun(machine))
    machine.entries.append(_noted(machine, machine.program.module))
    return findings.told(machine, proves), is_only, often


@with_room
def _explore(machine: Interpreter, left_out: Container[Definition], proves: bool) -> Exploration:
    program = machine.program
    for gap in program.gaps:
        machine.gap(gap.span, gap.reason)
    imports = machine.imports
    imports.allowance, imports.share = limits.IMPORTED_CALL_STEPS, limits.IMPORTED_STEPS_OF_ENTRY
    if not program.module.backward_passes:
        machine.full = machine.budget = min(machine.full, limits.ENTRY_STEPS_BEYOND)
        imports.allowance, imports.share = limits.IMPORTED_CALL_STEPS_BEYOND, limits.IMPORTED_STEPS_OF_ENTRY_BEYOND
        machine.chooser.breadth = path_choice.BEYOND
    claims_of(machine).spoilt.clear()  # what can't be expressed spoils the entries that come there
    start, left = _module(machine)
    if imports.told and machine.backward_count and all(each.incident.conditions for each in machine.reports):
        machine.shortened = True
    machine.entries.append(_noted(machine, program.module))
    objects: Objects = {}
    backpropagating: set[ir.Code | None] = set()

    def run(code: ir.Code, owner: ir.Code | None, steps: int) -> None:
        if _definition(code) in left_out:
            backpropagating.add(owner)  # as it did when it was run
            return
        full, machine.full = machine.full, min(machine.full, steps)
        machine.begin_entry()
        known = machine.backward_count
        if owner is not None and owner in left:
            prepare(machine, start, owner, objects)
        _entry(machine, start, code, owner, objects)
        machine.full = full
        backpropagating.update([owner] if machine.backward_count > known else ())

    patience = Patience(machine)
    inheriting = _run_own(machine, start, left, run, patience)
    for owner, begun in changing(program.module):
        if begun not in machine.entered and _definition(begun) not in left_out and patience.is_left:
            with patience.spent(), suppress(*EXHAUSTED):
                machine.begin_entry()
                prepare(machine, start, owner, objects)
            machine.entries.append(_noted(machine, begun))
    for code, subclass in list(inherited(start, program.module)):
        if code not in inheriting and not _was_led(machine, code, subclass):
            run(code, subclass, limits.ENTRY_STEPS)
    if not left <= backpropagating:
        machine.running = program.module
        machine.begin_entry()
        imports.begin()
        start, left = _module(machine, whole=True)
        machine.entries.append(_noted(machine, program.module))
    _callers(machine, start, objects, left or None, patience, left_out)
    return findings.told(machine, proves)


def _run_own(
    machine: Interpreter,
    start: State,
    left: script_entry.Subclasses,
    run: Callable[[ir.Code, ir.Code | None, int], None],
    patience: Patience,
) -> set[ir.Code]:
    """Run the functions and methods of the module, callers first, unless they were reached from elsewhere, and what its
    classes inherit and nobody calls; the methods of these."""
    project = machine.imports.project
    led = conducted(start, machine.program.module, project.reaches if project is not None else no_leads)
    led = {(code, owner): own for (code, owner), own in led.items() if code not in own or owner not in left}
    inheriting, reached = {code for code, _ in led}, frozenset(machine.entered)
    may_rest = machine.imports.told or machine.gpu_missed
    for code, owner in by_runner(start, callers_first([*led, *entries(machine.program.module, None)], led)):
        own = led.get((code, owner), set())
        if owner is not None and own and code not in own:
            missed = any(coverage.has_backward(each, machine.backpropagated) for each in machine.entered)
            if reached.isdisjoint(own) and (machine.entered.isdisjoint(own) or missed) and patience.is_left:
                with patience.spent():
                    run(code, owner, limits.ENTRY_STEPS)
            continue
        if not code.backward_passes:
            if code not in machine.entered and patience.is_left:
                with patience.spent():
                    for each in receivers(start, code, owner):
                        run(code, each, limits.ENTRY_STEPS)
            continue
        # whom the script never called was called by methods that were run by themselves, on objects as they are when made
        missed = (
            coverage.has_backward(code, machine.backpropagated)
            if owner is not None and code not in reached and code not in machine.scripted
            else machine.pruned and claims_of(machine).is_cut_short(code, machine.backpropagated)
        )
        if (
            missed
            or findings.takes_much(machine, code)
            or code not in machine.entered
            or coverage.makes_backward(code, machine.entered)
        ):
            run(code, owner, limits.ENTRY_STEPS)
        elif may_rest and coverage.rests_on_unknown(code, machine.unjudged):
            run(code, owner, limits.AGAIN_STEPS)
    return inheriting


def _was_led(machine: Interpreter, code: ir.Code, subclass: ir.Code) -> bool:
    """Whether somebody has called an inherited method on an object of the heir: it came to what that fills in."""
    own = [
        method for method, owner in entries(subclass, subclass) if owner is subclass and method.name in code.facts.own
    ]
    return code in machine.entered and bool(own) and machine.entered.issuperset(own)


def _callers(
    machine: Interpreter,
    start: State,
    objects: Objects,
    owners: Container[ir.Code | None] | None,
    patience: Patience,
    left_out: Container[Definition],
) -> None:
    """Run those who call what walks in other modules, or of them only the methods of some classes."""
    imports = machine.imports
    imports.allowance, imports.share = limits.IMPORTED_CALL_STEPS, limits.IMPORTED_STEPS_OF_ENTRY
    leads = imports.project.leads if imports.project is not None and not owners else no_leads
    machine.full, machine.chooser.breadth = min(machine.full, limits.ENTRY_STEPS_BEYOND), path_choice.BEYOND
    for code, owner in callers(list(entries(machine.program.module, None)), leads, machine.leading):
        wanted = (owners is None or owner in owners) and code not in machine.entered and patience.is_left
        if wanted and _definition(code) not in left_out:
            with patience.spent():
                machine.begin_entry()
                _entry(machine, start, code, owner, objects)


class Patience:
    """How many steps are left for entries that only call what walks: few, once they show nothing new."""

    def __init__(self, machine: Interpreter) -> None:
        self._machine = machine
        self._steps = self._quiet = 0

    @property
    def is_left(self) -> bool:
        return self._steps < limits.CALLERS_STEPS and self._quiet < limits.QUIET_CALLERS_STEPS

    @contextmanager
    def spent(self) -> Iterator[None]:
        """Around such an entry."""
        machine = self._machine
        known = len(machine.reports), len(machine.backpropagated)
        yield
        self._steps += machine.steps
        is_new = known != (len(machine.reports), len(machine.backpropagated))
        self._quiet = 0 if is_new else self._quiet + machine.steps


def _module(machine: Interpreter, *, whole: bool = False) -> tuple[State, script_entry.Subclasses]:
    """Run the module's body: the state that later entries start from, and the heirs in whose place its script was left;
    none if it is to be run as a `whole`."""
    begun = _begun(machine)
    ended, left = _body(machine, begun, whole=whole)
    machine.leave_entry(ended)
    after = next((s for s in ended if s.flow is None), None) or (ended[0] if ended else begun)
    after.flow, after.grad, after.guards = None, True, 0
    after.iterations, after.calls, after.stack = (), (), after.stack[:1]
    return after, left


def _begun(machine: Interpreter) -> State:
    """Before the module's body."""
    imports = machine.imports
    state = State(imports.base)
    frame = imports.of[machine.program.source] = state.push(machine.program.module, None, None)
    if imports.project is not None:
        imports.frames[imports.project.entry] = frame
    state.frame.names["__name__"] = Const("__main__")
    given_arguments.load_fixtures(machine, state)
    return state.fork()


def _body(machine: Interpreter, begun: State, *, whole: bool) -> tuple[list[State], script_entry.Subclasses]:
    try:
        return script_entry.run(machine, begun, whole=whole)
    except EXHAUSTED:
        return _again(
            machine, lambda: machine.run(machine.program.module.body, [begun.fork()])
        ) or [], script_entry.NO_SUBCLASSES


def _again(machine: Interpreter, run: Callable[[], Result]) -> Result | None:
    """Run what took too many steps once more, if calls into other modules are to blame, or it didn't come to each walk of its
    own: along few paths, that come to its end, and if that doesn't help, with those calls left unseen. A name that is imported
    costs nothing that would be found without it; where no walk stands, that is nothing."""
    imports, chooser, code = machine.imports, machine.chooser, machine.running
    own = chooser.breadth
    is_whole = machine.full > limits.AGAIN_STEPS
    is_worth_it = code.backward_passes and (imports.spent or coverage.has_backward(code, machine.backpropagated))
    ways = ((path_choice.BEYOND, False), (own, True))[: 1 + bool(imports.spent)] if is_worth_it and is_whole else ()
    for breadth, closed in ways[own == path_choice.BEYOND :]:
        chooser.breadth, imports.closed = breadth, closed
        imports.begin()
        imports.wasted += machine.steps
        machine.begin_entry()
        try:
            return run()
        except EXHAUSTED:
            pass
        finally:
            chooser.breadth, imports.closed = own, False
    _say_spent(machine, code)
    return None


def _say_spent(machine: Interpreter, code: ir.Code) -> None:
    name = f"`{code.qualname}`" if code.qualname else "the module"
    spent = f"its budget of {min(machine.budget, machine.full)} steps ran out"
    if machine.graphs.effort.is_spent:
        spent = "its paths take too much to compare"
    elif machine.steps <= machine.budget:
        spent = "it is nested too deeply"
    reason = f"{name} was not followed to its end: {spent}"
    machine.gap(code.span, reason)
    machine.cut_short[code] = reason


def _entry(machine: Interpreter, start: State, code: ir.Code, owner: ir.Code | None, objects: Objects) -> None:
    """Run one function with unknown arguments; a method on an object of its class, which is made once."""
    machine.running = code
    machine.alone = code.qualname if owner is None else f"{owner.qualname}.{code.name}"
    machine.imports.spent_before += machine.imports.spent + machine.imports.spent_on_graphs
    machine.imports.begin()
    machine.gpu_missed, asked, reached = False, machine.gpu_asked, len(machine.backpropagated)
    machine.efforts.clear()
    try:
        ended = enter(machine, start, code, owner, objects)
        is_bare = machine.gpu_asked > asked and len(machine.backpropagated) == reached
        if is_bare or machine.gpu_missed:  # perhaps it runs on a GPU alone
            machine.gpu_open = True
            ended = enter(machine, start, code, owner, {} if machine.gpu_missed else objects)
            machine.gpu_open = False
        if coverage.has_backward(code, machine.backpropagated) or (
            not ended and coverage.makes_backward(code, machine.entered)
        ):
            machine.forced = True
            with machine.chooser.narrowed(
                path_choice.BEYOND if machine.steps > limits.FORCED_ENTRY_STEPS else path_choice.OWN
            ):
                enter(machine, start, code, owner, objects, forced=True)
        _fitted(machine, start, code, owner)
    except EXHAUSTED:
        machine.events.emit(events.NotFollowed())
        _again(machine, lambda: enter(machine, start, code, owner, objects))
    finally:
        machine.gpu_open = machine.forced = False
        machine.entries.append(_noted(machine, code))


def _fitted(machine: Interpreter, start: State, code: ir.Code, owner: ir.Code | None) -> None:
    """Run it once more for the only network of the file, if that fits what it is given."""
    found = fitting_arguments.fitting(machine, start, code, owner)
    if found is not None:
        param, network, cls = found
        machine.fitting, machine.guessed = (param, cls), f"`{param.name}` is a `{network.name}`, the only network here"
        machine.budget = min(machine.budget, machine.steps + limits.AGAIN_STEPS)
        try:
            with suppress(*EXHAUSTED):
                enter(machine, start, code, owner, {})
        finally:
            machine.fitting, machine.guessed = None, ""


def _noted(machine: Interpreter, code: ir.Code) -> Entry:
    """What was run for itself just now."""
    reached = frozenset(map(_definition, machine.reached))
    machine.reached.clear()
    machine.alone = ""
    return Entry(_definition(code), reached, machine.steps)


def _definition(code: ir.Code) -> Definition:
    return code.span.source.name, code.qualname
