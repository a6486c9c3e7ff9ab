"""What every path is kept from that a script takes, by what it is set to, isn't run by itself where not all paths were followed."""

from __future__ import annotations

import pytest
from machine import Machine

PROGRAM = """import torch

class Config:
    {setting}

def counted(fn):
    def wrapped(*args):
        wrapped.calls += 1
        return fn(*args)
    wrapped.calls = 0
    return wrapped

@counted
def regulariser(w):
    return w.sum()

class Agent:
    def __init__(self, cfg):
        self.cfg = cfg
        self.w = torch.ones(3, requires_grad=True)
        self.items = []

    def train_step(self, x):
        out = self.w * self.w * x
        self.items.append(out)
        loss = torch.stack(self.items).mean() + regulariser(self.w)
        if not torch.isfinite(loss):
            return
        loss.backward()
        {asked}out.mean().backward()
        self.items = []

    def run(self):
        for epoch in range(2):
            for i in range(4):
                self.train_step(torch.randn(3))

Agent(Config()).run()
"""

KEPT = {  # what is asked, with a setting by which nothing fails and another
    "an arm": ("if not self.cfg.debug:\n            ", "debug = True", "debug = False"),
    "an arm of a text": ("if self.cfg.mode == 'slow':\n            ", "mode = 'fast'", "mode = 'slow'"),
    "what returns before": ("if self.cfg.debug:\n            self.items = []\n            return\n        ", "debug = True", "debug = False"),
    "a loop": ("for _ in range(self.cfg.extra):\n            ", "extra = 0", "extra = 1"),
    "a loop that asks": ("while self.cfg.extra > 0:\n            self.cfg.extra -= 1\n            ", "extra = 0", "extra = 1"),
    "an operator": ("self.cfg.debug or ", "debug = True", "debug = False"),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_what_a_setting_keeps_every_path_from_is_not_told(machine: Machine, name: str) -> None:
    asked, quiet, failing = KEPT[name]
    found = machine(PROGRAM.format(asked=asked, setting=quiet))
    assert found.lines == [] and any("not all were followed" in gap.reason for gap in found.gaps)
    (row,) = machine(PROGRAM.format(asked=asked, setting=failing)).lines
    assert "out.mean().backward()" in PROGRAM.format(asked=asked, setting=failing).splitlines()[row - 1]


def test_what_a_number_of_the_data_decides_is_told(machine: Machine) -> None:
    text = PROGRAM.format(asked="if loss.item() > 3:\n            ", setting="debug = True")
    assert machine(text).lines == [31]
