"""Sequences that are joined by `+`, and repeated by `*`; sets by their operators."""

from __future__ import annotations

from collections.abc import Sequence

from retainlint import ir
from retainlint.symbolic.models.python import sets
from retainlint.symbolic.state import events, limits
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, Instance, ListObj, Ref, TensorObj, Tuple, Value


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
        items = sets.distinct(lheld.items + more) if instr.op == "|" else lheld.items + more
        whole = ListObj(items, lheld.open or open_, lheld.kind, lheld.limit, sampled)
        made = left if instr.in_place and isinstance(left, Ref) and lheld.kind != "tuple" else state.new(whole)
        places = (state.frame.spans.get(instr.left), state.frame.spans.get(instr.right))
        machine.events.emit(events.Joined(state, left, right, made, places, instr.span))
        state.set(made, whole)
        return made
    if instr.op in sets.OPERATORS and (combined := sets.operated(state, instr.op, left, right)) is not None:
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
