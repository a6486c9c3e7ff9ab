"""Runs one function with arguments that nobody knows, or a method on an object of its class, as a trainer would."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from retainlint import ir
from retainlint.incident import Turn
from retainlint.symbolic import between, calls, carried, choosing, unreached
from retainlint.symbolic.classes import ancestry, find
from retainlint.symbolic.context import Args, Results
from retainlint.symbolic.entries import class_of, entries, of_local_classes
from retainlint.symbolic.machine import Interpreter
from retainlint.symbolic.models import lightning, unknown
from retainlint.symbolic.project import CHEAP
from retainlint.symbolic.state import State
from retainlint.symbolic.values import (
    Bound,
    ClassObj,
    Closure,
    DictObj,
    External,
    Instance,
    ListObj,
    Ref,
    UnknownObj,
    Value,
    Wrapped,
)

TWICE = 2
"""A method that a trainer calls again and again is run so often on one object."""

_OFF_AGAIN = re.compile(r"^ *[\w.]*set_grad_enabled\(True\)[\s\S]*^ *[\w.]*set_grad_enabled\(False\)", re.MULTILINE)

Objects: TypeAlias = "dict[ir.Code, tuple[list[State], Value]]"
"""The objects that were made of the program's classes, each with the states in which it may be."""


def enter(
    machine: Interpreter,
    start: State,
    code: ir.Code,
    owner: ir.Code | None,
    objects: Objects,
    *,
    anyhow: bool = False,
) -> bool:
    """Run an entry, and the methods of classes that it made for others to use; `anyhow`, with other values than a caller
    who says nothing gives it, or than its object has when it is made. Whether a path came to its end."""
    state = start.fork()
    state.choices, state.deeds = (), ()
    state.grad = not _finds_gradients_off(code)
    machine.waste.begin()
    given = Args(open=anyhow)
    if owner is None:
        results = _function(machine, state, code, given)
    else:
        results = _method(machine, state, code, owner, objects, given)
    made: Objects = {}
    for method, cls in list(of_local_classes(code)):
        after = next((s for s, _ in results if s.flow is None and class_of(s, cls) is not None), None)
        if after is not None and method not in machine.entered:
            _method(machine, after.fork(), method, cls, made, Args())
    return any(state.flow is None for state, _ in results)


def _function(machine: Interpreter, state: State, code: ir.Code, given: Args) -> Results:
    between.open_empty(state)
    func = _held(state, machine, code)
    if func is None:
        return []
    results = machine.call(state, func, given, code.span)
    machine.waste.leave(results)
    _inner(machine, results, code)
    return results


def _method(
    machine: Interpreter, state: State, code: ir.Code, owner: ir.Code, objects: Objects, given: Args
) -> Results:
    """Call a method again and again on one object; how the last call ended."""
    cls = class_of(state, owner)
    if cls is None or _is_autograd_function(state, cls):
        return []
    if owner not in objects:
        _make(machine, state, cls, owner, objects)
    states, receiver = [s.fork() for s in objects[owner][0]], objects[owner][1]
    for each in states:
        each.grad = state.grad
    method = find(states[0], receiver, code.name) if states else None
    if method is None:
        return []
    results: Results = []
    for number in range(1, TWICE + 1):
        for each in states:
            each.turns = (Turn(code.span, number, is_call=True),)
            _forget_unset(machine, each, receiver)
            if given.open:
                between.forget_given(each, receiver, code, list(_methods_of_heirs(each, cls)))
            between.forget_changed(each, receiver, [one for one, _ in entries(owner, owner) if one is not code])
            if number > 1:
                between.forget_reset(each, receiver, code, list(_methods(each, cls)))
            between.open_empty(each)
        before = states[0].fork() if len(states) == 1 else None
        given_up = len(machine.imports.told)
        with machine.chooser.shared(len(states)):
            results = [way for each in states for way in _invoke(machine, each, method, receiver, code, number, given)]
        machine.waste.leave(results, receiver)
        states = [s for s, _ in results if s.flow is None][:6]
        hurried = machine.program.module.walks and len(machine.imports.told) > given_up
        if (
            number < TWICE and before is not None and not hurried
        ):  # else the next call leaves at once what took too long, and comes further
            states = carried.changed(machine, before, states)
            if not states:
                break
    _inner(machine, results, code)
    return results


