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
