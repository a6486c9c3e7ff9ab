"""Chooses where to start, runs each entry within its budget, and sums up what was seen."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeAlias, TypeVar

from retainlint import ir
from retainlint.incident import (
    Condition,
    Conduct,
    Exploration,
    Freed,
    Incident,
    LeafModified,
    Modified,
    NoGraph,
    Turn,
    UnknownArgument,
    Verdict,
    Witness,
)
from retainlint.source import Source
from retainlint.symbolic import between, calls, unreached, witness
from retainlint.symbolic.classes import ancestry, find
from retainlint.symbolic.context import Args, OutOfSteps
from retainlint.symbolic.machine import Interpreter, Report
from retainlint.symbolic.models import lightning, unknown
from retainlint.symbolic.project import Project
from retainlint.symbolic.state import State
from retainlint.symbolic.values import Bound, ClassObj, Closure, Const, External, Instance, Ref, Value, Wrapped

BUDGET = 80_000
"""Steps an entry may take: the same on any machine."""
BUDGET_BEYOND = 40_000
"""The same where the program holds no walk itself, and only leads to those of the modules that it imports."""
FRAMES = 3_000
TWICE = 2
"""A method that a trainer calls again and again is run so often on one object."""


def explore(
    program: ir.Program, budget: int = BUDGET, project: Project | None = None, *, tells_caught: bool = False
) -> Exploration:
    """Run a module and every function in it that may walk and wasn't reached from elsewhere.

    `project` is asked for the modules that it imports; what it doesn't know, and all without it, stays unknown.
    With `tells_caught`, a failure that a `try` catches is one.
    """
    with _room_to_recurse():
        return _explore(Interpreter(program, budget, project, tells_caught=tells_caught))


@contextmanager
def _room_to_recurse() -> Iterator[None]:
    """Lift the recursion limit for a while: a call of the program takes a dozen of ours."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _explore(machine: Interpreter) -> Exploration:
    program = machine.program
    for gap in program.gaps:
        machine.gap(gap.span, gap.reason)
    imports = machine.imports
    imports.allowance, imports.share = calls.ALLOWANCE, calls.SHARE
    if not program.module.walks:
        machine.full = machine.budget = min(machine.full, BUDGET_BEYOND)
        imports.allowance, imports.share = calls.ALLOWANCE_BEYOND, calls.SHARE_BEYOND
    machine.waste.spoilt.clear()  # what can't be expressed spoils the entries that come there
    steps = 0
    start = _module(machine)
    objects: Objects = {}
    steps += machine.steps
    for code, owner in list(_entries(program.module, None)):
        missed = machine.thinned and code.walks and unreached.has_walks(code, machine.walked)
        if (code in machine.entered and not missed) or not code.walks:
            continue
        machine.steps, machine.budget = 0, machine.full
        _entry(machine, start, code, owner, objects)
        steps += machine.steps
    for code, heir in list(_inherited(start, program.module)):
        machine.steps, machine.budget = 0, machine.full
        _entry(machine, start, code, heir, objects)
        steps += machine.steps
    steps += machine.imports.wasted
    incidents = tuple(one for one in distinct(machine.reports) if not _is_unlikely(machine, one))
    verdict = Verdict.FAILS if incidents else Verdict.UNKNOWN if machine.gaps else Verdict.RUNS
    wasted = distinct(Report(incident, _proof(incident)) for incident in machine.waste.incidents(program))
    waste = tuple(i for i in wasted if not isinstance(i, Freed | Modified | NoGraph | LeafModified))
    return Exploration(verdict, incidents, tuple(machine.gaps), steps, waste, _conduct(machine))


def _proof(incident: Incident) -> Callable[[], Witness] | None:
    """What runs needs no proof; a call that torch refuses has one."""
    if isinstance(incident, UnknownArgument) and incident.fails:
        return partial(witness.of_argument, incident)
    return None


def _conduct(machine: Interpreter) -> Conduct:
    births = machine.graphs.births
    leaves = (births[node].moment.span for node in machine.passed if births[node].operation == "leaf")
    trained = (births[node].moment.span for node in machine.trained)
    return Conduct(frozenset(machine.walked), frozenset(leaves), frozenset(trained), frozenset(machine.slips))


def _module(machine: Interpreter) -> State:
    """Run the module's body; the state that later entries start from."""
    imports = machine.imports
    state = State(imports.base)
    state.opened = machine.waste.opened
    frame = imports.of[machine.program.source] = state.push(machine.program.module, None, None)
    if imports.project is not None:
        imports.frames[imports.project.entry] = frame
    state.frame.names["__name__"] = Const("__main__")
    begun = state.fork()
    try:
        ended = machine.run(machine.program.module.body, [state])
    except OutOfSteps:
        ended = _again(machine, lambda: machine.run(machine.program.module.body, [begun.fork()])) or []
    after = next((s for s in ended if s.flow is None), None) or (ended[0] if ended else begun)
    after.flow, after.grad, after.guards = None, True, 0
    after.turns, after.calls, after.stack = (), (), after.stack[:1]
    return after


