"""The order of items whose keys are all known: `sorted`, `sort`, `min` and `max`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, Const, Tuple, Value
from retainlint.text.source import Span


def ordered(machine: Machine, state: State, items: Sequence[Value], args: Args, span: Span) -> tuple[Value, ...] | None:
    """The items by their size, or by that of what the `key` of a call gives for each, `reverse` or not; None where that isn't
    known of all."""
    backwards = args.get(-1, "reverse", Const(False))
    keys = [_known(each) for each in _keys(machine, state, items, args.get(-1, "key"), span)]
    if args.open or not isinstance(backwards, Const) or len(keys) < len(items):
        return None
    known: list[Any] = [each[0] for each in keys if each is not None]
    try:
        places = sorted(range(len(known)), key=lambda at: known[at], reverse=bool(backwards.value))
    except TypeError:
        return None
    return tuple(items[at] for at in places) if len(known) == len(items) else None


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


def _known(value: Value) -> tuple[object] | None:
    """What Python would compare, in a tuple of one; None for what isn't known."""
    if isinstance(value, Const):
        return (value.value,)
    parts = [_known(each) for each in value.items] if isinstance(value, Tuple) else [None]
    return (tuple(each[0] for each in parts if each is not None),) if None not in parts else None
