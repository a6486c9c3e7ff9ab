"""Functions of the program that are handed to what nobody sees, which may call them at any time: hooks, threads, callbacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retainlint import ir
from retainlint.startup.records import replace
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    Bound,
    Closure,
    DictObj,
    Instance,
    ListObj,
    Partial,
    Ref,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span

FILLING = frozenset(("append", "extend", "insert", "add", "update", "setdefault", "appendleft"))
"""Methods that put something into a container."""


def captured(state: State, values: Iterable[Value]) -> Iterator[Value]:
    """What functions among some values read of the call that they were made in."""
    for func in _functions(state, values):
        frame = state.frames[func.frame]
        if frame.parent is not None:
            yield from (frame.names[name] for name in sorted(frame.code.captured.intersection(frame.names)))


def run_unseen(state: State, values: Iterable[Value], span: Span) -> None:
    """What functions and methods among some values put into lists and dicts around them is unknown from now on."""
    for each in values:
        owner = each.self if isinstance(each, Bound) else None
        for func in _functions(state, (each,)):
            for name in sorted(filled(func.code)):
                value = _found(state, func, owner, name)
                held = state.get(value) if isinstance(value, Ref) else None
                if isinstance(value, Ref) and isinstance(held, ListObj | DictObj):
                    emptied = replace(held, open=True)  # it is there to be filled
                    state.set(value, UnknownObj(span, name="items") if held.items else emptied)


def filled(code: ir.Code) -> frozenset[str]:
    """The names of other calls, or of the module, into whose containers a function puts something, and the attributes of a
    method's object, each behind a dot."""
    own = code.params[0].name if code.params else ""
    names: dict[ir.Register, str] = {}
    found = set()
    for instr in ir.walk(code.body):
        if isinstance(instr, ir.Load):
            names[instr.dst] = "" if instr.name == own else instr.name if instr.scope is not ir.Scope.LOCAL else " "
        elif isinstance(instr, ir.GetAttr) and names.get(instr.obj) == "":
            names[instr.dst] = f".{instr.name}"
        elif isinstance(instr, ir.SetItem) or (isinstance(instr, ir.GetAttr) and instr.name in FILLING):
            found.add(names.get(instr.obj, ""))
    return frozenset(found)


def _functions(state: State, values: Iterable[Value]) -> Iterator[Closure]:
    for value in values:
        while isinstance(value, Bound | Wrapped | Partial):
            value = value.func
        if isinstance(value, Closure) and state.frames.has(value.frame):  # one that reads nothing may have lost it
            yield value


def _found(state: State, func: Closure, owner: Value | None, name: str) -> Value | None:
    """What a name means to a function, or an attribute to a method of an object."""
    if name.startswith("."):
        held = state.get(owner) if owner is not None else None
        return held.attrs.get(name[1:]) if isinstance(held, Instance) else None
    place: int | None = func.frame
    while place is not None and state.frames.has(place):
        frame = state.frames[place]
        if name in frame.names:
            return frame.names[name]
        place = frame.parent
    return None
