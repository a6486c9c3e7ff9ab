"""A condition that is asked anew in each turn, and answered both ways on one failing path, is told with the turn that matters."""

from __future__ import annotations

from typing import Any

import pytest
from machine import Machine

from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.state import limits

HOOKED = """
import torch

class Memory:
    def __init__(self):
        self.state = torch.zeros(3)

    def reset(self, grad):
        self.state = torch.zeros(3)

def train(options):
    memory = Memory()
    weight = torch.ones(3, requires_grad=True)
    for _ in range(3):
        memory.state = (memory.state + 1) * weight
        if options.careful():
            memory.state.register_hook(memory.reset)
        (memory.state * weight).sum().backward()
"""
LATE = """
import torch

def train(options, xs, weight):
    weight = torch.ones(3, requires_grad=True)
    kept = None
    for x in xs:
        if options.renew():
            kept = weight * 2
        if kept is None:
            continue
        kept.sum().backward()
"""
NOISY = """
import torch

def train(options):
    weight = torch.ones(3, requires_grad=True)
    total = weight * 2
    for step in range(4):
        if options.verbose():
            total = total * 1
        else:
            total = total * weight
        total.sum().backward()
"""


def test_the_answer_of_the_turn_that_matters_is_told(machine: Machine) -> None:
    asked = machine(HOOKED).incident.conditions
    assert [(each.span.text, each.taken) for each in asked] == [("options.careful()", False)]
    assert all(each.iteration in (0, 1) for each in asked)


def test_two_answers_that_both_matter_are_told(machine: Machine) -> None:
    asked = machine(LATE).incident.conditions
    assert sorted((each.span.text, each.taken) for each in asked) == [
        ("options.renew()", False),
        ("options.renew()", True),
    ]
    first, later = (next(each.iteration for each in asked if each.taken is taken) for taken in (True, False))
    assert 0 < first < later


def test_answers_that_change_nothing_are_not_told(machine: Machine) -> None:
    assert not machine(NOISY).incident.conditions


def test_a_failure_that_takes_too_many_conditions_is_not_told(machine: Machine) -> None:
    names = [f"o.a{number}()" for number in range(limits.CONDITIONS_TOLD + 1)]
    program = (
        "import torch\n\ndef train(o):\n    loss = torch.ones(3, requires_grad=True).exp().sum()\n    loss.backward()\n"
    )
    asked = [f"    if {name}:\n        return\n" for name in names]
    assert not machine(program + "".join(asked) + "    loss.backward()\n").lines
    assert machine(program + "".join(asked[1:]) + "    loss.backward()\n").lines


def test_a_function_that_fails_only_behind_many_conditions_of_its_callers_is_run_for_itself(machine: Machine) -> None:
    asked = [f"    if o.a{number}():\n        return\n" for number in range(limits.CONDITIONS_TOLD + 1)]
    program = """
import torch

def step(weight, x):
    loss = (torch.ones(3, requires_grad=True) * x).exp().sum()
    loss.backward()
    loss.backward()

def train(o, x):
"""
    found = machine(program + "".join(asked) + "    step(None, x)\n\ntrain(o, 1)\n")
    assert found.lines == [7]
    assert not found.incident.conditions


