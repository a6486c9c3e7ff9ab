"""What is left of iterators: each gives an item once, whoever takes it."""

from __future__ import annotations

from collections.abc import Sequence

from retainlint.startup.records import replace
from retainlint.symbolic.solver import terms
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    ITERATOR,
    NONE,
    Const,
    GeneratorObj,
    IteratorObj,
    ListObj,
    Ref,
    Tuple,
    Value,
)

_ITERATORS = frozenset(("iter", "enumerate", "map", "starmap", "filter", "reversed", "zip", "chain", "islice"))
"""What has nothing left when it was gone through."""

_ONE_BY_ONE = frozenset(("enumerate", "map", "starmap", "zip", "islice"))
"""What takes one item of each of its parts for each that it gives."""


def exhaust(state: State, value: Value) -> None:
    """Note that a value was gone through to its end: an iterator, and what it takes its items from, has none left."""
    held = state.get(value)
    if not isinstance(value, Ref):
        return
    if isinstance(held, ListObj) and held.kind == ITERATOR:
        state.set(value, replace(held, items=(), open=False, size=None))
    elif isinstance(held, GeneratorObj) or (isinstance(held, IteratorObj) and held.kind in _ITERATORS):
        state.set(value, IteratorObj("iter", (Tuple(()),)))
        known = bounds(held.start) if isinstance(held, IteratorObj) and held.kind == "islice" else None
        if isinstance(held, IteratorObj) and known is not None and known[1] is not None:
            advance(state, held.parts[0], known[1])
        for part in held.parts if isinstance(held, IteratorObj) and held.kind not in ("zip", "islice") else ():
            exhaust(state, part)


def advance(state: State, value: Value, count: int) -> None:
    """Note that so many items of a value were taken: an iterator goes on behind them, and so does what it takes them from."""
    held = state.get(value)
    if isinstance(value, Ref) and isinstance(held, IteratorObj) and held.kind in (*_ITERATORS, "cycle"):
        if held.kind not in _ONE_BY_ONE or not all(_is_iterator(state, part) for part in held.parts):
            state.set(value, replace(held, taken=held.taken + count))
            return
        first, last = (bounds(held.start) if held.kind == "islice" else None) or (0, None)
        for part in held.parts:
            advance(state, part, first + count)
        if held.kind == "enumerate":
            state.set(value, replace(held, start=terms.sum_of("+", held.start, Const(count))))
        elif held.kind == "islice":
            left = NONE if last is None else Const(max(last - first - count, 0))
            state.set(value, replace(held, start=Tuple((Const(0), left))))
    elif isinstance(value, Ref) and isinstance(held, GeneratorObj) and held.waits is None:
        rest = Tuple((Const(count), NONE))
        state.set(value, IteratorObj("islice", (state.new(held),), rest))
    elif isinstance(value, Ref) and isinstance(held, ListObj) and held.kind == ITERATOR and not held.open:
        state.set(value, replace(held, items=held.items[count:]))


def _is_iterator(state: State, value: Value) -> bool:
    held = state.get(value)
    return isinstance(held, IteratorObj | GeneratorObj) or (isinstance(held, ListObj) and held.kind == ITERATOR)


def bounds(given: Value) -> tuple[int, int | None] | None:
    """From which item to which `islice` gives what it is given; None where that isn't known, or it leaves some out between."""
    numbers = [
        each.value if isinstance(each, Const) else None for each in (given.items if isinstance(given, Tuple) else ())
    ]
    first = numbers[0] if len(numbers) > 1 else 0
    last = numbers[min(len(numbers), 2) - 1] if numbers else None
    if len(numbers) > 2 or not isinstance(first, int):
        return None
    return first, last if isinstance(last, int) else None


def leave(iterable: Value, finished: Sequence[State], ended: Sequence[State], depth: int) -> None:
    """Note what a loop leaves of what it ran over: nothing at its end, the rest where a `break` ended it."""
    for each in finished:
        exhaust(each, iterable)
    for each in ended:
        if each.flow is not None and each.flow.kind == "break":
            advance(each, iterable, each.iterations[depth].number)
