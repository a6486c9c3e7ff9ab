"""The order of items whose keys are known as far as it takes: `sorted`, `sort`, `min` and `max`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from retainlint.startup.records import record
from retainlint.symbolic.models.python import dataclasses
from retainlint.symbolic.solver.intervals import is_measured
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, Const, Instance, Tuple, Value
from retainlint.text.source import Span


def ordered(machine: Machine, state: State, items: Sequence[Value], args: Args, span: Span) -> tuple[Value, ...] | None:
    """The items by their size, or by that of what the `key` of a call gives for each, `reverse` or not; None where that isn't
    known of all."""
    backwards = args.get(-1, "reverse", Const(False))
    keys = [_begins(state, each) for each in _keys(machine, state, items, args.get(-1, "key"), span)]
    if args.open or not isinstance(backwards, Const) or len(keys) < len(items):
        return None
    try:
        places = sorted(range(len(keys)), key=lambda at: keys[at].parts, reverse=bool(backwards.value))
    except TypeError:
        return None
    told = all(_differ(keys[one], keys[other]) for one, other in itertools.pairwise(places))
    return tuple(items[at] for at in places) if told else None


def in_order(machine: Machine, state: State, items: Sequence[Value], args: Args, span: Span) -> tuple[Value, ...]:
    """The items as they stand behind a sort. Where data decide, any may come first or last: the one that came last stands
    between the others, if there are two of these. Items that are compared themselves, as those of a heap, and of which nobody
    knows how, are turned round: they don't leave it as they came."""
    if (known := ordered(machine, state, items, args, span)) is not None:
        return known
    key = args.get(-1, "key")
    keys = _keys(machine, state, items, key, span)
    if not any(is_measured(each.items[0] if isinstance(each, Tuple) and each.items else each) for each in keys):
        return tuple(items[::-1] if key == NONE else items)
    middle = len(items) // 2
    return (*items[:middle], items[-1], *items[middle:-1])


def _keys(machine: Machine, state: State, items: Sequence[Value], key: Value, span: Span) -> list[Value]:
    """By what each item is compared, as far as each is known to be one thing."""
    if key == NONE:
        return list(items)
    found: list[Value] = []
    for each in items:
        results = machine.call(state.fork(), key, Args((each,), spans=(span,)), span)
        if len(results) != 1 or results[0][0].flow is not None:
            break
        found.append(results[0][1])
    return found


@record
class _Beginning:
    """What is known of a value from its beginning on, and whether that is all of it."""

    parts: tuple[Any, ...]
    whole: bool


def _begins(state: State, value: Value, depth: int = limits.STORED_DEPTH) -> _Beginning:
    """By what Python would compare a value: a tuple, or a record, by one item after the other. Records may hold each other."""
    if isinstance(value, Const):
        return _Beginning((value.value,), True)
    row = value.items if isinstance(value, Tuple) else _fields(state, value)
    items = [_begins(state, each, depth - 1) for each in row] if depth else []
    known = [*itertools.takewhile(lambda each: each.whole, items)]
    parts = tuple(each.parts[0] if isinstance(item, Const) else each.parts for item, each in zip(row, known))
    return _Beginning(parts, bool(items) and len(known) == len(items))


def _fields(state: State, value: Value) -> tuple[Value, ...]:
    """What a record of the program is compared by, if it says nothing of that itself; nothing of any other value."""
    held = state.get(value)
    if not isinstance(held, Instance) or find(state, value, "__lt__") is not None:
        return ()
    names = dataclasses.names(state, held.cls) or ()
    return tuple(held.attrs[name] for name in names) if held.attrs.keys() >= {*names} else ()


def _differ(one: _Beginning, other: _Beginning) -> bool:
    """Whether what is known of two values tells which comes first, or that they are alike."""
    return (one.whole and other.whole) or any(mine != theirs for mine, theirs in zip(one.parts, other.parts))
