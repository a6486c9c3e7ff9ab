"""Runs one function with arguments that nobody knows, or a method on an object of its class, as a trainer would, again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from retainlint import ir
from retainlint.incident import Iteration
from retainlint.startup.records import replace
from retainlint.symbolic.exploration import fitting_arguments, given_arguments
from retainlint.symbolic.exploration.entry_points import class_made_by, entries, of_local_classes
from retainlint.symbolic.interpreter import calls
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.interpreter.stub_modules import runner
from retainlint.symbolic.models.frameworks import test_runners
from retainlint.symbolic.models.unknown import conventions
from retainlint.symbolic.models.unknown.objects import forget_unset
from retainlint.symbolic.state import classes, coverage, events, havoc, limits, path_choice
from retainlint.symbolic.state.classes import find, is_function
from retainlint.symbolic.state.protocol import Args, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    NONE,
    Bound,
    Closure,
    Const,
    DictObj,
    GeneratorObj,
    Instance,
    ListObj,
    Ref,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import INITIALISERS

Objects: TypeAlias = "dict[ir.Code, tuple[list[State], Value]]"
"""The objects that were made of the program's classes, each with the states in which it may be; by the module, that in which a test
has left what the next one is given, too."""


def enter(
    machine: Interpreter, start: State, code: ir.Code, owner: ir.Code | None, objects: Objects, *, forced: bool = False
) -> bool:
    """Run an entry, and the methods of classes that it made for others to use; `anyhow`, with other values than a caller
    who says nothing gives it, or than its object has when it is made. Whether a path came to its end."""
    module = machine.program.module
    is_test = owner is None and given_arguments.is_test(machine, start, code)
    state = (objects[module][0][0] if is_test and module in objects else start).fork()
    state.choices, state.gradient_events = (), ()
    state.grad = not _finds_gradients_off(code)
    machine.events.emit(events.EntryBegun())
    given = Args(open=forced)
    if owner is None:
        results = _function(machine, state, code, given)
        ended = [each for each, _ in results if each.flow is None]
        if is_test and ended and given_arguments.are_shared(machine, ended[0]):
            objects[module] = ended[:1], NONE  # the next test is given what this one had
    else:
        results = _method(machine, state, code, owner, {} if forced else objects, given)
    made: Objects = {}
    for method, cls in list(of_local_classes(code)):
        after = next((s for s, _ in results if s.flow is None and class_made_by(s, cls) is not None), None)
        if after is not None and method not in machine.entered:
            _method(machine, after.fork(), method, cls, made, Args())
    return any(state.flow is None for state, _ in results)


def _function(machine: Interpreter, state: State, code: ir.Code, given: Args) -> Results:
    havoc.open_empty(state)
    func = _held(state, machine, code)
    if func is None:
        return []
    fixtures = given_arguments.of_fixtures(machine, state, code)  # which hold what they give
    named = given_arguments.by_annotations(machine, state, code, is_method=False)
    parsed, before = given_arguments.of_parser(machine, state, code), frozenset(machine.entered)
    given = replace(given, named=(*named, *fitting_arguments.given(machine, state, code), *parsed, *fixtures))
    results = machine.call(state, func, given, code.span)
    for each, value in results:
        if each.flow is None and isinstance(each.get(value), GeneratorObj):
            machine.drain(each, value)  # somebody will loop over it
    machine.scripted |= machine.entered - before if parsed else set()
    machine.leave_entry(state for state, _ in results)
    machine.events.emit(events.EntryEnded(results))
    _inner(machine, results, code)
    return results


def _method(
    machine: Interpreter, state: State, code: ir.Code, owner: ir.Code, objects: Objects, given: Args
) -> Results:
    """Call a method again and again on one object; how the last call ended."""
    cls = class_made_by(state, owner)
    if cls is None or is_function(state, cls):  # whose methods are run where torch calls them
        return []
    if owner not in objects:
        _make(machine, state, cls, owner, objects)
    states, receiver = [s.fork() for s in objects[owner][0]], objects[owner][1]
    for each in states:
        each.grad = state.grad
    method = find(states[0], receiver, code.name) if states else None
    if method is None:
        return []
    if test_runners.is_test(states[0], receiver, code.name) or given_arguments.is_test(machine, states[0], code):
        tested = _test(machine, states, method, receiver, code, given)
        ended = [s for s, _ in tested if s.flow is None]
        if ended and (
            test_runners.has_class_setup(states[0], receiver) or given_arguments.are_shared(machine, ended[0])
        ):
            objects[owner] = ended[:1], receiver  # the next test finds what this one did to what its class holds
        return tested
    results: Results = []
    methods = list(_methods(states[0], cls))
    runs = _runs(code, methods)
    known = {*_methods_of_subclasses(states[0], cls)}
    around = [each for each, _ in entries(machine.program.module, None) if each not in known]
    feeding = havoc.feeding(code, methods, [*around, *(known - {*methods})])
    others = [each for each in methods if each not in feeding]
    for number in range(1, runs + 1):
        for each in states:
            supposed = runner(each, receiver, code.name) is None
            each.iterations = (Iteration(code.span, number, is_call=True, supposed=supposed),)
            forget_unset(machine, each, receiver)
            if given.open:
                havoc.forget_given(each, receiver, code, list(_methods_of_subclasses(each, cls)))
            making = {name for name in havoc.making(methods) if not conventions.CLEARS.takes(name)}
            havoc.forget_changed(each, receiver, code, others, making)
            if number > 1:
                havoc.forget_reset(each, receiver, code, others, making)
                havoc.forget_parts(each, receiver, code, others, making)
            havoc.open_empty(each)
        with machine.chooser.shared(len(states)):
            fed = _fed(machine, states, receiver, feeding)
            results = [way for each in fed for way in _invoke(machine, each, method, receiver, code, number, given)]
        machine.leave_entry(state for state, _ in results)
        machine.events.emit(events.EntryEnded(results, (receiver,)))
        states = [s for s, _ in results if s.flow is None][: limits.STATES_BETWEEN_RUNS]
        if not states:
            break
    _inner(machine, results, code)
    return results


def _fed(machine: Interpreter, states: list[State], receiver: Value, feeding: Sequence[ir.Code]) -> list[State]:
    """The states behind a call of each of these methods."""
    for code in feeding if states else ():
        method = find(states[0], receiver, code.name)
        if isinstance(method, Closure):
            called = [way for each in states for way in _invoke(machine, each, method, receiver, code, 1, Args())]
            states = [each for each, _ in called if each.flow is None][: limits.STATES_BETWEEN_RUNS] or states
    return states


def _runs(code: ir.Code, methods: Sequence[ir.Code]) -> int:
    """How often a method is called: twice, and more often if it, or what it calls on its object, counts its turns."""
    if code.name in _ONCE:
        return 1
    counts = any(each.facts.has_remainder for each in havoc.called(code, methods))
    return limits.METHOD_RUNS_COUNTED if counts else limits.METHOD_RUNS


_ONCE = ("__enter__", "__exit__", "__aenter__", "__aexit__")
"""What `with` calls: an object of its own each time."""


def _test(
    machine: Interpreter, states: list[State], method: Value, receiver: Value, code: ir.Code, given: Args
) -> Results:
    """Call a test once, on an object that was set up for it."""
    ready = [after for each in states for after in test_runners.set_up(machine, each, receiver, code.span)]
    ready = [each for each in ready if each.flow is None][: limits.STATES_BETWEEN_RUNS]
    with machine.chooser.shared(len(ready)):
        tested: Results = []
        for each in ready:
            with_fixtures = replace(given, named=given_arguments.of_fixtures(machine, each, code, receiver))
            tested += machine.call(each, Bound(method, receiver), with_fixtures, code.span)
        ended = [(test_runners.tear_down(machine, each, receiver, code.span), way) for each, way in tested]
    results = [(after, way) for states, way in ended for after in states]
    machine.leave_entry(state for state, _ in results)
    machine.events.emit(events.EntryEnded(results, (receiver,)))
    _inner(machine, results, code)
    return results


_HELD = -3
"""The register that holds a class of which an object is to be made."""


def _make(machine: Interpreter, state: State, cls: Ref, owner: ir.Code, objects: Objects) -> None:
    backward_passes = any(each.backward_passes for each, _ in entries(owner, owner) if each.name in INITIALISERS)
    with machine.chooser.narrowed(path_choice.OWN if backward_passes or machine.forced else path_choice.ONE):
        begun = test_runners.set_up_class(machine, state, cls, owner.span)
        state = next((each for each in begun if each.flow is None), state)
        init = find(state, cls, "__init__")
        code = init.code if isinstance(init, Closure) else None
        # else, where nobody names it any more, it is gone behind what is made for it
        state.write(_HELD, cls, owner.span)
        named = _named(machine, state, code) if code is not None else ()
        state.writable().registers.pop(_HELD, None)
        made = calls.instantiate(machine, state, cls, Args(named=named, open=True), owner.span)
    whole = [(each, receiver) for each, receiver in made if each.flow is None]
    receiver = whole[0][1] if whole else NONE
    ways = [each for each, other in whole if other == receiver][: limits.STATES_BETWEEN_RUNS if machine.forced else 1]
    objects[owner] = ways, receiver
    machine.presumed.update(choice.condition.span for each in ways for choice in each.choices)


def prepare(machine: Interpreter, start: State, owner: ir.Code, objects: Objects) -> None:
    """Make an object for methods that its class inherits, where nobody ran the script that makes one: what another module
    does for it is of little account."""
    state, cls, imports = start.fork(), class_made_by(start, owner), machine.imports
    if cls is not None and owner not in objects:
        state.choices, state.gradient_events, machine.running = (), (), owner
        machine.events.emit(events.EntryBegun())
        allowance, imports.allowance = imports.allowance, limits.CHEAP_FUNCTION_STEPS
        try:
            _make(machine, state, cls, owner, objects)
        finally:
            imports.allowance = allowance


def _finds_gradients_off(code: ir.Code) -> bool:
    """Whether a function turns gradients on, and off in the end: then they were off when it was called."""
    answers = [each.switches() for each in code.facts.calls if each.name == "set_grad_enabled"]
    return code.name != "__init__" and True in answers and False in answers[answers.index(True) :]


def _methods(state: State, cls: Ref) -> Iterator[ir.Code]:
    """The methods of a class and of its bases."""
    for each in classes.of_program(state, cls):
        for value in each.attrs.values():
            func = value.func if isinstance(value, Wrapped) else value
            if isinstance(func, Closure):
                yield func.code


def _methods_of_subclasses(state: State, cls: Ref) -> Iterator[ir.Code]:
    """The methods of a class, of its bases, and of the classes that derive from it."""
    yield from _methods(state, cls)
    for subclass, _ in list(classes.derived(state, cls)):
        yield from _methods(state, subclass)


def _invoke(
    machine: Interpreter, state: State, method: Value, receiver: Value, code: ir.Code, number: int, given: Args
) -> list[tuple[State, Value]]:
    if isinstance(method, Wrapped) and method.kind == "staticmethod":
        return machine.call(state, method.func, given, code.span)
    if (run := runner(state, receiver, code.name)) is not None:
        return machine.call(state, Bound(run, receiver), Args((Const(number),)), code.span)
    given = replace(given, named=_named(machine, state, code))
    return machine.call(state, Bound(method, receiver), given, code.span)


def _named(machine: Interpreter, state: State, code: ir.Code) -> tuple[tuple[str, Value], ...]:
    """What a method is given of which its parameters, or their names, tell something."""
    annotated = given_arguments.by_annotations(machine, state, code, is_method=True)
    return (*annotated, *fitting_arguments.given(machine, state, code))


def _inner(machine: Interpreter, results: list[tuple[State, Value]], code: ir.Code) -> None:
    """Functions that the entry made and nobody called run last, in the frame that made them."""
    for state, value in results[:1]:
        if state.flow is not None:
            continue
        waiting = coverage.makes_backward(code, machine.entered)
        for func in (value, *(_kept(state, value) if waiting else ())):
            if isinstance(func, Closure) and func.code not in machine.entered:
                if func is value or (func.code.backward_passes and func.code in coverage.made(code)):
                    machine.call(state, func, Args(), code.span)


def _kept(state: State, value: Value) -> Iterator[Value]:
    """What an object or a container holds that is returned: a trainer was given the function which it is to call."""
    held = state.get(value)
    inner = tuple(held.leading.values()) if isinstance(held, Instance | UnknownObj) else state.parts(value)
    for each in inner if held is not None else ():
        yield each
        if not isinstance(held, ListObj | DictObj) and isinstance(state.get(each), ListObj | DictObj):
            yield from _kept(state, each)


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
