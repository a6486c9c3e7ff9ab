"""Programs that branch, nest and call each other as badly as can be stay within their budget, or say that they don't."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from machine import Machine

from retainlint.symbolic.state import limits

HEAD = "import torch\nmodel = torch.nn.Linear(2, 2)\n"
BACKWARD = "    loss = model(x).sum()\n    loss.backward()\n"


def branches(count: int) -> str:
    body = "".join(
        f"    if options.flag{n}:\n        x = x * {n + 2}\n    else:\n        x = x + {n}\n" for n in range(count)
    )
    return f"{HEAD}def train(x, options):\n{body}{BACKWARD}"


def loops(depth: int) -> str:
    heads = "".join(f"{'    ' * (n + 1)}for i{n} in things{n}:\n" for n in range(depth))
    inside = "    " * (depth + 1)
    names = ", ".join(f"things{n}" for n in range(depth))
    return f"{HEAD}def train(x, {names}):\n{heads}{inside}y = model(x).sum()\n{inside}y.backward()\n"


def helpers(count: int) -> str:
    bodies = "".join(
        f"def helper{n}(x, flag):\n    if flag:\n        return helper{(n + 1) % count}(x, flag) + x\n"
        f"    return helper{(n * 7 + 3) % count}(x * 2, flag)\n"
        for n in range(count)
    )
    return f"{HEAD}{bodies}def train(x, flag):\n    loss = helper0(model(x), flag).sum()\n    loss.backward()\n"


def methods(count: int) -> str:
    bodies = "".join(
        f"    def step{n}(self, x):\n        self.total = self.model(x).sum() + {n}\n        self.total.backward()\n"
        f"        return self.step{(n + 1) % count}\n"
        for n in range(count)
    )
    return f"{HEAD}class Trainer:\n    def __init__(self):\n        self.model = torch.nn.Linear(2, 2)\n{bodies}"


def dying(count: int) -> str:
    body = "".join(
        f"    kind{n} = None\n    if options.flag{n}:\n        kind{n} = options.other\n"
        f"    if options.loud{n}:\n        print(kind{n})\n"
        for n in range(count)
    )
    return f"{HEAD}def train(x, options):\n{body}{BACKWARD}"


def script(iterations: int) -> str:
    iteration = "y{n} = model(torch.randn(2, 2))\nloss{n} = y{n}.sum() * {n}\nloss{n}.backward()\nprint(loss{n}.item())\nn{n} = {n}\n"
    return HEAD + "".join(iteration.format(n=n) for n in range(iterations))


CASES = {
    "30 branches in a row": branches(30),
    "30 options that are asked once": dying(30),
    "5 loops in each other": loops(5),
    "200 helpers that call each other": helpers(200),
    "a class with 100 methods": methods(100),
    "a script of 5,000 lines": script(1000),
}


@pytest.mark.parametrize("name", CASES)
def test_a_worst_case_stays_within_its_budget(machine: Machine, name: str) -> None:
    exploration = machine(CASES[name])
    assert exploration.steps < limits.ENTRY_STEPS / 3
    assert not exploration.says("budget")
    assert exploration.incidents == ()


@pytest.mark.parametrize("name", CASES)
def test_what_stops_short_of_its_end_says_so(machine: Machine, name: str) -> None:
    exploration = machine.within(20)(CASES[name])
    assert exploration.says("its budget of 20 steps ran out")


def steps(machine: Machine, text: str) -> int:
    exploration = machine(text)
    assert not exploration.says("budget")
    return exploration.steps


@pytest.mark.parametrize("make", [branches, dying, methods, script])
def test_the_cost_grows_no_faster_than_the_program(machine: Machine, make: Callable[[int], str]) -> None:
    few, many = (steps(machine, make(size)) for size in (8, 32))
    assert many <= few * 4.5


def test_what_no_walk_needs_costs_nothing(machine: Machine) -> None:
    aside = "".join(
        f"def aside{n}(x):\n    for i in x:\n        x = x + i\n    return aside{n}(x)\n" for n in range(100)
    )
    plain = f"{HEAD}def train(x):\n{BACKWARD}"
    assert steps(machine, plain + aside) <= steps(machine, plain) + 2 * 100  # a definition and its name
