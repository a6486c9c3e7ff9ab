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
