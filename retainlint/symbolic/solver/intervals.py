"""What a path knows of a number or an option: how large it is, by a loop's bounds and what was compared, and which of a few values."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias

from retainlint.symbolic.state import limits
from retainlint.symbolic.state.path_condition import Linear, linear, sides
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, External, Ref, Symbol, Term, Tuple, UnknownObj, Value

Bound: TypeAlias = "tuple[int | float, bool]"
"""How large a number may be, and whether it may be that."""

SIZES = frozenset(("len", "numel", "nelement", "dim", "ndimension"))
"""What gives a whole number that isn't negative."""

_COMPARE: dict[str, Callable[[int, int], bool]] = {"==": operator.eq, "<": operator.lt, "<=": operator.le}


def is_reading(value: Value) -> bool:
    """Whether a number was read off a tensor, or is what one holds now."""
    if not isinstance(value, Term):
        return False
    return value.op == "now" or (value.op in ("item", "positive") and isinstance(value.args[0], Symbol))


def is_measured(value: Value) -> bool:
    """Whether a number goes into it that was read off a tensor, and not off its shape."""
    return is_reading(value) or (isinstance(value, Term) and any(map(is_measured, value.args)))


def _is_of_readings(value: Value) -> bool:
    """Whether a number is computed of such, and of known ones alone."""
    if not isinstance(value, Term) or value.op not in ("+", "-", "*", "/"):
        return is_reading(value)
    return all(isinstance(each, Const) or _is_of_readings(each) for each in value.args)


def by_bounds(op: str, left: Value, right: Value) -> bool | None:
    """Decide where both are numbers over the same unknown, or where a loop index has bounds that tell."""
    return _ordered(op, linear(left), linear(right))


def _ordered(op: str, left: Linear, right: Linear) -> bool | None:
    (lbase, loff), (rbase, roff) = left, right
    if lbase == rbase:
        return _COMPARE[op](loff, roff)
    if isinstance(lbase, Term) and lbase.op == "positive" and rbase is None and op == "<" and roff - loff <= 0:
        return False
    if isinstance(lbase, Symbol):
        if rbase is None and loff + lbase.low >= roff + (op != "<"):  # surely greater, or not less
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


def by_others(state: State, op: str, left: Value, right: Value) -> bool | None:
    """Decide where this path has chosen that a number, or a text, is the same as another, or at most that."""
    both = linear(left), linear(right)
    for known, truth in state.truths.about(both[0][0], both[1][0]):
        if not truth or known.op not in ("==", "<="):
            continue
        ways = sides(known)
        for (base, offset), (obase, ooff) in (ways, ways[::-1])[: 2 if known.op == "==" else 1]:
            for at, (asked, ahead) in enumerate(both):
                if base is None or asked != base:
                    continue
                there = both[1 - at]
                if isinstance(obase, Const) and op == "==" and known.op == "==":  # a text
                    return bool(obase.value == there[0].value) if isinstance(there[0], Const) else None
                moved = obase, ooff + ahead - offset
                told = _moved(state, op, moved, there, at) if known.op == "==" else _below(op, moved, there, at)
                if told is not None:
                    return told
    return None


def _moved(state: State, op: str, known: Linear, other: Linear, at: int) -> bool | None:
    """A comparison, with what one side is known to be in its place."""
    told = _ordered(op, known, other) if at == 0 else _ordered(op, other, known)
    if told is not None or known[0] is not None:
        return told
    if op == "==" or at == 1:
        return _within(state, op, other, known[1])
    told = _within(state, "<=" if op == "<" else "<", other, known[1])
    return None if told is None else not told


def _below(op: str, most: Linear, other: Linear, at: int) -> bool | None:
    """A comparison of what is at most some number."""
    return op != "==" and at == 0 if _ordered("<", most, other) else None


def latest(ours: Mapping[Value, bool], theirs: Mapping[Value, bool]) -> dict[Value, bool]:
    """That a number is at most a turn's, where it is that turn's by one path's choice, and an earlier one's by the
    other's; given what each has chosen that the other hasn't."""
    both = _iterations_named(ours), _iterations_named(theirs)
    return {
        Term("<=", (number, index)): True
        for named, others in (both, both[::-1])
        for number, index, is_most in named
        if not is_most and any(number == of and by_bounds("<=", before, index) for of, before, _ in others)
    }


def _iterations_named(known: Mapping[Value, bool]) -> list[tuple[Value, Value, bool]]:
    """The numbers that a path has chosen to be a turn's, or at most that; which turn it is."""
    found: list[tuple[Value, Value, bool]] = []
    for term, truth in known.items():
        if truth and isinstance(term, Term) and term.op in ("==", "<="):
            is_most = term.op == "<="
            for number, index in (term.args,) if is_most else (term.args, term.args[::-1]):
                if not isinstance(number, Const | Symbol):
                    found.append((number, index, is_most))
    return found


def at_most(state: State, number: Value) -> int | None:
    """The largest that a number may be, by the comparisons that this path has chosen."""
    base, offset = linear(number)
    if base is None:
        return offset
    bounds: list[int] = []
    for term, truth in state.truths.about(base):
        (lbase, loff), (rbase, roff) = sides(term)
        slack = 1 if term.op == ("<" if truth else "<=") else 0
        if lbase == base and rbase is None and truth:
            bounds.append(roff - loff - slack)
        elif rbase == base and lbase is None and truth == (term.op == "=="):
            bounds.append(loff - roff - slack)
    return min(bounds) + offset if bounds else None


