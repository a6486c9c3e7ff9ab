"""Sets of known items: a loop over what two of them make runs as often as that holds items."""

from __future__ import annotations

import pytest
from machine import Machine

LOSS = """import torch
from somewhere import some
weight = torch.ones(3, requires_grad=True)
other = torch.ones(3, requires_grad=True)
loss = (weight * other).sum()
"""
ONE = [
    "{1, 2} & {2, 3}", "{1, 2} - {2, 3}", "{1, 2} ^ {2}", "{1, 1} | {1}", "{1, 2}.intersection([2], (2, 3))",
    "{1, 2}.difference({1: 'a'})", "{1, 2}.symmetric_difference({2})", "{1}.union([1])", "{'a': 1}.keys() & {'a', 'b'}",
    "{weight, other} - {other}", "frozenset('ab') & frozenset('bc')",
]  # fmt: skip
TWO = [
    "{1, 2} & {2, 1, 3}", "{1, 2} - {3}", "{1, 2} ^ {2, 3}", "{1} | {2}", "{1}.union([1], [2])", "{weight, other} - {loss}",
]  # fmt: skip


@pytest.mark.parametrize("made", ONE)
def test_a_loop_over_one_item_runs_once(machine: Machine, made: str) -> None:
    assert machine(f"{LOSS}for each in {made}:\n    loss.backward()\n").lines == []


@pytest.mark.parametrize("made", TWO)
def test_a_loop_over_two_items_runs_twice(machine: Machine, made: str) -> None:
    (told,) = machine(f"{LOSS}for each in {made}:\n    loss.backward()\n").diagnostics
    assert not any("happens if" in note for note in told.notes)


@pytest.mark.parametrize(
    ("changed", "lines"), [("intersection_update({2})", []), ("difference_update([3])", [9]), ("add(1)", [9])]
)
def test_a_set_is_changed_in_place(machine: Machine, changed: str, lines: list[int]) -> None:
    assert machine(f"{LOSS}made = {{1, 2}}\nmade.{changed}\nfor each in made:\n    loss.backward()\n").lines == lines