def _make(machine: Interpreter, state: State, cls: Ref, owner: ir.Code, objects: Objects) -> None:
    walks = any(each.walks for each, _ in entries(owner, owner) if each.name == "__init__")
    with machine.chooser.narrowed(choosing.OWN if walks else choosing.ONE):
        made = calls.instantiate(machine, state, cls, Args(open=True), owner.span)
    objects[owner] = ([s for s, _ in made if s.flow is None][:1], made[0][1])


def prepare(machine: Interpreter, start: State, owner: ir.Code, objects: Objects) -> None:
    """Make an object for methods that its class inherits, where nobody ran the script that makes one: what another module
    does for it is of little account."""
    state, cls, imports = start.fork(), class_of(start, owner), machine.imports
    if cls is not None and owner not in objects:
        state.choices, state.deeds, machine.running = (), (), owner
        machine.waste.begin()
        allowance, imports.allowance = imports.allowance, CHEAP
        try:
            _make(machine, state, cls, owner, objects)
        finally:
            imports.allowance = allowance


def _finds_gradients_off(code: ir.Code) -> bool:
    """Whether a function turns gradients on, and off in the end: then they were off when it was called."""
    return any(_OFF_AGAIN.search(text) for text in between.texts([code]))


def _methods(state: State, cls: Ref) -> Iterator[ir.Code]:
    """The methods of a class and of its bases."""
    for base in ancestry(state, cls):
        held = state.get(base)
        for value in held.attrs.values() if isinstance(held, ClassObj) else ():
            func = value.func if isinstance(value, Wrapped) else value
            if isinstance(func, Closure):
                yield func.code


def _methods_of_heirs(state: State, cls: Ref) -> Iterator[ir.Code]:
    """The methods of a class, of its bases, and of the classes that derive from it."""
    yield from _methods(state, cls)
    for id, held in list(state.heap.items()):
        if isinstance(held, ClassObj) and Ref(id) != cls and cls in list(ancestry(state, Ref(id))):
            yield from _methods(state, Ref(id))


def _forget_unset(machine: Interpreter, state: State, receiver: Value) -> None:
    """Between two calls, others may have set the tensors that nothing seen so far has set; options stay as they are."""
    held = state.get(receiver)
    if isinstance(held, Instance) and isinstance(receiver, Ref):
        unset = {name for name, v in held.attrs.items() if isinstance(v, Ref) and v.id in machine.unset}
        lost = {name for name in unset if unknown.edges_in(machine, state, [held.attrs[name]])}
        state.set(receiver, Instance(held.cls, {name: v for name, v in held.attrs.items() if name not in lost}))


def _invoke(
    machine: Interpreter, state: State, method: Value, receiver: Value, code: ir.Code, number: int, given: Args
) -> list[tuple[State, Value]]:
    if isinstance(method, Wrapped) and method.kind == "staticmethod":
        return machine.call(state, method.func, given, code.span)
    if lightning.is_step(state, receiver, code.name):
        return lightning.step(machine, state, receiver, method, code, number)
    return machine.call(state, Bound(method, receiver), given, code.span)


def _inner(machine: Interpreter, results: list[tuple[State, Value]], code: ir.Code) -> None:
    """Functions that the entry made and nobody called run last, in the frame that made them."""
    for state, value in results[:1]:
        if state.flow is not None:
            continue
        waiting = unreached.makes_walks(code, machine.entered)
        for func in (value, *(_kept(state, value) if waiting else ())):
            if isinstance(func, Closure) and func.code not in machine.entered:
                if func is value or (func.code.walks and func.code in unreached.made(code)):
                    machine.call(state, func, Args(), code.span)


def _kept(state: State, value: Value) -> Iterator[Value]:
    """What an object or a container holds that is returned: a trainer was given the function which it is to call."""
    held = state.get(value)
    match held:
        case Instance(attrs=attrs) | UnknownObj(attrs=attrs):
            inner = tuple(attrs.values())
        case ListObj(items=items):
            inner = items
        case DictObj(items=entries):
            inner = tuple(entries.values())
        case _:
            return
    for each in inner:
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


def _is_autograd_function(state: State, cls: Ref) -> bool:
    """A walk inside an autograd.Function's own methods is no entry."""
    return External("torch.autograd.Function") in list(ancestry(state, cls))
