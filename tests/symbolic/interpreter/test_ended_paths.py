"""What surely raises ends its path: nothing behind it is told."""

from __future__ import annotations

import pytest
from machine import Machine

FOUND = """
import os, torch
net = torch.nn.Linear(2, 1)
{before}
loss = net(torch.ones(2)).exp().sum(){cut}
{between}
loss.backward()
"""

LOADED = """
def load(path):
    if not os.path.exists(path):
        return None
    return torch.load(path)
state = load("state.pt")
"""


@pytest.mark.parametrize(
    ("asked", "fails"),
    [("state['epoch']", False), ("state.epoch", False), ("state.run()", False), ("print(state)", True)],
)
def test_nothing_is_asked_of_none(machine: Machine, asked: str, fails: bool) -> None:
    """Where an answer leads there: what is None on every path may be set by somebody that nobody sees."""
    before = f"{LOADED}first = {asked}\nmissing = not os.path.exists('other.pt')"
    between = "if state is None and missing:\n    loss.backward()"
    incidents = machine(FOUND.format(before=before, cut="", between=between)).incidents
    answers = [
        each.taken for one in incidents for each in one.conditions if each.span.text == "not os.path.exists(path)"
    ]
    assert (True in answers) == fails


@pytest.mark.parametrize(
    ("context", "fails"),
    [("torch.no_grad", False), ("torch.no_grad()", True), ("helper", False), ("torch.device('cpu')", True)],
)
def test_what_makes_a_context_is_none(machine: Machine, context: str, fails: bool) -> None:
    between = f"with {context}:\n    print(loss)"
    text = FOUND.format(before="def helper(): pass", cut=".detach()", between=between)
    assert bool(machine(text).incidents) == fails
