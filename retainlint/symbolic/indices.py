"""Which of a few items an index names that is computed from a loop's counter: a path for each that it may be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from retainlint.symbolic import arithmetic, facts
from retainlint.symbolic.state import State
from retainlint.symbolic.values import Bound, Closure, Const, Symbol, Term, Value

FEW = 4
"""From so many items, each is taken on a path of its own; of more, one stands for all."""


def ways(state: State, index: Value, items: Sequence[tuple[Value, Value]]) -> list[tuple[State, Value]]:
    """Each item, or the one that is known to be meant, with the state in which it is; `items` come with their indices.
    Every one has its turn, so nothing is taken for granted."""
    found: list[tuple[State, Value]] = []
    for number, (key, item) in enumerate(items, 1):
        asked = facts.compare(state, "==", index, key)
        truth = facts.decide(state, asked)
        if truth is True or (truth is None and number == len(items)):
            return [*found, (state, item)]
        if truth is None:
            other = state.fork()
            state.truths[asked] = True
            other.truths[asked] = False
            found.append((state, item))
            state = other
    return found or [(state, items[-1][1])]


def mirrored(index: Value, size: Value) -> Value:
    """The index from the end of what has that many items: one between the second and the last stays between."""
    last = arithmetic.sum_of("-", size, Const(1))
    if index == last:
        return Const(0)
    if isinstance(index, Symbol):
        return Symbol(-index.id, 1, arithmetic.sum_of("-", size, Const(3)), index.loop)
    return arithmetic.sum_of("-", last, index)


def numbered(items: Iterable[Value]) -> list[tuple[Value, Value]]:
    """The items of a sequence with their indices."""
    return [(Const(number), item) for number, item in enumerate(items)]


def may_tell(index: Value, items: Collection[Value]) -> bool:
    """Whether it is worth it: a remainder that chooses between a few numbers, texts and the like, or functions."""
    is_counted = isinstance(index, Term) and index.op in ("%", "-", "+") and isinstance(index.args[0], Symbol | Term)
    return is_counted and 1 < len(items) <= FEW and all(isinstance(item, Const | Closure | Bound) for item in items)
