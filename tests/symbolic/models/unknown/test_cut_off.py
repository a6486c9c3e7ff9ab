"""What nobody sees surely has no graph where gradients were off, or behind a `detach()`, until something may have given it one."""

from __future__ import annotations

import pytest
from machine import Machine

HEAD = "import torch\nimport torch.nn.functional as F\nimport elsewhere\n"
BARE = {
    "a network's mean": "    with torch.no_grad():\n        loss = network(x).mean()\n",
    "a loss of torch": "    with torch.no_grad():\n        loss = F.mse_loss(network(x), y)\n",
    "an unseen criterion": "    with torch.no_grad():\n        loss = criterion(network(x), y)\n",
    "what is computed of it later": "    with torch.no_grad():\n        out = network(x)\n    loss = 2 * out.square().mean()\n",
    "an attribute": "    with torch.no_grad():\n        out = network(x)\n    loss = out.loss\n",
    "an item": "    with torch.no_grad():\n        out = network(x)\n    loss = out['loss']\n",
    "one of several": "    with torch.no_grad():\n        frames, loss = network(x)\n",
    "detached": "    loss = network(x).detach().mean()\n",
    "detached at last": "    loss = criterion(network(x), y).detach()\n",
    "data": "    loss = criterion(network(x), y).data\n",
    "shown": "    with torch.no_grad():\n        out = network(x)\n    for loss in out.values():\n        break\n",
}


@pytest.mark.parametrize("body", BARE.values(), ids=BARE)
def test_what_lost_its_graph_is_not_backpropagated(machine: Machine, body: str) -> None:
    text = f"{HEAD}def train(network, criterion, x, y):\n{body}    loss.backward()\n"
    assert machine(text).lines == [text.count("\n")]


OUT = "    with torch.no_grad():\n        out = network(x)\n"
GIVEN = {
    "an unseen function": OUT + "    elsewhere.enable(out)\n    loss = out.mean()\n",
    "what an unseen function makes of it": OUT + "    loss = elsewhere.wrap(out).mean()\n",
    "a target that nobody sees": OUT + "    loss = F.mse_loss(out, y)\n",
    "a head": OUT + "    loss = criterion(head(out), y)\n",
    "made a leaf": OUT + "    out.requires_grad_()\n    loss = out.mean()\n",
    "made a leaf by its attribute": "    out = network(x).detach()\n    out.requires_grad = True\n    loss = out.mean()\n",
    "its items made leaves": OUT
    + "    for each in out.values():\n        each.requires_grad_()\n    loss = out['a'].mean()\n",
    "an item set": "    out = network(x).detach()\n    out[y] = head(x)\n    loss = out.mean()\n",
    "filled": OUT + "    out.update(head(x))\n    loss = out['loss']\n",
    "changed in place": OUT + "    out.mul_(y)\n    loss = out.mean()\n",
    "an attribute set": OUT + "    out.loss = head(x)\n    loss = out.loss\n",
    "gradients on": "    with torch.no_grad():\n        with torch.enable_grad():\n            loss = network(x).mean()\n",
    "gradients on where it trains": "    with torch.set_grad_enabled(head):\n        loss = network(x).mean()\n    if not head:\n        return\n",
    "a method that may train": "    with torch.no_grad():\n        loss = elsewhere.step(x)\n",
}


@pytest.mark.parametrize("body", GIVEN.values(), ids=GIVEN)
def test_what_may_have_a_graph_by_now_is_not_told(machine: Machine, body: str) -> None:
    text = f"{HEAD}def train(network, criterion, head, x, y):\n{body}    loss.backward()\n"
    assert machine(text).lines == []


def test_what_was_computed_without_recording_is_a_leaf_once_it_is_asked_to_require_a_gradient(machine: Machine) -> None:
    text = """import torch
def optimise(s, w, lr=0.1):
    b = s.detach().clone()
    b.requires_grad_(True)
    loss = (w @ b).pow(2).sum()
    loss.backward()
    b -= lr * b.grad
    return b.detach()
def prune(up, x):
    with torch.no_grad():
        s = up.weight @ x
    return optimise(s, up.weight.detach())
"""
    assert machine(text).lines == [7]
    assert not machine(text.replace("    b -=", "    with torch.no_grad(): b -=")).incidents