def _again(machine: Interpreter, run: Callable[[], Result]) -> Result | None:
    """Run what took too many steps once more, if calls into other modules are to blame, and leave these unseen. A name
    that is imported costs nothing that would be found without it; where no walk stands, that is nothing."""
    imports, code = machine.imports, machine.running
    try:
        if imports.spent and code.walks:
            imports.closed, imports.wasted = True, imports.wasted + machine.steps
            machine.steps, machine.budget = 0, machine.full
            return run()
    except OutOfSteps:
        pass
    finally:
        imports.closed = False
    _say_spent(machine, code)
    return None


def _say_spent(machine: Interpreter, code: ir.Code) -> None:
    name = f"`{code.qualname}`" if code.qualname else "the module"
    machine.gap(code.span, f"{name} was not followed to its end: its budget of {machine.budget} steps ran out")


def _entries(code: ir.Code, owner: ir.Code | None) -> Iterator[tuple[ir.Code, ir.Code | None]]:
    """Functions and methods, each with the class whose body holds it."""
    for inner, is_class in _codes(code.body):
        if is_class:
            yield from _entries(inner, inner)
        else:
            yield inner, owner


def _inherited(state: State, code: ir.Code) -> Iterator[tuple[ir.Code, ir.Code]]:
    """Methods that walk and call what only an heir fills in, each with that heir."""
    for heir, is_class in _codes(code.body):
        cls = _class_of(state, heir) if is_class else None
        if cls is None:
            continue
        first, *bases = (obj for base in ancestry(state, cls) if isinstance(obj := state.get(base), ClassObj))
        own = [re.escape(name) for name, value in first.attrs.items() if isinstance(value, Closure)]
        calls_own = re.compile(rf"\bself\.(?:{'|'.join(own)})\(") if own else None
        for name, method in ((name, value) for base in bases for name, value in base.attrs.items()):
            if isinstance(method, Closure) and method.code.walks and find(state, cls, name) == method:
                if calls_own is not None and any(map(calls_own.search, between.texts([method.code]))):
                    yield method.code, heir


def _codes(block: ir.Block) -> Iterator[tuple[ir.Code, bool]]:
    for instr in block:
        match instr:
            case ir.MakeFunction(code=code):
                yield code, False
            case ir.MakeClass(code=code):
                yield code, True
            case ir.If(then=then, orelse=orelse):
                yield from _codes(then)
                yield from _codes(orelse)
            case ir.For(body=body) | ir.While(body=body) | ir.With(body=body):
                yield from _codes(body)
            case ir.Try(body=body, handlers=handlers, orelse=orelse, final=final):
                yield from _codes(body + orelse + final)
                for handler in handlers:
                    yield from _codes(handler.body)


Result = TypeVar("Result")
Objects: TypeAlias = "dict[ir.Code, tuple[list[State], Value]]"


def _entry(machine: Interpreter, start: State, code: ir.Code, owner: ir.Code | None, objects: Objects) -> None:
    """Run one function with unknown arguments; a method on an object of its class, which is made once."""
    machine.running = code
    machine.imports.spent_before += machine.imports.spent
    machine.imports.spent, machine.gpu_asked, reached = 0, False, len(machine.walked)
    try:
        _run_entry(machine, start, code, owner, objects)
        if machine.gpu_asked and len(machine.walked) == reached:  # perhaps it runs on a GPU alone
            machine.gpu_open = True
            _run_entry(machine, start, code, owner, objects)
    except OutOfSteps:
        machine.waste.spoil()
        _again(machine, lambda: _run_entry(machine, start, code, owner, objects))
    finally:
        machine.gpu_open = False


def _run_entry(machine: Interpreter, start: State, code: ir.Code, owner: ir.Code | None, objects: Objects) -> None:
    state = start.fork()
    state.choices, state.deeds = (), ()
    machine.waste.begin()
    if owner is None:
        between.open_empty(state)
        func = _held(state, machine, code)
        if func is not None:
            results = machine.call(state, func, Args(), code.span)
            machine.waste.leave(results)
            _inner(machine, results, code)
        return
    cls = _class_of(state, owner)
    if cls is None or _is_autograd_function(state, cls):
        return
    if owner not in objects:
        made = calls.instantiate(machine, state, cls, Args(open=True), owner.span)
        objects[owner] = ([s for s, _ in made if s.flow is None][:1], made[0][1])
    states, receiver = [s.fork() for s in objects[owner][0]], objects[owner][1]
    method = find(states[0], receiver, code.name) if states else None
    if method is None:
        return
    for number in range(1, TWICE + 1):
        for each in states:
            each.turns = (Turn(code.span, number, is_call=True),)
            _forget_unset(machine, each, receiver)
            between.forget_changed(each, receiver, [one for one, _ in _entries(owner, owner) if one is not code])
            if number > 1:
                between.forget_reset(each, receiver, code, list(_methods(each, cls)))
            between.open_empty(each)
        results = [way for each in states for way in _invoke(machine, each, method, receiver, code, number)]
        machine.waste.leave(results, receiver)
        states = [s for s, _ in results if s.flow is None][:6]


