"""Methods that are run twice on one object: those that an heir inherits too, unless another method drops the graph."""

from __future__ import annotations

import pytest
from machine import Machine

BASE = """import torch
from torch import nn


class Base(nn.Module):
    def step(self, batch):
        loss = self.compute_loss(batch)
        loss.backward()
{more}

class Heir(Base):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 3)
        self.hidden = None

    def compute_loss(self, batch):
        self.hidden = self.cell(batch, self.hidden)
        return self.hidden.square().mean()
"""
RESETS = {
    "": [8],
    "def reset(self):\n        self.hidden = None": [],
    "def cut(self):\n        self.hidden = self.hidden.detach()": [],
    "def begin(self, size):\n        self.hidden = torch.zeros(size, 3)": [],
    "def fit(self, batches):\n        for batch in batches:\n            self.step(batch)": [8],
    "def look(self):\n        return self.hidden is None": [8],
}
"""Other methods of the base, and where it is then told of a failure."""
INIT = 'def __init__(self):\n        super().__init__()\n        self.name = "base"'


@pytest.mark.parametrize("more", RESETS)
def test_a_template_method_is_run_on_its_heirs(machine: Machine, more: str) -> None:
    assert machine(BASE.format(more=f"\n    {more}\n" if more else "")).lines == RESETS[more]


def test_what_is_set_at_first_is_no_reset(machine: Machine) -> None:
    assert machine(BASE.format(more=f"\n    {INIT}\n")).lines == [8]


def test_a_method_of_the_class_itself_is_judged_alike(machine: Machine) -> None:
    """A class is no heir of itself, but what its other methods drop counts as well."""
    alone = BASE.format(more="").replace("class Heir(Base)", "class Heir(nn.Module)")
    own = "\n    def step(self, batch):\n        loss = self.compute_loss(batch)\n        loss.backward()\n"
    assert machine(alone + own).lines == [23]
    assert machine(alone + own + "\n    def reset(self):\n        self.hidden = None\n").lines == []


CONDUCTING = """
class Base:
    def begin(self):
        pass

    def step(self, x):
        self.learn(x)
        self.begin()

    def fit(self, batches):
        for x in batches:
            self.step(x)
"""
CONDUCTED = """
import torch
from base import Base

class Heir(Base):
    def __init__(self):
        self.w = torch.rand(3, requires_grad=True)
        self.trace = torch.zeros(3)

    {more}

    def learn(self, x):
        self.trace = self.trace * self.w + x
        self.trace.sum().backward()
"""


@pytest.mark.parametrize(
    ("more", "line"), [("", [14]), ("def begin(self):\n        self.trace = self.trace.detach()", [])]
)
def test_an_heir_is_led_by_what_it_inherits_from_elsewhere(machine: Machine, more: str, line: list[int]) -> None:
    """What the heir's `learn` does again and again is undone in between, as its base says."""
    found = machine(CONDUCTED.format(more=more or "pass"), base=CONDUCTING)
    assert found.lines == [each + more.count("\n") for each in line]


def test_an_heir_whose_base_only_calls_each_method_once_is_called_so(machine: Machine) -> None:
    once = CONDUCTING.replace("for x in batches:\n            self.step(x)", "self.step(batches)")
    built = (
        CONDUCTED.format(more="pass")
        .replace("torch.zeros(3)", "self.w.exp()")
        .replace("self.trace * self.w + x", "self.trace")
    )
    assert machine(built, base=CONDUCTING).lines == [14]
    assert machine(built, base=once).lines == []


def test_what_an_heir_sets_is_read_by_its_base_in_the_same_file(machine: Machine) -> None:
    """The base alone knows nothing of `self.loss`."""
    text = """
    import torch

    class Base:
        def learn(self):
            self.loss.backward()

        def run(self):
            self.learn()
            self.learn()

    class Heir(Base):
        def __init__(self):
            self.w = torch.rand(3, requires_grad=True)
            self.loss = self.w.exp().sum()
    """
    assert machine(text).lines == [6]


def test_a_function_that_makes_an_heir_is_run_before_what_that_inherits(machine: Machine) -> None:
    """Only the function says that the network keeps its last output."""
    base = """
    class Base:
        def __init__(self, net):
            self.net = net

        def fit(self, batches):
            for x in batches:
                self.learn(x)
    """
    text = """
    import torch
    from base import Base

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(3, 3)
            self.h = torch.zeros(3)

        def forward(self, x):
            self.h = torch.tanh(self.fc(x + self.h))
            return self.h

    class Heir(Base):
        def learn(self, x):
            self.net(x).sum().backward()

    def main(flags):
        heir = Heir(Net())
        heir.fit([torch.rand(3), torch.rand(3)])
    """
    assert machine(text, base=base).lines == [17]


def test_what_a_base_calls_on_an_heir_is_not_run_for_itself(machine: Machine) -> None:
    """`step` alone would walk the graph of the last call again."""
    text = BASE.format(
        more="\n    def fit(self, xs):\n        for x in xs:\n            self.step(x)\n            self.reset()\n"
    )
    reset = "\n    def reset(self):\n        self.hidden = None\n"
    started = text + reset + "\ntrainer = Heir()\ntrainer.fit(torch.rand(5, 4, 3))\n"
    assert machine(started).lines == []
    assert machine(started.replace("self.hidden = None\n\ntrainer", "pass\n\ntrainer")).lines == [8]


def test_a_base_that_hands_its_object_on_leads_the_heir(machine: Machine) -> None:
    text = """
    import torch

    def learn(agent):
        agent.loss = agent.w.exp().sum()
        agent.loss.backward()
        {}

    class Base:
        def step(self, x):
            learn(self)

        def fit(self, xs):
            for x in xs:
                self.step(x)

    class Heir(Base):
        def __init__(self):
            self.w = torch.rand(3, requires_grad=True)
            self.w = self.w.exp()
    """
    assert machine(text.format("pass"), other="").lines == [6]
    assert machine(text.format("agent.w = agent.w.detach().requires_grad_()"), other="").lines == []


def test_who_makes_a_context_is_run_before_it(machine: Machine) -> None:
    text = """
    import torch

    class Learn:
        def __init__(self, owner):
            self.owner = owner

        def __enter__(self):
            pass

        def __exit__(self, *error):
            self.owner.loss.backward()

    class Agent:
        def __init__(self):
            self.loss = torch.rand(3, requires_grad=True).{}()

        def step(self):
            with Learn(self):
                pass

    def main(flags):
        agent = Agent()
        agent.step()
        agent.step()
    """
    assert machine(text.format("norm")).lines == [12]
    assert machine(text.format("sum")).lines == []
