"""What a text of JSON says that stands in the program, and what its hooks make of that."""

from __future__ import annotations

import json
from typing import Any

from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver.constants import NotWorkedOut, worked_out
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, Const, DictObj, ListObj, Tuple, Value
from retainlint.text.source import Span

_HOOKS = ("object_pairs_hook", "object_hook")
"""What Python calls for each object in place of making a dict; the first goes before the other."""


def loads(machine: Machine, state: State, args: Args, span: Span) -> Results | None:
    """`json.loads(text)`; None if the text isn't known, or how it is to be read."""
    text = args.get(0, "s")
    given = {name: value for name, value in args.named if name != "s" and value != NONE}
    if not isinstance(text, Const) or args.open or not given.keys() <= set(_HOOKS):
        return None
    if isinstance(text.value, str) and len(text.value) <= limits.JSON_LENGTH:
        machine.graphs.effort.add(len(text.value))
        try:
            said = worked_out(json.loads, text.value)
        except NotWorkedOut:
            return [(state, objects.fresh(state, span, plain=True))]
        hook = next(((name, given[name]) for name in _HOOKS if name in given), None)
        return _made(machine, state, said, hook, span)
    return [(state, objects.fresh(state, span, plain=not given))]


def _made(
    machine: Machine, state: State, value: Any, hook: tuple[str, Value] | None, span: Span, depth: int = 0
) -> Results:
    """The value that a part of a text stands for."""
    if depth > limits.JSON_DEPTH or (isinstance(value, int) and value.bit_length() > limits.CONSTANT_BITS):
        return [(state, objects.fresh(state, span, plain=True))]
    if not isinstance(value, dict | list):
        return [(state, Const(value))]
    rows: list[tuple[State, tuple[Value, ...]]] = [(state, ())]
    for each in value.values() if isinstance(value, dict) else value:
        longer: list[tuple[State, tuple[Value, ...]]] = []
        for before, row in rows:
            found = [(before, NONE)] if before.flow else _made(machine, before, each, hook, span, depth + 1)
            longer += [(after, (*row, item)) for after, item in found]
        rows = longer
    if isinstance(value, list):
        return [(each, each.new(ListObj(row))) for each, row in rows]
    names = tuple(map(Const, value))
    return [result for each, row in rows for result in _object(machine, each, names, row, hook, span)]


def _object(
    machine: Machine,
    state: State,
    names: tuple[Const, ...],
    row: tuple[Value, ...],
    hook: tuple[str, Value] | None,
    span: Span,
) -> Results:
    if hook is None or state.flow is not None:
        return [(state, state.new(DictObj(dict(zip(names, row, strict=True)))))]
    pairs = tuple(map(Tuple, zip(names, row, strict=True)))
    taken = ListObj(pairs) if hook[0] == "object_pairs_hook" else DictObj(dict(zip(names, row, strict=True)))
    return machine.call(state, hook[1], Args((state.new(taken),)), span)
