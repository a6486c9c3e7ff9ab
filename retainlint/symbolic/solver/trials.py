"""What conditions on unknown numbers allow, told by trying small ones.

Whether all that a path has chosen can hold together; and whether a condition on remainders, `i % n`, holds in all cases that
this allows, or in none.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from retainlint.ir import facts
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.reachability import each_once
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, Ref, Symbol, Term, Value
from retainlint.text.source import Span

Number: TypeAlias = "int | float | bool"
Test: TypeAlias = "Callable[[Sequence[Number]], Number]"
Known: TypeAlias = "tuple[Value, bool]"
"""A condition, and how it was answered."""

_BINARY: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "/": operator.truediv, "==": operator.eq, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_UNARY: dict[str, Callable[[Number], Number]] = {
    "-": operator.neg, "+": operator.pos, "abs": abs, "int": int, "bool": bool, "not": operator.not_,
}  # fmt: skip
_MANY: dict[str, Callable[[tuple[Number, ...]], Number]] = {"min": min, "max": max, "any": any, "all": all}


class _TooMany(Exception):
    """More is to be tried than it is worth."""


# -- remainders ----------------------------------------------------------------------------------------------------


def has_remainder(value: Value) -> bool:
    """Whether a number, or a condition, is computed from a remainder."""
    if type(value) is not Term:
        return False
    if value.has_remainder is None:
        value.has_remainder = value.op in ("%", "//") or any(map(has_remainder, value.args))
    return value.has_remainder


def decide(state: State, value: Term) -> bool | None:
    """Whether a condition on remainders holds, if in all cases or in none that the path allows; None otherwise."""
    if not has_remainder(value) or not _is_computed(value):
        return None
    unknowns = list(dict.fromkeys(leaves(value)))
    if not 1 <= len(unknowns) <= 2:
        return None
    known = [
        (term, truth)
        for term, truth in state.truths.items()
        if term in unknowns or (_is_computed(term) and set(unknowns).issuperset(leaves(term)))
    ]
    ranges = _residues(unknowns, [value, *(term for term, _ in known)]) if known else None
    if ranges is None:
        return None
    tests, asked = [(_worked_out(term, unknowns), truth) for term, truth in known], _worked_out(value, unknowns)
    found: bool | None = None
    for numbers in product(*ranges):
        if all(_answers(numbers, test, truth) for test, truth in tests):
            answer = _answered(numbers, asked)
            if answer is not None and found not in (None, answer):
                return None
            found = found if answer is None else answer
    return found


def _residues(unknowns: list[Value], terms: list[Value]) -> list[list[int]] | None:
    """The numbers to try for each unknown; None if too many."""
    divisors = {each for term in terms for each in _divisors(term, "%", "//")}
    period = 1
    for each in divisors:
        if isinstance(each, Const) and isinstance(each.value, int) and each.value and period <= limits.RESIDUES:
            period = math.lcm(period, abs(each.value))
    divided = divisors.intersection(unknowns)
    most = limits.RESIDUES // (limits.DIVISORS + 1) if divided else limits.RESIDUES_OF_PAIR
    most = limits.RESIDUES if len(unknowns) == 1 else most
    if period > most:
        return None
    count = min(max(2 * period, 3 * limits.DIVISORS), most)
    lows = [each.low if isinstance(each, Symbol) else 0 for each in unknowns]
    return [
        [*range(1, limits.DIVISORS + 1), limits.LARGE_DIVISOR] if each in divided else [*range(low, low + count)]
        for each, low in zip(unknowns, lows, strict=True)
    ]


def is_out_of_step(state: State, backward_pass: Span) -> bool:
    """Whether this path has answered, now so and now otherwise, a condition on the remainder of a number that it doesn't
    follow: of a tensor, or of what an unseen object counts. It may have missed the turn in which it was so again, where
    `walk` frees its graph by such a choice."""
    answers: dict[Span, bool] = {}
    if not any(choice.condition.span in backward_pass for choice in state.choices):
        return False
    return any(
        answers.setdefault(choice.condition.span, choice.condition.taken) is not choice.condition.taken
        and facts.of_span(choice.condition.span).has_remainder
        and not has_remainder(choice.term)
        for choice in state.choices
    )


# -- all conditions of a path --------------------------------------------------------------------------------------


def is_possible(truths: Mapping[Value, bool]) -> bool:
    """Whether some numbers give all these answers; True too where that can't be told. An unknown that the program counts
    with is taken for positive, unless a condition of its own says otherwise."""
    known = [(term, truth) for term, truth in truths.items() if _is_computed(term)]
    known += [(term, truths[term]) for term in _leaves_of(known) if term in truths]
    known += [(Term("<=", (each, each.high)), True) for each in _symbols(known) if each.high is not None]
    known += [(Term("<", (Const(0), each)), truths[of]) for each, of in _lengths(known) if of in truths]
    try:
        return all(_is_solvable(group) for group in _groups(known))
    except _TooMany:
        return True


def _is_solvable(known: list[Known]) -> bool:
    """Whether numbers can be found for conditions that hang together."""
    inside = [(term, truth, frozenset(leaves(term))) for term, truth in known]
    weight = Counter(leaf for _, _, named in inside for leaf in named)
    order = [leaf for leaf, _ in weight.most_common()]
    numbers = [abs(each) for term, _ in known for each in _numbers(term)]
    if len(known) < 2 or max(numbers, default=0) > limits.NAMED_NUMBER:
        return True
    divisors = [each for term, _ in known for each in _divisors(term, "%") if isinstance(each, Const)]
    rounds = math.lcm(*(each for divisor in divisors if isinstance(each := divisor.value, int) and each))
    # What goes by remainders comes round again.
    top = max([limits.TRIED_NUMBERS, *(int(each) + 3 for each in numbers), 2 * rounds])
    if top > limits.TRIES:  # to try all takes more than is tried, so that nothing can be ruled out
        return True
    atoms = [each for term, truth in known for each in _atoms(term, truth)]
    ranges = [_range(leaf, [each for each in atoms if set(leaves(each[0])) == {leaf}], top) for leaf in order]
    checks = [
        [(term, truth) for term, truth, needs in inside if leaf in needs and needs <= set(order[: depth + 1])]
        for depth, leaf in enumerate(order)
    ]
    tests = [[(_worked_out(term, order), truth) for term, truth in conditions] for conditions in checks]
    placed: list[Number] = [0] * len(order)
    left = [limits.TRIES]

    def search(depth: int) -> bool:
        if depth == len(order):
            return True
        for number in ranges[depth]:
            left[0] -= 1
            if left[0] < 0:
                raise _TooMany
            placed[depth] = number
            if all(_answers(placed, test, truth) for test, truth in tests[depth]) and search(depth + 1):
                return True
        return False

    return search(0)


def _atoms(term: Value, truth: bool) -> Iterator[Known]:
    """The conditions of which one is made, each as it has to be answered for its part."""
    if isinstance(term, Term) and term.op in ("any", "all", "not"):
        for arg in term.args:
            yield from _atoms(arg, truth is not (term.op == "not"))
    else:
        yield term, truth


def _range(leaf: Value, own: list[Known], top: int) -> list[Number]:
    """The numbers to try for one unknown: positive ones, unless a condition on it alone holds for none of these."""
    if isinstance(leaf, Symbol):
        return list(range(leaf.low, leaf.low + top + 1))
    halves = [each + 0.5 for term, _ in own for each in _numbers(term) if isinstance(each, float)]
    tried: list[Number] = [*range(1, top + 1), *(each for each in halves if each > 0)]
    tests = [(_worked_out(term, [leaf]), truth) for term, truth in own]
    for more in ((), (0,), range(-1, -top, -1)):
        tried += more
        if all(any(_answers([number], test, truth) for number in tried) for test, truth in tests):
            break
    return tried


def _answers(placed: Sequence[Number], test: Test, truth: bool) -> bool:
    """Whether the numbers in their places give a condition this answer."""
    return _answered(placed, test) is truth


def _answered(placed: Sequence[Number], test: Test) -> bool | None:
    """What a condition is for the numbers in their places; None where it isn't."""
    try:
        return bool(test(placed))
    except ArithmeticError:
        return None


