"""Unknown values that are numbers: what is counted by, and what sums and products of such come to."""

from __future__ import annotations

from retainlint.startup.records import replace
from retainlint.symbolic.models.python import options
from retainlint.symbolic.solver import decisions, terms
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import COUNT, Const, Ref, Term, UnknownObj, Value


def counted(state: State, value: Value) -> Value:
    """Note that something unknown is a number, since turns are counted by it; the number, where it is a sum."""
    held = state.get(value)
    if not isinstance(held, UnknownObj) or not isinstance(value, Ref):
        return value
    total = held.notes.total
    if isinstance(total, Term):
        for part in total.args:
            summed = state.get(part)
            if isinstance(part, Ref) and isinstance(summed, UnknownObj) and not (summed.hint or summed.leading):
                state.set(part, replace(summed, hint=COUNT, plain=True, edge=None))
        return total
    if not (held.hint or held.edge or held.leading):
        state.set(value, replace(held, hint=COUNT, plain=True))
    return value


def totalled(state: State, total: Value, op: str, left: Value, right: Value) -> None:
    """Note of what number an unknown sum is made, a difference, or a product, and of what other unknown."""
    held, numbers = state.get(total), [_number(state, each) for each in (left, right)]
    if isinstance(held, UnknownObj) and isinstance(total, Ref) and (not held.hint or _are_options(state, left, right)):
        first, second = numbers
        if first is None or second is None or not any(map(terms.is_scalar, (left, right))):
            return
        if op != "*":
            state.set(total, replace(held, notes=replace(held.notes, total=terms.sum_of(op, first, second))))
        elif decisions.loops_of(first) or decisions.loops_of(second):  # what counts turns, as `epoch * batches`
            state.set(total, replace(held, notes=replace(held.notes, total=terms.product(first, second))))


def _are_options(state: State, *values: Value) -> bool:
    """Whether one of some numbers is an option, and nothing else is among them but what is known."""
    known = [options.default(state, each) for each in values if not isinstance(each, Const)]
    return bool(known) and all(each is not None and type(each.value) is int for each in known)


def _number(state: State, value: Value) -> Value | None:
    """What number a value is, should it be one; None if it is another thing."""
    held = state.get(value)
    if isinstance(held, UnknownObj):
        is_number = held.hint in ("", COUNT) and (not held.leading or held.notes.default is not None)
        return held.notes.total or (value if is_number else None)
    is_text = isinstance(value, Const) and type(value.value) is not int
    return value if terms.is_scalar(value) and not is_text else None
