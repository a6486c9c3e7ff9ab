"""The machine on small programs, each judged by torch first."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from machine import Explored, Machine
from symbolic.machine_programs import HEAD, PROGRAMS

from retainlint.symbolic.state import limits

HAS_TORCH = importlib.util.find_spec("torch") is not None


def expected(text: str) -> int | None:
    return next((row for row, line in enumerate(text.splitlines(), 1) if line.endswith("#!")), None)


@pytest.mark.parametrize("name", PROGRAMS)
def test_says_what_torch_says(machine: Machine, name: str) -> None:
    text = HEAD + PROGRAMS[name]
    rows = machine(text).lines
    assert rows[:1] == [row for row in [expected(text)] if row is not None]


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
@pytest.mark.parametrize("name", PROGRAMS)
def test_torch_says_it(name: str, tmp_path: Path) -> None:
    from judge_torch import judge

    script = tmp_path / "program.py"
    script.write_text(HEAD + PROGRAMS[name], encoding="utf-8")
    assert judge(script).line == expected(HEAD + PROGRAMS[name])


def test_a_spent_budget_is_said(machine: Machine) -> None:
    text = "import torch\nfor a in b:\n    for c in d:\n        for e in f:\n            a.backward()\n" * 3
    exploration = machine.within(50)(text)
    assert exploration.says("budget of 50 steps")


def unjudged(explored: Explored) -> list[int]:
    """The backward passes that are counted as not followed."""
    return [gap.span.row for gap in explored.exploration.unjudged if "budget" in gap.reason]


def test_a_backward_pass_behind_a_spent_budget_is_not_followed(machine: Machine) -> None:
    text = (
        "import torch\nw = torch.rand(3, requires_grad=True)\n"
        "def begin():\n    w.exp().sum().backward()\n"
        "def train(a, b):\n    begin()\n" + "    a = b(a)\n" * 50 + "    finish()\n    w.exp().sum().backward()\n"
        "def finish():\n    w.exp().sum().backward()\n"
    )
    assert unjudged(machine.within(100)(text)) == [58]  # that in `finish` is run by itself
    assert unjudged(machine(text)) == []


SAMPLING = """
import torch, random
w = torch.rand(3, 3, requires_grad=True)
def train(x, actor):
    for i in range(5):
        taken = []
        for j in range(5):
            if random.random() > 0.1:
                a = 0 if random.random() < actor(x) else 1
            else:
                a = 1 if random.random() < actor(x) else 0
            taken.append(a)
            if a == 1:
                x = actor.next(x, taken)
            for each in range(len(taken)):
                if taken[each] == 1:
                    x = x + w[each]
                else:
                    x = x - w[each]
    loss = (w * x).exp().sum()
    loss.backward()
    loss.backward()
"""


def test_what_many_ways_keep_from_its_backward_passes_is_run_along_few(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert unjudged(machine.within(3_000)(SAMPLING)) == [21, 22]
    monkeypatch.setattr(limits, "AGAIN_STEPS", 100)  # which have less aren't run again
    assert machine.within(3_000)(SAMPLING).lines == [22]
    assert unjudged(machine.within(3_000)(SAMPLING)) == []


def test_a_script_without_a_walk_of_its_own_gets_less(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ENTRY_STEPS_BEYOND", 50)
    text = "print(a)\n" * 50
    script, backpropagating = (machine(t).steps for t in (text, "loss.backward()\n" + text))
    assert script == 51
    assert backpropagating > 100


def test_endless_recursion_is_cut_and_said(machine: Machine) -> None:
    text = "def f(l):\n    l.backward()\n    return f(l)\nf(1)\n"
    assert machine(text).says("calls itself")


FORKS_UNSEEN = """
def choices(args, wrapper, mode):
    options = [[False, True] if tensorlike else [False] for tensorlike in args]
    for which in product(*options):
        yield [wrap(partial(wrapper, mode), arg) for each, arg in zip(which, args)], which
    for choice in choices(args, wrapper, mode):
        yield choice, mode


import torch


def check(op, args, equal, expected):
    try:
        actual = op(*args)
    except RuntimeError as error:
        complain(error)

    def unwrap(each):
        return each.elem if isinstance(each, wrapper) else each

    try:
        results = op(args)
    except RuntimeError as error:
        complain(error)
    wanted = [each for each in results if each.requires_grad]
    for grads, which in choices(given, wrapper, mode):
        try:
            actual = torch.autograd.grad(wanted, leaves, grads, retain_graph=True)
        except RuntimeError as error:
            complain(error)
        equal(tuple(map(unwrap, actual)), expected, nan=True)
"""


def test_a_function_that_forks_where_its_results_are_gathered_leaves_its_call(machine: Machine) -> None:
    assert not machine(FORKS_UNSEEN).incidents


def test_what_is_zipped_of_an_unknown_number_of_loaders_is_not_empty(machine: Machine) -> None:
    text = (
        HEAD
        + "def f(net, loaders):\n    for rows in zip(*loaders):\n        loss = net(torch.cat([row for row in rows])).mean()\n"
    )
    backward_passes = "        loss.backward()\n        loss.backward()\n"
    incident = machine(text + backward_passes).incident
    assert incident.primary.row == HEAD.count("\n") + 5