def _methods(state: State, cls: Ref) -> Iterator[ir.Code]:
    """The methods of a class and of its bases."""
    for base in ancestry(state, cls):
        held = state.get(base)
        for value in held.attrs.values() if isinstance(held, ClassObj) else ():
            func = value.func if isinstance(value, Wrapped) else value
            if isinstance(func, Closure):
                yield func.code


def _forget_unset(machine: Interpreter, state: State, receiver: Value) -> None:
    """Between two calls, others may have set the tensors that nothing seen so far has set; options stay as they are."""
    held = state.get(receiver)
    if isinstance(held, Instance) and isinstance(receiver, Ref):
        unset = {name for name, v in held.attrs.items() if isinstance(v, Ref) and v.id in machine.unset}
        lost = {name for name in unset if unknown.edges_in(machine, state, [held.attrs[name]])}
        state.set(receiver, Instance(held.cls, {name: v for name, v in held.attrs.items() if name not in lost}))


def _invoke(
    machine: Interpreter, state: State, method: Value, receiver: Value, code: ir.Code, number: int
) -> list[tuple[State, Value]]:
    if isinstance(method, Wrapped) and method.kind == "staticmethod":
        return machine.call(state, method.func, Args(), code.span)
    if lightning.is_step(state, receiver, code.name):
        return lightning.step(machine, state, receiver, method, code, number)
    return machine.call(state, Bound(method, receiver), Args(), code.span)


def _inner(machine: Interpreter, results: list[tuple[State, Value]], code: ir.Code) -> None:
    """Functions that the entry made and nobody called run last, in the frame that made them."""
    for state, value in results[:1]:
        if isinstance(value, Closure) and value.code not in machine.entered and state.flow is None:
            machine.call(state, value, Args(), code.span)


def _held(state: State, machine: Interpreter, code: ir.Code) -> Value | None:
    """The function value of a module-level def, decorated as it is."""
    frame = machine.imports.of[machine.program.source]
    found = state.frames[frame].names.get(code.name)
    inner = found
    while isinstance(inner, Wrapped):
        inner = inner.func
    if isinstance(inner, Closure) and inner.code is code:
        return found
    return Closure(code, frame)


def _class_of(state: State, owner: ir.Code) -> Ref | None:
    for id, obj in state.heap.items():
        if isinstance(obj, ClassObj) and obj.code is owner:
            return Ref(id)
    return None


def _is_autograd_function(state: State, cls: Ref) -> bool:
    """A walk inside an autograd.Function's own methods is no entry."""
    return External("torch.autograd.Function") in list(ancestry(state, cls))


# -- findings -----------------------------------------------------------------------------------------------------


def distinct(reports: Iterable[Report]) -> list[Incident]:
    """One incident a place: the one that needs the fewest conditions, proven."""
    places: dict[tuple[Source, int, type], list[Report]] = {}
    for report in reports:
        place = report.incident.primary
        places.setdefault((place.source, place.start, type(report.incident)), []).append(report)
    return [_simplest(found) for found in places.values()]


def _is_unlikely(machine: Interpreter, incident: Incident) -> bool:
    """A walk of what was begun as zeros, on a path that adds nothing to it, where others do: such a path is rarely one
    that the program can take."""
    if not isinstance(incident, NoGraph) or incident.reason != "leaf" or not incident.conditions:
        return False
    return any(record.walk.moment.span == incident.primary for _, record in machine.waste.walks)


def _simplest(reports: list[Report]) -> Incident:
    """The incident that needs the fewest conditions, once those are dropped that don't matter, with its witness."""
    clauses = dict.fromkeys(frozenset(report.incident.conditions) for report in reports)
    best = min(reports, key=lambda r: (len(_needed(r.incident, clauses)), len(r.incident.conditions)))
    needed = _needed(best.incident, clauses)
    conditions = tuple(c for c in dict.fromkeys(best.incident.conditions) if c in needed)
    proof = best.proof() if best.proof is not None else None
    witness = None if proof is None else replace(proof, choices=conditions)
    return replace(best.incident, conditions=conditions, witness=witness)


def _needed(incident: Incident, clauses: Iterable[frozenset[Condition]]) -> frozenset[Condition]:
    """An incident's conditions without those whose opposite leads to the same place, other things being equal."""
    needed = frozenset(incident.conditions)
    for condition in incident.conditions:
        opposite = Condition(condition.span, not condition.taken)
        rest = needed - {condition}
        if opposite in needed or any(opposite in other and other - {opposite} <= rest for other in clauses):
            needed = rest - {opposite}
    return needed
