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


PICKED = """
import torch
names = sorted(name for name in vars(torch.nn) if name[0].isupper() and not name.startswith("Lazy"))
net = getattr(torch.nn, names[0])(2, 1)
loss = net(torch.ones(2)).exp().sum()
for _ in range(3):
    loss.backward()
"""


def test_what_is_picked_of_many_is_no_condition(machine: Machine) -> None:
    """The first backward pass goes on whichever names a path has picked, and tells nothing of the second."""
    (found,) = machine(PICKED).incidents
    assert found.conditions == ()


MASKED = """
import torch
def masked(x, mask):
    if {asked}:
        return x.new_tensor(0.0)
    return x[mask].mean()
def train(net, batches):
    for x, mask in batches:
        masked(net(x), mask).backward()
net = torch.nn.Linear(2, 1)
train(net, unseen())
"""


@pytest.mark.parametrize(("asked", "severity"), [("not mask.any().item()", ["warning"]), ("True", ["error"])])
def test_a_graph_that_is_lacking_for_what_nobody_may_give(machine: Machine, asked: str, severity: list[str]) -> None:
    assert [each.severity.value for each in machine(MASKED.format(asked=asked)).diagnostics] == severity


def test_a_long_text_that_is_read_again_and_again_takes_its_share(machine: Machine) -> None:
    text = f"import json, torch\ntext = '[{'1, ' * 6000}1]'\n" + "{}w = torch.ones(2, requires_grad=True)\n"
    once, often = (machine(text.format("json.loads(text)\n" * count)).exploration.effort for count in (1, 20))
    assert often > 10 * once
