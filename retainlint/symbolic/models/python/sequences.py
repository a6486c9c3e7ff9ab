"""Sequences and sets: what operators and methods make of several, and the order of items whose keys are known as far as it takes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from retainlint import ir
from retainlint.startup.records import record
from retainlint.symbolic.models.python import dataclasses
from retainlint.symbolic.solver import decisions
from retainlint.symbolic.solver.intervals import is_measured
from retainlint.symbolic.state import events, limits
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, Const, Instance, ListObj, Ref, TensorObj, Tuple, Value
from retainlint.text.source import Span


def joined(machine: Machine, state: State, instr: ir.Binary, left: Value, right: Value) -> Value | None:
    """`+` of sequences, `*` of a sequence with a number, `|`, `&` and their like of sets."""
    if isinstance(left, Tuple) and isinstance(right, Tuple) and instr.op == "+":
        items = left.items + right.items
        return Tuple(items) if len(items) <= limits.HELD_ITEMS else state.new(ListObj(items, kind="tuple"))
    lheld, rheld = state.get(left), state.get(right)
    if isinstance(left, Tuple) and isinstance(rheld, ListObj) and rheld.kind == "tuple":
        lheld = ListObj(left.items, kind="tuple")
    if isinstance(lheld, ListObj) and instr.op in ("+", "|"):
        more, open_ = _items(right, rheld)
        sampled = lheld.sampled or (isinstance(rheld, ListObj) and rheld.sampled)
        items = distinct(lheld.items + more) if instr.op == "|" else lheld.items + more
        whole = ListObj(items, lheld.open or open_, lheld.kind, lheld.limit, sampled)
        made = left if instr.in_place and isinstance(left, Ref) and lheld.kind != "tuple" else state.new(whole)
        places = (state.frame.spans.get(instr.left), state.frame.spans.get(instr.right))
        machine.events.emit(events.Joined(state, left, right, made, places, instr.span))
        state.set(made, whole)
        return made
    if instr.op in OPERATORS and (combined := operated(state, instr.op, left, right)) is not None:
        if not instr.in_place or not isinstance(left, Ref):
            return state.new(combined)
        state.set(left, combined)
        return left
    if instr.op == "*":
        return _repeated(state, left, right) or _repeated(state, right, left)
    return None


def chained(state: State, values: Sequence[Value]) -> Value | None:
    """All items of some sequences, one after the other; None if one of them is none."""
    parts = [ListObj(value.items) if isinstance(value, Tuple) else state.get(value) for value in values]
    known = [part for part in parts if isinstance(part, ListObj)]
    if len(known) < len(parts):
        return None
    return state.new(ListObj(tuple(item for part in known for item in part.items), any(part.open for part in known)))


def _repeated(state: State, value: Value, times: Value) -> Value | None:
    """A sequence, that many times; if nobody knows how many, at least once."""
    held = state.get(value)
    sequence = ListObj(value.items, kind="tuple") if isinstance(value, Tuple) else held
    if not isinstance(sequence, ListObj) or isinstance(state.get(times), ListObj | TensorObj | Instance):
        return None
    if (
        isinstance(times, Const)
        and isinstance(times.value, int)
        and len(sequence.items) * times.value <= limits.REPEATED_ITEMS
    ):
        count = max(times.value, 0)  # one that is huge would not fit, however few items there are
        items = sequence.items and sequence.items * count
        return Tuple(items) if isinstance(value, Tuple) else state.new(ListObj(items, sequence.open, sequence.kind))
    return state.new(ListObj(sequence.items, True, sequence.kind))


def _items(value: Value, held: object) -> tuple[tuple[Value, ...], bool]:
    if isinstance(value, Tuple):
        return value.items, False
    return (held.items, held.open) if isinstance(held, ListObj) else ((), True)


# -- sets -------------------------------------------------------------------------------------------------------------


OPERATORS = {"|": "union", "&": "intersection", "-": "difference", "^": "symmetric_difference"}
_UPDATES = {f"{name}_update": name for name in ("intersection", "difference", "symmetric_difference")}
METHODS = frozenset((*OPERATORS.values(), *_UPDATES))


def distinct(items: Sequence[Value]) -> tuple[Value, ...]:
    """Items as a set holds them: what is surely equal once."""
    return tuple(dict.fromkeys(items))


def operated(state: State, op: str, left: Value, right: Value) -> ListObj | None:
    """`a & b` and its like, of two sets, or views of dicts; None where that isn't known."""
    ours, theirs = _known(state, left), _known(state, right)
    found = None if ours is None or theirs is None else _combined(state, OPERATORS[op], ours, theirs)
    return None if found is None else ListObj(found, kind="set")


def method(state: State, ref: Ref, name: str, given: Sequence[Sequence[Value] | None]) -> Value | None:
    """`a.intersection(b, c)` and its like, with the items of what is given; None where the result isn't known."""
    found = _known(state, ref)
    for more in given:
        found = None if found is None or more is None else _combined(state, _UPDATES.get(name, name), found, more)
    if found is None:
        return None
    if name not in _UPDATES:
        return state.new(ListObj(found, kind="set"))
    state.set(ref, ListObj(found, kind="set"))
    return NONE


def _known(state: State, value: Value) -> tuple[Value, ...] | None:
    held = state.get(value)
    whole = isinstance(held, ListObj) and not (held.open or held.sampled or held.perhaps)
    return held.items if isinstance(held, ListObj) and whole else None


def _combined(state: State, name: str, left: Sequence[Value], right: Sequence[Value]) -> tuple[Value, ...] | None:
    if name == "union":
        return distinct((*left, *right))
    ours, theirs = _shared(state, left, right), _shared(state, right, left)
    if ours is None or theirs is None:
        return None
    common = name == "intersection"
    found = [item for item, shared in zip(left, ours, strict=True) if shared is common]
    if name == "symmetric_difference":
        found += [item for item, shared in zip(right, theirs, strict=True) if not shared]
    return distinct(found)


def _shared(state: State, items: Sequence[Value], others: Sequence[Value]) -> list[bool] | None:
    """Whether each item is among some others; None if that isn't known of one."""
    answers = [_is_among(state, item, others) for item in items]
    return None if None in answers else [answer is True for answer in answers]


def _is_among(state: State, item: Value, others: Sequence[Value]) -> bool | None:
    """Whether an item is one of others; a tensor is the same as no other one, whatever its numbers."""
    if item in others:
        return True
    if isinstance(state.get(item), TensorObj):
        others = [each for each in others if not isinstance(state.get(each), TensorObj)]
    return decisions.decide(state, decisions.compare(state, "in", item, Tuple(tuple(others))))


# -- in order: `sorted`, `sort`, `min` and `max` ----------------------------------------------------------------------


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
