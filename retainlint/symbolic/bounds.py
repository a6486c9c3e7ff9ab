"""What a path knows of how large a number is, from the bounds of a loop's index and the comparisons that were chosen."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from retainlint.symbolic.state import State
from retainlint.symbolic.values import Const, Symbol, Term, Value

_COMPARE: dict[str, Callable[[int, int], bool]] = {"==": operator.eq, "<": operator.lt, "<=": operator.le}


def linear(value: Value) -> tuple[Value | None, int]:
    """A number as (unknown base, known offset); the base is None where the number is known."""
    if isinstance(value, Const) and isinstance(value.value, int):
        return None, int(value.value)
    if isinstance(value, Term) and value.op == "+" and isinstance(value.args[1], Const):
        offset = value.args[1].value
        if isinstance(offset, int):
            return value.args[0], offset
    return value, 0


def by_bounds(op: str, left: Value, right: Value) -> bool | None:
    """Decide where both are numbers over the same unknown, or where a loop index has bounds that tell."""
    (lbase, loff), (rbase, roff) = linear(left), linear(right)
    if lbase == rbase:
        return _COMPARE[op](loff, roff)
    if isinstance(lbase, Term) and lbase.op == "positive" and rbase is None and op == "<" and roff - loff <= 0:
        return False
    if isinstance(lbase, Symbol):
        if rbase is None and loff + lbase.low > roff:  # surely greater
            return False
        if lbase.high is not None:
            hbase, hoff = linear(lbase.high)
            if hbase == rbase and loff + hoff < roff:  # surely less
                return op != "=="
            if op == "<=" and hbase == rbase and loff + hoff <= roff:
                return True
    elif isinstance(rbase, Symbol) and lbase is None:
        if roff + rbase.low > loff:
            return op != "=="
        if rbase.high is not None:
            hbase, hoff = linear(rbase.high)
            if hbase is None and roff + hoff < loff:
                return False
    return None


def at_most(state: State, number: Value) -> int | None:
    """The largest that a number may be, by the comparisons that this path has chosen."""
    base, offset = linear(number)
    if base is None:
        return offset
    bounds: list[int] = []
    for term, truth in state.truths.items():
        if not isinstance(term, Term) or len(term.args) != 2 or term.op not in ("==", "<", "<="):
            continue
        (lbase, loff), (rbase, roff) = map(linear, term.args)
        slack = 1 if term.op == ("<" if truth else "<=") else 0
        if lbase == base and rbase is None and truth:
            bounds.append(roff - loff - slack)
        elif rbase == base and lbase is None and truth == (term.op == "=="):
            bounds.append(loff - roff - slack)
    return min(bounds) + offset if bounds else None


def within(state: State, op: str, left: Value, right: Value) -> bool | None:
    """Decide the comparison of an unknown with a number by what this path has chosen of other numbers."""
    base, offset = linear(left)
    if base is None or not isinstance(right, Const) or not isinstance(right.value, int | float):
        return None
    low, high = _bounds(state, base)
    low, high = (low[0] + offset, low[1]), (high[0] + offset, high[1])
    number = right.value
    below = high[0] < number or (high[0] == number and not high[1])
    above = low[0] > number or (low[0] == number and not low[1])
    if op == "==":
        if low[0] == high[0] == number and low[1] and high[1]:
            return True
        return False if below or above else None
    if op == "<":
        return True if below else False if low[0] >= number else None
    return True if high[0] <= number else False if above else None


def _bounds(state: State, base: Value) -> tuple[tuple[float, bool], tuple[float, bool]]:
    """The least and the largest that a number may be on this path, each with whether it may be that."""
    low, high = (-math.inf, True), (math.inf, True)
    for term, truth in state.truths.items():
        if not isinstance(term, Term) or term.op not in ("==", "<", "<=") or not (truth or term.op != "=="):
            continue
        (lbase, loff), (rbase, roff) = map(linear, term.args)
        if lbase == base and isinstance(right := term.args[1], Const) and isinstance(right.value, int | float):
            number, lower, upper = right.value - loff, not truth, truth
        elif rbase == base and isinstance(left := term.args[0], Const) and isinstance(left.value, int | float):
            number, lower, upper = left.value - roff, truth, not truth
        else:
            continue
        closed = term.op == "==" or (term.op == "<=") == truth
        if lower or term.op == "==":
            low = max(low, (number, closed), key=lambda bound: (bound[0], not bound[1]))
        if upper or term.op == "==":
            high = min(high, (number, closed), key=lambda bound: (bound[0], bound[1]))
    return low, high
