"""What a path knows of remainders, `i % n`: told by trying the numbers that all it has chosen so far allows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from math import lcm
from typing import TypeAlias, TypeGuard

from retainlint.ir import facts
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, Symbol, Term, Value
from retainlint.text.source import Span

_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "==": operator.eq, "<": operator.lt, "<=": operator.le,
}  # fmt: skip

Test: TypeAlias = "Callable[..., bool | None]"


class _TooDeep(Exception):
    """A term has too many levels."""


def decide(state: State, value: Term) -> bool | None:
    """Whether a condition on remainders holds, if in all cases or in none that the path allows; None otherwise."""
    if not has_remainder(value):
        return None
    unknowns = dict.fromkeys(_unknowns(value))
    if not 1 <= len(unknowns) <= 2:
        return None
    known = [
        (term, truth)
        for term, truth in state.truths.items()
        if term in unknowns or (_is_arithmetic(term) and unknowns.keys() >= set(_unknowns(term)))
    ]
    names = tuple(unknowns)
    ranges = _ranges(names, [value, *(term for term, _ in known)]) if known else None
    if ranges is None:
        return None
    test = _test(value, known, names)
    found: bool | None = None
    for numbers in product(*ranges):
        try:
            answer = test(*numbers)
        except ArithmeticError:
            continue
        if answer is not None:
            if found is not None and answer is not found:
                return None
            found = answer
    return found


def _test(value: Term, known: list[tuple[Value, bool]], names: tuple[Value, ...]) -> Test:
    """The truth of a condition for some numbers; None where they contradict what is known. It is made of a text, since
    thousands of numbers are tried: of nothing but numbers, operators and the names of the unknowns."""
    spelled = {name: f"n{place}" for place, name in enumerate(names)}
    try:
        asked = _spelled(value, spelled)
        holds = [f"{'' if truth else 'not '}{_spelled(term, spelled)}" for term, truth in known]
    except _TooDeep:
        return _worked_out(value, known, names)
    return _compiled(f"lambda {', '.join(spelled.values())}: bool({asked}) if {' and '.join(holds)} else None")


@lru_cache(maxsize=limits.REMEMBERED_CONDITIONS)
def _compiled(text: str) -> Test:
    made: Test = eval(text)
    return made


def _worked_out(value: Term, known: list[tuple[Value, bool]], names: tuple[Value, ...]) -> Test:
    """The same, of terms too deep to be a text."""

    def test(*numbers: int) -> bool | None:
        case = dict(zip(names, numbers))
        holds = all(bool(_number(term, case)) is truth for term, truth in known)
        return bool(_number(value, case)) if holds else None

    return test


def is_out_of_step(state: State, backward_pass: Span) -> bool:
    """Whether this path has answered, now so and now otherwise, a condition on the remainder of a number that it doesn't
    follow: of a tensor, or of what an unseen object counts. It may have missed the turn in which it was so again, where
    `walk` frees its graph by such a choice."""
    answers: dict[Span, bool] = {}
    places = [choice.condition.span for choice in state.choices]
    if not any(
        each.source == backward_pass.source and backward_pass.start <= each.start and each.end <= backward_pass.end
        for each in places
    ):
        return False
    return any(
        answers.setdefault(choice.condition.span, choice.condition.taken) is not choice.condition.taken
        and facts.of_span(choice.condition.span).has_remainder
        and not has_remainder(choice.term)
        for choice in state.choices
    )


def _ranges(unknowns: tuple[Value, ...], terms: list[Value]) -> list[list[int]] | None:
    """The numbers to try for each unknown; None if too many."""
    divisors = {part for term in terms for part in _divisors(term)}
    period = 1
    for each in divisors:
        if isinstance(each, Const) and isinstance(each.value, int) and each.value and period <= limits.RESIDUES:
            period = lcm(period, abs(each.value))
    divided = divisors.intersection(unknowns)
    most = (
        limits.RESIDUES
        if len(unknowns) == 1
        else limits.RESIDUES // (limits.DIVISORS + 1)
        if divided
        else limits.RESIDUES_OF_PAIR
    )
    if period > most:
        return None
    ranges: list[list[int]] = []
    for unknown in unknowns:
        low = unknown.low if isinstance(unknown, Symbol) else 0
        if unknown in divided:
            ranges.append([*range(1, limits.DIVISORS + 1), limits.LARGE_DIVISOR])
        else:
            ranges.append(list(range(low, low + min(max(2 * period, 3 * limits.DIVISORS), most))))
    return ranges


def _spelled(value: Value, names: dict[Value, str], depth: int = 0) -> str:
    """A number or condition as Python writes it. Raises _TooDeep where that would be too much for its parser."""
    if depth > limits.FOLDED_DEPTH:
        raise _TooDeep
    if _is_arithmetic(value):
        left, right = (_spelled(each, names, depth + 1) for each in value.args)
        return f"({left} {value.op} {right})"
    if isinstance(value, Const):
        return f"({value.value:#x})" if isinstance(value.value, int) else "0"
    return names[value]


def _number(value: Value, case: dict[Value, int]) -> int:
    if _is_arithmetic(value):
        left, right = value.args
        return _OPERATIONS[value.op](_number(left, case), _number(right, case))
    if isinstance(value, Const):
        return value.value if isinstance(value.value, int) else 0
    return case[value]


def _unknowns(value: Value) -> Iterator[Value]:
    """What a term is computed from, and isn't computed itself."""
    if _is_arithmetic(value):
        for arg in value.args:
            yield from _unknowns(arg)
    elif not (isinstance(value, Const) and isinstance(value.value, int)):
        yield value


def _divisors(value: Value) -> Iterator[Value]:
    if _is_arithmetic(value):
        if value.op in ("%", "//"):
            yield value.args[1]
        for arg in value.args:
            yield from _divisors(arg)


def _is_arithmetic(value: Value) -> TypeGuard[Term]:
    return isinstance(value, Term) and value.op in _OPERATIONS and len(value.args) == 2  # one sign has two meanings


def has_remainder(value: Value) -> bool:
    """Whether a number, or a condition, is computed from a remainder."""
    if type(value) is not Term:
        return False
    if value.has_remainder is None:
        value.has_remainder = value.op in ("%", "//") or any(map(has_remainder, value.args))
    return value.has_remainder
