"""Whether one choice of the unknown numbers allows all that a path has chosen."""

from __future__ import annotations

import pytest

from retainlint.symbolic.solver.trials import is_possible
from retainlint.symbolic.state.values import Const, Ref, Symbol, Term, Value

N, K = Ref(1), Ref(2)
TURN = Symbol(3, 2, Term("+", (N, Const(-2))))


def of(op: str, left: Value, right: Value | int) -> Term:
    return Term(op, (left, Const(right) if isinstance(right, int) else right))


@pytest.mark.parametrize(
    ("truths", "expected"),
    [
        ({of("<", N, 3): True, of("==", N, 2): False}, True),
        ({of("<", N, 2): True, of("==", N, 1): False}, False),  # a count is positive, if nothing says otherwise
        ({of("<=", N, 0): True, of("==", N, 1): False}, True),  # and this says so
        ({of("==", of("%", N, K), 0): True, of("==", of("%", of("+", N, 1), K), 0): True}, True),  # by ones
        ({of("==", of("%", N, K), 0): True, of("==", of("%", of("+", N, 1), K), 0): True, of("<", K, 2): False}, False),
        ({of("<", TURN, K): True, of("==", K, 2): True}, False),  # a turn in the middle comes behind the second
        ({N: True, of("==", N, 0): True}, False),
        ({N: False, of("==", N, 0): True}, True),
        ({Term("any", (N, K)): True, N: False, K: False}, False),
        ({Term("any", (of("==", N, 1), of("==", N, 2))): True, of("<", Const(2), N): True}, False),
        ({Term("len", (N,)): True, N: True, of("<=", Term("len", (N,)), 0): True}, False),  # what is true isn't empty
        ({of("==", N, K): True, Term("==", (N, Const("text"))): True}, True),  # no number's
        ({of("==", N, 1_000): True, of("==", N, 1_001): True}, True),  # too large to be tried
    ],
)
def test_possible(truths: dict[Value, bool], expected: bool) -> None:
    assert is_possible(truths) is expected
