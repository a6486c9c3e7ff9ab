"""What torch refuses a computed tensor tells of one that only may have a graph that it has none, or ends the path."""

from __future__ import annotations

import pytest
from machine import Machine

HEAD = "import copy\nimport torch\nfrom elsewhere import make\n"
OPTIMISED = """
def fit(net: torch.nn.Module, x):
    features = net(x)
    means = features / features.norm()
    optimizer = torch.optim.Adam({0})
    for _ in range(3):
        loss = ((means - features) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    "given", ["[means]", "[{'params': means, 'lr': 1}]", "(means, features)", "[{'params': [means]}]"]
)
def test_what_is_optimised_was_not_computed(machine: Machine, given: str) -> None:
    assert machine(HEAD + OPTIMISED.format(given)).lines == []


@pytest.mark.parametrize("given", ["net.parameters()", "[make(x)]", "[means.detach().requires_grad_()]"])
def test_what_is_not_among_them_may_be(machine: Machine, given: str) -> None:
    assert machine(HEAD + OPTIMISED.format(given)).lines == [12]


def test_what_was_made_a_leaf_may_be_walked_to_twice(machine: Machine) -> None:
    text = "def fit(x):\n    a = make(x) * 2\n    torch.optim.Adam([a])\n    loss = (a * a).sum()\n"
    assert machine(HEAD + text + "    loss.backward()\n    loss.backward()\n").lines == [9]


COPIED = """
def fit(net: torch.nn.Module, x, y, steps):
    kept = []
    for t in range(steps):
        kept.append(net(x))
    found = torch.stack(kept)
    before = copy.deepcopy({0})
    loss = net(x).exp().sum()
    loss.backward()
    return found.sum().item()
"""


@pytest.mark.parametrize(("given", "lines"), [("found", []), ("{'a': kept}", []), ("found.detach()", [8]), ("y", [8])])
def test_what_is_copied_was_not_computed(machine: Machine, given: str, lines: list[int]) -> None:
    assert sorted({*machine(HEAD + COPIED.format(given)).wasted}) == lines


@pytest.mark.parametrize(("given", "fails"), [("[h]", False), ("h.detach()", True), ("layer", True), ("w", True)])
def test_behind_the_copy_of_what_surely_was_nothing_runs(machine: Machine, given: str, fails: bool) -> None:
    text = f"{HEAD}layer = torch.nn.Linear(3, 3)\nw = layer.weight\nh = layer(torch.rand(3))\nloss = h.exp().sum()\nloss.backward()\n"
    assert machine(f"{text}copy.deepcopy({given})\nloss.backward()\n").lines == ([10] if fails else [])
    handled = f"{text}try:\n    copy.deepcopy({given})\nexcept RuntimeError:\n    loss.backward()\n"
    assert machine(handled).lines == ([] if fails else [12])
