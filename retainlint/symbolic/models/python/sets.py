"""Sets: what two of them have in common, or one has alone, where it is known of each item whether the other holds it."""

from __future__ import annotations

from collections.abc import Sequence

from retainlint.symbolic.solver import decisions
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, ListObj, Ref, TensorObj, Tuple, Value

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