def within(state: State, op: str, left: Value, right: Value) -> bool | None:
    """Decide the comparison of an unknown with a number by what this path has chosen of other numbers."""
    if not isinstance(right, Const) or not isinstance(right.value, int | float):
        return None
    return _within(state, op, linear(left), right.value)


def _within(state: State, op: str, left: Linear, number: int | float) -> bool | None:
    base, offset = left
    if base is None:
        return None
    low, high = _bounds(state, base)
    if (op != "==" or math.isinf(number)) and _is_of_readings(base):
        low, high = max(low, (-limits.READING, False)), min(high, (limits.READING, False))
    low, high = (low[0] + offset, low[1]), (high[0] + offset, high[1])
    below = high[0] < number or (high[0] == number and not high[1])
    above = low[0] > number or (low[0] == number and not low[1])
    if op == "==":
        if low[0] == high[0] == number and low[1] and high[1]:
            return True
        return False if below or above else None
    if op == "<":
        return True if below else False if low[0] >= number else None
    return True if high[0] <= number else False if above else None


def _bounds(state: State, base: Value) -> tuple[Bound, Bound]:
    """The least and the largest that a number may be on this path, each with whether it may be that."""
    is_size = isinstance(base, Term) and base.op in SIZES
    low: Bound = (0 if is_size else -math.inf, True)
    high: Bound = (math.inf, True)
    for term, truth in state.truths.about(base):
        (lbase, loff), (rbase, roff) = sides(term)
        if term.op == "==" and not truth:
            if is_size and lbase == base and rbase is None and roff - loff == low[0]:
                low = roff - loff + 1, True
            continue
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


# -- the few values that a path leaves open ---------------------------------------------------------------------------


def shared(a: State, b: State) -> dict[Value, bool]:
    """What both paths know together: an option is `"sum"` by one and `"mean"` by the other, so it is nothing else."""
    ours = _texts(a)
    theirs = _texts(b) if ours else {}
    found: dict[Value, bool] = {}
    for option in filter(theirs.__contains__, ours):
        texts = tuple(sorted(ours[option] | theirs[option]))
        if 1 < len(texts) <= limits.TEXT_CHOICES:
            found[Term("among", (option, Tuple(tuple(map(Const, texts)))))] = True
    return found


def decide(state: State, asked: Term) -> bool | None:
    """Whether an option is one of some values, or that one; None if it may be another one of those that are left."""
    option, wanted = asked.args[0], _values(asked)
    if wanted is None:
        return None
    left: frozenset[Value] | None = None
    excluded: frozenset[Value] = frozenset()
    for known, truth in state.truths.about(linear(option)[0]):
        if known.op in ("==", "among") and known.args[0] == option:
            values = _values(known)
            if values is None:
                continue
            if truth:
                left = values if left is None else left & values
            else:
                excluded |= values
    if left is None:
        return False if wanted <= excluded else None
    left -= excluded
    return True if left <= wanted else None if left & wanted else False


def is_consistent(state: State) -> bool:
    """Whether a path gives one answer to each question what an option is. Where it was merged with others it may have
    forgotten that it has answered before; an option is the same in every turn."""
    answers: dict[Value, bool] = {}
    return all(
        answers.setdefault(choice.term, state.truths.get(choice.term, choice.answer)) is choice.answer
        for choice in state.choices
        if asks(choice.term) or _is_in_option(state, choice.term)
    )


def asks(term: Value) -> bool:
    """Whether a condition asks of one value which text it is, or which of some."""
    if not (isinstance(term, Term) and term.op in ("==", "among") and isinstance(term.args[0], Ref | External)):
        return False
    values = _values(term)
    return values is not None and all(map(_is_text, values))


def _is_in_option(state: State, term: Value) -> bool:
    """Whether a condition asks if a text is in one value of which no item has that name, that a path may have set."""
    if not (isinstance(term, Term) and term.op == "in" and isinstance(term.args[0], Const) and _is_text(term.args[0])):
        return False
    held = state.get(term.args[1])
    return isinstance(held, UnknownObj) and f"[{term.args[0].value!r}]" not in held.attrs


def _is_text(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str)


def _values(known: Term) -> frozenset[Value] | None:
    """The values of which an option is one, by an answered condition; None if nobody knows one of them."""
    value = known.args[1]
    if known.op == "among" and isinstance(value, Tuple):
        return frozenset(value.items)
    return frozenset((value,)) if isinstance(value, Const) else None


def _texts(state: State) -> dict[Value, frozenset[str]]:
    found: dict[Value, frozenset[str]] = {}
    for known, truth in state.truths.items():
        if not truth or type(known) is not Term or known.op not in ("==", "among"):
            continue
        option, text = known.args
        if known.op == "among" and isinstance(text, Tuple):
            if texts := frozenset(
                each.value for each in text.items if isinstance(each, Const) and isinstance(each.value, str)
            ):
                found.setdefault(option, texts)
        elif isinstance(text, Const) and isinstance(text.value, str):
            found[option] = frozenset((text.value,))
    return found
