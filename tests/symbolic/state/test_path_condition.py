"""What a path has chosen, looked up by what it speaks of; what two paths know apart, and what they have replaced."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.symbolic.interpreter.loop_plan import Plan
from retainlint.symbolic.state.path_condition import Truths
from retainlint.symbolic.state.state import State, replaced
from retainlint.symbolic.state.values import Const, Ref, Term, UnknownObj, Value
from retainlint.text.source import Source, Span

N, M = Ref(1), Ref(2)
LESS = Term("<", (N, Const(3)))
SAME = Term("==", (Term("+", (M, Const(1))), N))
AMONG = Term("among", (M, Const("a")))
NOWHERE = Span(Source("", ""), 0, 0)


def test_comparisons_are_found_by_either_side_in_their_order() -> None:
    truths = Truths({LESS: True, N: True, SAME: False, AMONG: True})
    assert list(truths.about(N)) == [(LESS, True), (SAME, False)]
    assert list(truths.about(M)) == [(SAME, False), (AMONG, True)]
    assert list(truths.about(M, N)) == [(LESS, True), (SAME, False), (AMONG, True)]
    assert not list(truths.about(None, Ref(3)))


def test_what_is_chosen_later_is_found_too_and_only_on_its_path() -> None:
    truths = Truths({LESS: True})
    assert list(truths.about(N))
    fork = Truths(truths)
    fork[SAME] = True
    assert list(fork.about(N)) == [(LESS, True), (SAME, True)]
    assert list(truths.about(N)) == [(LESS, True)]
    fork[SAME] = False
    assert list(fork.about(M)) == [(SAME, False)]
    del fork[LESS]
    assert list(fork.about(N)) == [(SAME, False)]


def test_two_paths_know_apart_what_one_has_not_chosen_or_otherwise() -> None:
    before = Truths({N: True, LESS: False})
    one, other = Truths(before), Truths(before)
    one[SAME] = True
    other[SAME], other[AMONG] = False, True
    assert one.apart(other) == ({SAME: True}, {SAME: False, AMONG: True})
    other[N] = False
    assert one.apart(other)[0] == {N: True, SAME: True}
    assert one.apart(one) == ({}, {})


def test_records_replaced_since_two_paths_were_one() -> None:
    state = State()
    first, second, third = (state.new(UnknownObj(NOWHERE)) for _ in range(3))
    state.set(first, UnknownObj(NOWHERE, plain=True))
    other = state.fork()
    assert replaced(state, other) == set()
    state.set(second, UnknownObj(NOWHERE, plain=True))
    child = state.fork().fork()
    child.set(third, UnknownObj(NOWHERE, plain=True))
    assert replaced(child, other) == replaced(other, child) == {second.id, third.id}
    assert replaced(child, state) == {third.id}


LOOPS = """
def train(net, loader, n, k, optimizer):
    loss = 0
    for i, x in enumerate(loader):
        loss = loss + net(x).mean()
        if i == n - 1 or (i + 1) % k == 0:
            loss.backward()
            optimizer.step()
    for j in range(n):
        if j + 1 == n:
            loss.backward()
    for a, b in zip(loader, range(k)):
        if len(loader) == 3 and a:
            net(a).sum().backward(retain_graph=b < k - 1)
"""


def test_a_turn_is_the_last_whether_or_not_it_is_asked_first(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    last, asked = Plan.is_last, Plan._is_asked
    answers: list[tuple[bool, bool]] = []

    def both(plan: Plan, state: State, index: Value) -> bool:
        shortly = last(plan, state, index)
        with monkeypatch.context() as patched:
            patched.setattr(Plan, "_is_asked", lambda *_: True)
            answers.append((shortly, last(plan, state, index)))
        return shortly

    def noted(plan: Plan, state: State, iteration: Value | None) -> bool:
        shortcuts.append(not asked(plan, state, iteration))
        return not shortcuts[-1]

    shortcuts: list[bool] = []
    monkeypatch.setattr(Plan, "is_last", both)
    monkeypatch.setattr(Plan, "_is_asked", noted)
    assert machine(LOOPS).incidents
    assert {(True, True), (False, False)} == set(answers)
    assert {True, False} == set(shortcuts)
