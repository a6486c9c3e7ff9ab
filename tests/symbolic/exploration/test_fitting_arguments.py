"""A function that trains a network of which nothing is said is run for the only network of its file, where that fits."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.diagnostic import Severity
from retainlint.rules import diagnose

NETWORK = """
import torch
from torch import nn

class Cell(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)

    def forward(self, x):
        return torch.tanh(self.fc(x))

class Predictor(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.cell, self.state = Cell(size), None

    def forward(self, x):
        self.state = self.cell(x) if self.state is None else self.cell(x) * self.state
        return self.state

    def reset(self):
        self.state = None
"""
TRAINED = """
def train({given}):
    for x, y in loader:
        {row}
        loss = criterion(model({called}), y)
        optimizer.zero_grad()
        loss.backward() #!
        optimizer.step()
"""
ALL = "model, loader, criterion, optimizer"


@pytest.mark.parametrize(
    ("given", "row", "called", "fails"),
    [
        (ALL, "model.train()", "x", True),
        (ALL, "model.reset()", "x", False),
        (ALL, "model.detach_state()", "x", False),  # it has none
        (ALL, "pass", "x, y", False),  # it takes one
        ("model=None, loader=(), criterion=None, optimizer=None", "pass", "x", False),
        ("model: elsewhere.Net, loader, criterion, optimizer", "pass", "x", False),
    ],
)
def test_it_is_told_as_a_warning_that_names_the_guess(
    machine: Machine, given: str, row: str, called: str, fails: bool
) -> None:
    text = NETWORK + TRAINED.format(given=given, row=row, called=called)
    incidents = machine(text).incidents
    assert [text.splitlines()[each.primary.row - 1][-2:] for each in incidents] == ["#!"] * fails
    for found in map(diagnose, incidents):
        assert found.severity is Severity.WARNING
        assert any(each.endswith("that `model` is a `Predictor`, the only network here") for each in found.notes)


def test_what_fails_with_any_network_stays_an_error(machine: Machine) -> None:
    text = NETWORK + TRAINED.format(given=ALL, row="pass", called="x") + "        loss.backward()\n"
    first, *others = machine(text).incidents
    assert {each.guessed for each in (first, *others) if each.primary.row == len(text.splitlines())} == {""}


def test_one_of_several_networks_is_no_guess(machine: Machine) -> None:
    other = "class Other(nn.Module):\n    def forward(self, x):\n        return x\n"
    assert machine(NETWORK + other + TRAINED.format(given=ALL, row="pass", called="x")).lines == []


def test_what_an_object_keeps_is_guessed_by_what_its_methods_do_with_it(machine: Machine) -> None:
    text = f"""{NETWORK}
class Trainer:
    def __init__(self, model):
        self.net = model
        self.optimizer = torch.optim.Adam(model.parameters())

    def step(self, x):
        loss = self.net(x).sum()
        self.optimizer.zero_grad()
        loss.backward() #!
        self.optimizer.step()
"""
    incidents = machine(text).incidents
    assert [text.splitlines()[each.primary.row - 1][-2:] for each in incidents] == ["#!"]
    assert all(each.guessed for each in incidents)
