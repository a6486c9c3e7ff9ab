"""Code that runs on a GPU alone: it is followed as well, and what fails there is told."""

from __future__ import annotations

import pytest
from machine import Machine

SKIPPED = "def test(net, x):\n    if not torch.cuda.is_available():\n        return\n    loss = net(x).mean()\n"
INSIDE = "def test(net, x):\n    if torch.cuda.is_available():\n        loss = net(x).mean()\n        loss.backward()\n"


@pytest.mark.parametrize(
    "text", [SKIPPED + "    loss.backward()\n    loss.backward()\n", INSIDE + "        loss.backward()\n"]
)
def test_a_walk_that_only_a_gpu_reaches_is_followed(machine: Machine, text: str) -> None:
    (told,) = machine("import torch\n" + text).diagnostics
    assert told.code == "RTL102"
    assert not any("happens if" in each for each in told.notes)  # who comes there has one


@pytest.mark.parametrize(
    "text",
    [
        SKIPPED + "    loss.backward()\n",
        INSIDE,
        "def test(net, x):\n    loss = net(x).mean()\n    if torch.cuda.is_available():\n        loss.backward()\n"
        "    if not torch.cuda.is_available():\n        loss.backward()\n",
    ],
)
def test_nothing_is_said_where_it_runs_with_and_without(machine: Machine, text: str) -> None:
    assert machine("import torch\n" + text).diagnostics == []


def test_an_attribute_that_nobody_sets_is_there_also_where_a_gpu_is_asked_for(machine: Machine) -> None:
    text = """
        import torch

        class Trainer:
            def __init__(self, net):
                self.net = net.to("cuda" if torch.cuda.is_available() else "cpu")

            def train(self, x):
                if not hasattr(self, "clients"):
                    raise ValueError("there are no clients")
                loss = self.net(x).mean()
                loss.backward()
                loss.backward()
    """
    assert machine(text).lines == [13]


CLIENT = """
import torch
from torch import nn

class Client:
    def __init__(self, net):
        self.net = self.moved(net)
        self.criterion = self.moved(nn.MSELoss())

    def moved(self, module):
        if torch.cuda.is_available():
            return module.cuda()

    def update(self, image, label):
        loss = self.criterion(self.net(image), label)
        loss.backward()
"""


@pytest.mark.parametrize("more", ["", "Client(nn.Linear(4, 3)).update(torch.randn(8, 4), torch.randn(8, 3))\n"])
def test_what_is_none_without_a_gpu_is_followed_with_one(machine: Machine, more: str) -> None:
    assert machine(CLIENT + more).diagnostics == []
    (told,) = machine(f"{CLIENT}        loss.backward()\n{more}").diagnostics
    assert told.code == "RTL102"


def test_what_is_none_there_may_be_asked_for(machine: Machine) -> None:
    text = """
import torch
def train(net, optimizer, batches):
    scaler = torch.cuda.amp.GradScaler() if torch.cuda.is_available() else None
    for x in batches:
        loss = net(x).mean()
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()
        optimizer.step()
"""
    assert machine(text).diagnostics == []
