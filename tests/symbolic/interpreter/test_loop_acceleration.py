"""Turns that aren't run lie between those that are: what they may have dropped is not told, what all of them keep is."""

from __future__ import annotations

import pytest
from machine import Machine

HEAD = "def f(net, loader, n):\n    for i, x in enumerate(loader):\n"
REBUILT = "        if {}:\n            h = net(x)\n        h.sum().backward(retain_graph={})\n"


@pytest.mark.parametrize(
    ("built", "kept"),
    [
        ("i % 4 == 0", "i % 4 != 3"),
        ("not i % 100", "i % 100 < 99"),
        ("i % n == 0", "(i + 1) % n != 0"),
        ("i % n == 0", "i % n != n - 1"),
        ("divmod(i, n)[1] == 0", "divmod(i + 1, n)[1] != 0"),
        ("('a', 'b', 'c')[i % 3] == 'a'", "('a', 'b', 'c')[i % 3] != 'c'"),
        ("{0: True, 1: False}[i % 2]", "{0: True, 1: False}[i % 2]"),
        ("i & 3 == 0", "i & 3 != 3"),
    ],
)
def test_what_turns_between_may_have_rebuilt_is_not_told(machine: Machine, built: str, kept: str) -> None:
    assert machine(HEAD + REBUILT.format(built, kept)).lines == []


@pytest.mark.parametrize(
    ("built", "kept"),
    [
        ("i % 4 == 0", "i % 2 == 0"),
        ("i % 8 == 0", "i % 4 != 3"),
        ("i % n == 0", "i % n == 0"),
        ("i % n == 0", "i % n < n - 2"),
        ("i % 3 == 0", "('a', 'b', 'c')[i % 3] == 'a'"),
    ],
)
def test_a_turn_that_follows_another_is_run_behind_it(machine: Machine, built: str, kept: str) -> None:
    assert machine(HEAD + REBUILT.format(built, kept)).lines == [5]


def test_what_every_turn_between_carries_on_is_told(machine: Machine) -> None:
    body = "        h = net(x, h)\n        if (i + 1) % 40 == 0:\n            h.sum().backward()\n"
    assert machine(HEAD.replace("    for", "    h = None\n    for") + body).lines == [6]


def test_a_turn_that_may_be_the_last_ends_the_loop(machine: Machine) -> None:
    """Where a path chose that the bound is reached, no other turn comes."""
    head = "def f(net, loader, n):\n    for i in range(0, len(loader), n):\n        h = net(i)\n"
    loop = "        for j in range(i, min(i + n, len(loader))):\n            h.sum().backward(retain_graph={})\n"
    assert machine(head + loop.format("j + 1 < min(i + n, len(loader))")).lines == []
    assert machine(head + loop.format("j + 2 < min(i + n, len(loader))")).lines == [5]


WINDOWS = """import torch
cell, h, total = torch.nn.Linear(3, 3), torch.zeros(1, 3), 0.0
K = {}
for t in range(95):
    h = torch.tanh(cell(h))
    total = total + h.sum()
    if (t + 1) % K == 0:
        total.backward()
        total = 0.0
"""


@pytest.mark.parametrize("apart", [3, 12, 20])
def test_a_long_loop_is_run_up_to_its_second_backward_pass(machine: Machine, apart: int) -> None:
    text = WINDOWS.format(apart)
    assert machine(text).lines == [8]
    assert machine(text + "        h = h.detach()\n").lines == []