def _worked_out(value: Value, order: list[Value]) -> Test:
    """A condition as a function of the numbers, which stand in that order. Raises _TooMany for what is none of these."""
    if value in order:
        return operator.itemgetter(order.index(value))
    match value:
        case Const(int(number)) | Const(float(number)):
            return lambda _: number
        case Term(op=op, args=(left, right)) if op in _BINARY:
            binary, first, second = _BINARY[op], _worked_out(left, order), _worked_out(right, order)
            return lambda placed: binary(first(placed), second(placed))
        case Term(op=op, args=(one,)) if op in _UNARY:
            unary, of = _UNARY[op], _worked_out(one, order)
            return lambda placed: unary(of(placed))
        case Term(op=op, args=args) if op in _MANY:
            many, each = _MANY[op], [_worked_out(arg, order) for arg in args]
            return lambda placed: many(tuple(one(placed) for one in each))
    raise _TooMany


def _is_computed(value: Value) -> bool:
    """Whether a value is worked out from numbers, and isn't one that nobody knows."""
    if not isinstance(value, Term):
        return False
    if not all(isinstance(each.value, int | float) for each in value.args if isinstance(each, Const)):
        return False
    count = len(value.args)
    return (
        (value.op in _BINARY and count == 2) or (value.op in _UNARY and count == 1) or (value.op in _MANY and count > 0)
    )


