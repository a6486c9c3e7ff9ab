"""Hooks around the step of an optimiser that nobody sees: they are called as those of any other."""

from __future__ import annotations

import pytest
from machine import Machine

TRAIN = """import torch
from somewhere import build_optimizer
weight = torch.ones(3, requires_grad=True)
kept = {{}}
optimizer = build_optimizer([weight])
optimizer.register_step_{when}_hook(lambda *_: {hook})
for _ in range(3):
    if "square" not in kept:
        kept["square"] = weight * weight
    optimizer.zero_grad()
    kept["square"].sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("when", ["pre", "post"])
@pytest.mark.parametrize(("hook", "lines"), [("kept.clear()", []), ("print(len(kept))", [11])])
def test_what_a_hook_does_is_done_around_the_step(machine: Machine, when: str, hook: str, lines: list[int]) -> None:
    assert machine(TRAIN.format(when=when, hook=hook)).lines == lines
