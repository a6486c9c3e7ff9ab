"""Functions of the program that are handed to what nobody sees, which may call them at any time: hooks, threads, callbacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retainlint import ir
from retainlint.startup.records import replace
from retainlint.symbolic.state import classes
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
            for name, attribute in sorted(filled(func.code)):
                value = _found(state, func, owner, name, attribute)
                held = state.get(value) if isinstance(value, Ref) else None
                if isinstance(value, Ref) and isinstance(held, ListObj | DictObj):
                    emptied = replace(held, open=True)  # it is there to be filled
                    state.set(value, UnknownObj(span, name="items") if held.items else emptied)


OWN = ""
"""In place of a name: what a function is given first, a method's object."""


def filled(code: ir.Code) -> frozenset[tuple[str, str]]:
    """The names from outside of a function, or OWN, into whose containers it puts something; or the name and an attribute, into
    whose containers."""
    first = code.params[0].name if code.params else None
    held: dict[ir.Register, tuple[str, str]] = {}
    found = set[tuple[str, str]]()
    for instr in ir.walk(code.body):
        if isinstance(instr, ir.Load) and (instr.name == first or instr.scope is not ir.Scope.LOCAL):
            held[instr.dst] = (OWN if instr.name == first else instr.name, "")
        elif isinstance(instr, ir.SetItem | ir.GetAttr) and instr.obj in held:
            name, attribute = held[instr.obj]
            if isinstance(instr, ir.SetItem) or instr.name in classes.FILLING:
                found.add((name, attribute))
            elif not attribute:
                held[instr.dst] = (name, instr.name)
    return frozenset(found)


def _functions(state: State, values: Iterable[Value]) -> Iterator[Closure]:
    for value in values:
        while isinstance(value, Bound | Wrapped | Partial):
            value = value.func
        if isinstance(value, Closure) and state.frames.has(value.frame):  # one that reads nothing may have lost it
            yield value


def _found(state: State, func: Closure, owner: Value | None, name: str, attribute: str) -> Value | None:
    """What a name means to a function, or its attribute."""
    value, place = owner if name == OWN else None, func.frame if name != OWN else None
    while value is None and place is not None and state.frames.has(place):
        value, place = state.frames[place].names.get(name), state.frames[place].parent
    held = state.get(value) if attribute and value is not None else None
    return held.attrs.get(attribute) if isinstance(held, Instance) else None if attribute else value