def _constants(value: Value) -> Iterator[Const]:
    if isinstance(value, Const):
        yield value
    elif isinstance(value, Term) and _is_computed(value):
        for arg in value.args:
            yield from _constants(arg)


def _numbers(value: Value) -> Iterator[Number]:
    return (each.value for each in _constants(value) if isinstance(each.value, int | float))


def _divisors(value: Value, *ops: str) -> Iterator[Value]:
    """By what is divided, by some operations."""
    if isinstance(value, Term) and _is_computed(value):
        if value.op in ops:
            yield value.args[1]
        for arg in value.args:
            yield from _divisors(arg, *ops)


def leaves(value: Value) -> Iterator[Value]:
    """What a condition is computed from, and isn't computed itself."""
    if isinstance(value, Term) and _is_computed(value):
        for arg in value.args:
            yield from leaves(arg)
    elif not isinstance(value, Const):
        yield value


def _leaves_of(known: list[Known]) -> list[Value]:
    return [
        leaf
        for leaf in dict.fromkeys(each for term, _ in known for each in leaves(term))
        if isinstance(leaf, Ref | Term)
    ]


def _symbols(known: list[Known]) -> list[Symbol]:
    """The turn numbers that conditions name, those too that only bound others."""

    def bounds(leaf: Value) -> Iterable[Value]:
        return leaves(leaf.high) if isinstance(leaf, Symbol) and leaf.high is not None else ()

    found = each_once([leaf for term, _ in known for leaf in leaves(term)], bounds)
    return [leaf for leaf in found if isinstance(leaf, Symbol)]


def _lengths(known: list[Known]) -> list[tuple[Term, Value]]:
    """The lengths that conditions name, each with what is so long: that is true if it isn't empty."""
    named = dict.fromkeys(each for term, _ in known for each in leaves(term))
    return [(each, each.args[0]) for each in named if isinstance(each, Term) and each.op == "len"]


def _groups(known: list[Known]) -> list[list[Known]]:
    """The conditions that hang together, by the unknowns that they name."""
    groups: list[tuple[set[Value], list[Known]]] = []
    for each in known:
        names = set(leaves(each[0]))
        touching = [group for group in groups if group[0] & names]
        groups = [group for group in groups if not group[0] & names]
        merged = names.union(*(group[0] for group in touching))
        groups.append((merged, [one for group in touching for one in group[1]] + [each]))
    return [group for _, group in groups]