def test_what_never_had_a_graph_is_not_told_where_paths_were_given_up(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
import torch

def train(o):
    loss = torch.zeros(())
    if o.is_done():
        return
    loss.backward()
"""
    assert machine(program).lines == [8]
    told = Interpreter.report

    def given_up(self: Interpreter, *given: Any) -> None:
        self.pruned = True
        told(self, *given)

    monkeypatch.setattr(Interpreter, "report", given_up)
    assert machine(program).lines == []
    assert machine(program.replace("    if o.is_done():\n        return\n", "")).lines == [6]


def test_what_a_switch_is_given_is_the_condition(machine: Machine) -> None:
    found = machine("""
import torch
from torch import nn

def train(learns):
    trunk, heads = nn.Sequential(nn.Linear(2, 3), nn.ReLU()), [nn.Linear(3, 1), nn.Linear(3, 1)]
    trunk.requires_grad_(learns)
    kept = trunk(torch.ones(2))
    heads[0](kept).sum().backward()
    heads[1](kept).sum().backward()
""")
    assert found.lines == [10]
    assert [(each.span.text, each.taken) for each in found.incident.conditions] == [("learns", True)]


CELLS = """
import torch

def train(kind, batches):
    weight = torch.ones(4, requires_grad=True)
    h = torch.zeros(4)
    for x in batches:
        if kind == "lstm":
            h = h.detach() + 1
        elif kind == "gru":
            h = h.detach()
        h = torch.tanh(weight * x + h)
        h.sum().backward()
"""


def test_an_option_is_one_of_those_that_the_program_knows(machine: Machine) -> None:
    assert not machine(CELLS).lines
    assert machine(CELLS.replace("h = h.detach()\n", "pass\n")).lines
    assert machine(
        CELLS.replace("        h = torch.tanh", "        else:\n            print(kind)\n        h = torch.tanh")
    ).lines


OPTIONS = """import torch
w = torch.ones(3, requires_grad=True)
def train(options):
    x = torch.ones(3)
{arms}    loss = (x * w).exp().sum()
    loss.backward()
    if options.more:
        loss.backward()
"""


def test_what_differs_on_failing_paths_alone_is_not_told(machine: Machine) -> None:
    """Of a dozen options each path has its own answers; one is common to those that fail, and denied by those that don't."""
    arms = "".join(f"    if options.flag{n}:\n        x = x * {n + 2} + x.sqrt()\n" for n in range(12))
    (asked,) = machine(OPTIONS.format(arms=arms)).incident.conditions
    assert (asked.span.text, asked.taken) == ("options.more", True)


REACHED = """import torch
w = torch.ones(3, requires_grad=True)
def checked(x):
    if x.dim() != 2:
        raise ValueError(x)
    return x * w
def learn(buffer, options):
    if len(buffer) < options.size:
        return
    if options.kind == "a":
        return
    elif buffer.done or buffer.closed:
        return
    elif options.more and options.last:
        loss = checked(buffer.x).exp().sum()
        {first}
        if options.again:
            loss.backward()
def train(buffer, options):
    for epoch in range(3):
        if epoch % options.every:
            continue
        if buffer.ready:
            learn(buffer, options)
"""


def test_what_only_leads_to_a_failure_is_not_told(machine: Machine) -> None:
    """Who comes to the failing row has come by all tests around it, and by none that raises."""
    (asked,) = machine(REACHED.format(first="loss.backward()")).incident.conditions
    assert (asked.span.text, asked.taken) == ("options.again", True)
    told = machine(REACHED.format(first="loss.backward(retain_graph=options.keep)")).incident.conditions
    assert [(each.span.text, each.taken) for each in told] == [("options.keep", False), ("options.again", True)]


def test_an_option_that_only_leads_to_a_failure_is_told_if_it_must_be_given(machine: Machine) -> None:
    head = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--again', action='store_true')\n"
    text = head + "options = parser.parse_args()\nif options.again:\n    loss = (w * w).sum()\n    loss.backward()\n"
    (asked,) = machine(
        f"import torch\nw = torch.ones(3, requires_grad=True)\n{text}    loss.backward()\n"
    ).incident.conditions
    assert (asked.span.text, asked.by_default) == ("options.again", False)


CAUGHT = """import torch
w = torch.ones(3, requires_grad=True)
def checked(loss, ready):
    if not ready.is_set():
        raise ValueError(ready)
    return loss
def train(x, ready):
    loss = (w * x).sum().exp()
    loss.backward()
    try:
        {body}
    except ValueError:
        again = (w * x).sum().exp()
    again.backward()
"""


@pytest.mark.parametrize(
    "body",
    [
        "again = checked(loss, ready)",
        "if not ready.is_set():\n            raise ValueError(ready)\n        again = loss",
    ],
)
def test_what_raises_for_a_handler_is_told(machine: Machine, body: str) -> None:
    """Behind the handler the other answer goes on: it leads to no failure."""
    (asked,) = machine(CAUGHT.format(body=body)).incident.conditions
    assert (asked.span.text, asked.taken) == ("not ready.is_set()", False)


def test_that_it_is_something_says_what_it_is_not(machine: Machine) -> None:
    kept, freed = "keep = True", "keep = False"
    kinds = {"a": kept, "b": kept, "c": freed}
    arms = "".join(
        f"    {'el' * (n > 0)}if options.kind == {kind!r}:\n        {done}\n"
        for n, (kind, done) in enumerate(kinds.items())
    )
    more = ("options.more", True)
    others = [("options.kind == 'a'", False), ("options.kind == 'b'", False)]
    text = OPTIONS.replace("loss.backward()", "loss.backward(retain_graph=keep)", 1)
    for last, expected in ((kept, [("options.kind == 'c'", True)]), (freed, others)):
        asked = machine(text.format(arms=f"{arms}    else:\n        {last}\n")).incident.conditions
        assert sorted((each.span.text, each.taken) for each in asked) == sorted([*expected, more])


MINED = """
import itertools, torch

def train(steps):
    model = torch.nn.Linear(6, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        rows = model(torch.randn(6, 6))
        total = torch.tensor(0.0)
        for i, j in {pairs}:
            score = rows[i].sum() - rows[j].sum()
            if score.item() > 0.5:
                total = total + score
        opt.zero_grad()
        total.backward()
        opt.step()
"""


@pytest.mark.parametrize("pairs", ["((0, 1),)", "itertools.product(range(6), range(6))"])
def test_what_one_iteration_adds_nothing_to_another_may(machine: Machine, pairs: str) -> None:
    """The answers of the iterations differ, and none of them is needed to fail: yet it fails only where all say no."""
    assert not machine(MINED.format(pairs=pairs)).diagnostics


def test_what_nothing_is_ever_added_to_is_told(machine: Machine) -> None:
    (told,) = machine(
        MINED.format(pairs="((0, 1),)").replace("total = total + score", "count = score.item()")
    ).diagnostics
    assert told.code == "RTL112"


SWITCHED = """
import torch
net = torch.nn.Linear(3, 1)
class Trainer:
    def learn(self, x, number):
        if number % 2 == 0:
            torch.set_grad_enabled(False)
            value = net(x).mean().item()
            if value < 2:
                torch.set_grad_enabled(True)
        net(x).sum().backward()
trainer = Trainer()
for epoch in range(2):
    for number, x in enumerate(torch.rand(6, 2, 3)):
        trainer.learn(x, number)
"""


def test_what_fails_later_by_the_same_answer_hides_no_condition(machine: Machine) -> None:
    """In the third iteration it fails by the answer by which it didn't in the first."""
    (asked,) = machine(SWITCHED).incident.conditions
    assert (asked.span.text, asked.taken) == ("value < 2", False)


FROZEN = """
import sys, torch
config = eval(sys.argv[1])
class Net(torch.nn.Module):
    def __init__(self, frozen):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        if {option}:
            for p in self.fc.parameters():
                p.requires_grad = False
    def weight_of(self, loss):
        return {gradient}
net = Net(True)
{script}
if config["train"]:
    for _ in range(3):
        net.weight_of(net.fc(torch.randn(2, 3)).exp().sum())
"""
GRADIENTS = [
    "torch.autograd.grad(loss, self.fc.weight)",
    "torch.autograd.grad(loss, list(self.fc.parameters()))",
    "loss.backward()",
]


@pytest.mark.parametrize("gradient", GRADIENTS)
def test_who_trains_does_not_freeze_by_an_option_of_what_it_calls(machine: Machine, gradient: str) -> None:
    """Also where the gradient is asked for in a function of its own."""

    def lines(option: str, script: str = "") -> list[int]:
        return machine(FROZEN.format(option=option, gradient=gradient, script=script)).lines

    assert lines('config["freeze"]') == []
    assert lines('config["freeze"] or not config["train"]') == []
    assert lines("frozen") == [12]
    assert lines("False", 'if config["freeze"]:\n    net.requires_grad_(False)') == [12]
