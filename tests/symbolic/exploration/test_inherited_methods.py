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
