"""What a library fills from a command line or the environment: the fields of a class, or the parameters of a function, as options."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping

from retainlint import ir
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import dataclasses, options
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    FALSE,
    NONE,
    Bound,
    ClassObj,
    Closure,
    Const,
    External,
    Instance,
    Partial,
    Ref,
    Value,
)
from retainlint.text.source import Span

_FIELD = External("dataclasses.field")


def settable(machine: Machine, state: State, value: Value, name: str, span: Span, depth: int = 0) -> Value:
    """What is this value unless somebody gives another: an option, or an object that holds such. Of None, or where a library
    has that somebody gives one, nothing is known."""
    held = state.get(value)
    if isinstance(held, Instance) and depth < limits.SETTINGS_DEPTH and dataclasses.names(state, held.cls) is not None:
        attrs = {key: settable(machine, state, each, key, span, depth + 1) for key, each in held.attrs.items()}
        return state.new(replace(held, attrs=attrs))
    if isinstance(value, Const) and not machine.unrolls and value.value is not ...:
        return options.given(state, value, name, span)
    is_said = not isinstance(value, External) and value != Const(...)
    return value if is_said else objects.fresh(state, span, name=name, plain=True)


def filled(machine: Machine, state: State, made: Value, span: Span, depth: int = 0) -> Results:
    """What a class makes, or a function returns, of whose fields and parameters each may be given, and is what it is by default."""
    held = state.get(made)
    if isinstance(held, ClassObj) and isinstance(made, Ref):
        if (fields := dataclasses.names(state, made)) is not None:
            return _record(machine, state, made, fields, span)
        init = find(state, made, "__init__")
        args = _arguments(machine, state, init, 1, span, depth) if isinstance(init, Closure) else Args()
        return machine.call(state, made, args, span)
    if isinstance(held, Instance):
        return [(state, settable(machine, state, made, "", span))]
    func = made.func if isinstance(made, Bound) else made
    if isinstance(func, Closure):
        return machine.call(state, made, _arguments(machine, state, func, func is not made, span, depth), span)
    return machine.call(state, made, Args(open=True), span)


def _record(machine: Machine, state: State, cls: Ref, fields: tuple[str, ...], span: Span) -> Results:
    given = dict(_fields(machine, state, {name: find(state, cls, name) for name in fields}, span))
    results = machine.call(state, cls, Args(named=tuple(given.items())), span)
    for after, made in results:
        held = after.get(made)
        if isinstance(held, Instance) and isinstance(made, Ref):
            others = {name: each for name, each in held.attrs.items() if name in fields and name not in given}
            more = {name: settable(machine, after, each, name, span) for name, each in others.items()}
            after.set(made, replace(held, attrs={**held.attrs, **more}))
    return results


def _fields(
    machine: Machine, state: State, said: Mapping[str, Value | None], span: Span
) -> Iterator[tuple[str, Value]]:
    """What a command line gives for fields by what is said of them: not what a function makes anew."""
    for name, default in said.items():
        value: Value | None = External("") if default is None else default
        if isinstance(default, Partial) and default.func == _FIELD:
            ways = dict(default.kwargs)
            value = (
                None if ways.get("init") == FALSE or "default_factory" in ways else ways.get("default", External(""))
            )
        if isinstance(value, Const | External):
            yield name, settable(machine, state, value, name, span)


def _arguments(machine: Machine, state: State, func: Closure, begin: int, span: Span, depth: int) -> Args:
    found: list[tuple[str, Value]] = []
    defaults = dict(func.defaults)
    for param in func.code.params[begin:]:
        if param.kind not in ("star", "doublestar", "positional"):
            default = defaults.get(param.name)
            value = _of_class(machine, state, func, param, span, depth) if default is None else default
            found.append((param.name, settable(machine, state, value, param.name, span)))
    return Args(named=tuple(found))


def _of_class(machine: Machine, state: State, func: Closure, param: ir.Param, span: Span, depth: int) -> Value:
    """An object of the class that a parameter without a default says, with what is given for its fields."""
    cls = annotated_class(state, func, param.annotation or "")
    if not isinstance(state.get(cls or NONE), ClassObj) or cls is None or depth > limits.SETTINGS_DEPTH:
        return External("")
    ways = filled(machine, state.fork(), cls, span, depth + 1)
    if len(ways) != 1 or ways[0][0].flow is not None:
        return External("")
    state.become(ways[0][0])
    return ways[0][1]


def annotated_class(state: State, func: Closure, said: str) -> Value | None:
    """The class that an annotation of a function names; None where that can't be told."""
    root, _, rest = said.partition(".")
    frame = state.frames[func.frame]
    while (
        found := frame.names.get(root)
    ) is None and frame.parent is not None:  # a method's class, and then its module
        frame = state.frames[frame.parent]
    if found is None and not rest and hasattr(builtins, root):
        return External(f"builtins.{root}")
    if isinstance(found, External) and rest:
        return External(f"{found.path}.{rest}")
    return None if rest else found
