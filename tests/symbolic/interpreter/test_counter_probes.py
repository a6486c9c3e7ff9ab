"""Arms behind a counter are tried, and told only for what one turn does; remainders of a number know of each other."""

from __future__ import annotations

import pytest
from machine import Machine

HEAD = "def f(net, loader, opt):\n    i = 0\n    for x in loader:\n        i += 1\n        loss = net(x).mean()\n"
BACKWARD = "        if {}:\n            loss.backward()\n"


@pytest.mark.parametrize("test", ["i % 500 == 0", "not i % 500", "i == 1000", "i % 500 == 499 and net"])
def test_an_arm_behind_a_counter_is_entered(machine: Machine, test: str) -> None:
    assert machine(HEAD + "        loss.backward()\n" + BACKWARD.format(test)).lines == [8]


@pytest.mark.parametrize(
    ("one", "other", "fails"),
    [
        ("i % 4", "i % 8 == 0", False),
        ("i % 4 == 1", "i % 2 == 0", False),
        ("i % 4 == 1", "i % 6 == 2", False),
        ("i % 40 == 0", "i % 60 == 0", True),
        ("i % 80 == 0", "i % 40 == 0", True),
    ],
)
def test_remainders_of_one_number_know_of_each_other(machine: Machine, one: str, other: str, fails: bool) -> None:
    assert machine(HEAD + BACKWARD.format(one) + BACKWARD.format(other)).lines == ([9] if fails else [])


def test_what_earlier_turns_left_is_not_told(machine: Machine) -> None:
    """Which turns lie before the one that is tried is unknown."""
    body = "        if i % 200 == 1:\n            kept = net(x).mean()\n            kept.backward()\n"
    body += "        if i % 200 == 6:\n            kept = net(x).mean()\n"
    assert machine(HEAD + body + "        if i % 200 == 7:\n            kept.backward()\n").lines == []


GATHERING = "def f(net, source):\n    batch = []\n    for x in source:\n        batch.append(x)\n        loss = net(torch.stack(batch)).mean()\n"


@pytest.mark.parametrize(
    ("body", "fails"),
    [
        ("        if len(batch) < 128:\n            continue\n        loss.backward()\n        loss.backward()\n", [10]),
        ("        if len(batch) == 64:\n            loss.backward()\n            loss.backward()\n", [9]),
        ("        if len(batch) < 64:\n            loss.backward()\n        if len(batch) >= 64:\n            loss.backward()\n", []),
        ("        if len(batch) < 64:\n            loss.backward()\n            continue\n        loss.backward()\n", []),
        ("        if len(batch) % 64 == 0:\n            loss.backward()\n            batch.clear()\n", []),
    ],
)  # fmt: skip
def test_an_arm_behind_a_batch_that_fills_is_entered(machine: Machine, body: str, fails: list[int]) -> None:
    assert machine("import torch\n" + GATHERING + body).lines == fails
