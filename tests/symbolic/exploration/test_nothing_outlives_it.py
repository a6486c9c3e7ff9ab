"""What an exploration leaves behind: nothing that the collector would have to look for."""

from __future__ import annotations

import gc

from retainlint.lowering import lower
from retainlint.symbolic import explore
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.text.source import Source

MODIFIED = """\
import torch
from torch import nn, optim

model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
opt = optim.SGD(model.parameters(), lr=0.1)
first = model(torch.randn(3)).pow(2).sum()
second = first * model(torch.randn(3)).pow(2).sum()
first.backward(retain_graph=True)
opt.step()
second.backward()
"""


def test_no_machine_is_held_in_a_circle() -> None:
    """A finding whose proof replayed the failure holds no frame of that; a machine parts from its detectors."""
    gc.collect()
    gc.disable()
    try:
        assert explore(lower(Source("program.py", MODIFIED))).incidents
        assert not any(isinstance(each, Interpreter) for each in gc.get_objects())
    finally:
        gc.enable()
