"""Turns that are counted by numbers nobody knows: what such a function can't do is not told, what it does is."""

from __future__ import annotations

import pytest
from machine import Machine

HEAD = "import torch\nfrom torch import nn\n"
NET = "net, xs = nn.Sequential(nn.Linear(3, 3), nn.Tanh()), torch.randn(9, 2, 3)\n"
FROM_ONE = """def f(net, xs, n):
    h = net(xs[0])
    for i in range(1, n + 1):
        (h * i).sum().backward(retain_graph={})
"""
DOWN = FROM_ONE.replace("1, n + 1", "n - 1, -1, -1")
REVERSED = FROM_ONE.replace("range(1, n + 1)", "reversed(range(n))")
ONE_OF_ALL = """def f(net, xs, n):
    h = net(xs[0])
    for i, x in enumerate(xs):
        if {}:
            (h * x).sum().backward()
"""
ONE_EPOCH = """def f(net, xs, n):
    total = 0
    for epoch in range(n + 4):
        for x in xs:
            total = total + net(x).pow(2).mean()
        if {}:
            total.backward()
"""
SHORTEST = """def f(net, xs, n):
    h, ys = net(xs[0]), xs[:n]
    last = min(len(xs), len(ys)) - 1
    for i, (x, y) in enumerate(zip(xs, ys)):
        (h * x * y).sum().backward(retain_graph={})
"""
STAGES = """def f(net, xs, n):
    held = {{}}
    def start(x):
        held["h"] = net(x)
        held["h"].sum().backward(retain_graph=True)
    def finish(x):
        held["h"].pow(2).sum().backward()
    stages = [{}]
    for i, x in enumerate(xs):
        stages[i % len(stages)](x)
"""
REBUILT = """def f(net, xs, n):
    for i, x in enumerate(xs, 1):
        if i % n == 1:
            h = net(x)
        h.sum().backward(retain_graph={})
"""
REFRESHED = """def f(net, xs, n):
    last = None
    for t, x in enumerate(xs):
        if last is None or t - last >= 3:
            h = net(x)
            last = t
        h.sum().backward(retain_graph={})
"""
GATHERED = """def f(net, xs, n):
    total, count = None, 0
    for x in xs:
        loss = net(x).pow(2).mean()
        total = loss if count == 0 else total + loss
        count += 1
        if count < n:
            continue
        (total / count).backward()
        {}
    if count:
        (total / max(count, 1)).backward()
"""
TENSOR = """class Model(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.register_buffer("step", torch.tensor(0))
    def loss(self, x):
        if self.step % 4 == 0:
            self.h = self.net(x)
        self.step += 1
        return self.h.sum()
def f(net, xs, n):
    model = Model(net)
    for x in xs:
        loss = model.loss(x)
        loss.backward({})
"""
COLUMNS = """def f(net, xs, n):
    h = net(xs[0])
    columns = h.shape[1]
    for i, column in enumerate(h.transpose(0, 1)):
        (column * column.sum()).sum().backward(retain_graph={})
"""
PARTS = COLUMNS.replace("enumerate(h.transpose(0, 1))", "enumerate(torch.split(h, 1, dim=1), 1)")
COUNTED_DOWN = """def f(net, xs, n):
    h = net(xs[0])
    left = h.numel()
    while left:
        left -= 1
        (h * left).sum().backward(retain_graph={})
"""
ENTRIES = """def f(net, xs, n, named=None):
    named = xs._asdict() if hasattr(xs, "_asdict") else dict(enumerate(xs))
    h, left = net(xs[0]), len(named)
    for x in named.{}():
        left -= 1
        (h * torch.as_tensor(x[1] if isinstance(x, tuple) else x)).sum().backward(retain_graph={{}})
"""
USED_UP = """def f(net, xs, n):
    h = net(xs[0])
    losses = [(h * x).sum() for x in xs]
    while losses:
        losses.pop().backward(retain_graph={})
"""
ONE_BY_ONE = """def f(net, xs, n):
    h = net(xs[0])
    losses = [(h * x).sum() for x in xs]
    for loss in losses:
        loss.backward(retain_graph={})
"""
NAMED = """def f(net, xs, n):
    h = net(xs[0])
    losses = {{i: (h * x).sum() for i, x in zip(map(str, range(n * 5)), xs)}}
    for i, (name, loss) in enumerate(losses.items()):
        loss.backward(retain_graph={})
"""
PAIRS = {
    "a list that is used up": (USED_UP, "len(losses) > 0", "len(losses) > 1"),
    "all but the last one": (ONE_BY_ONE, "loss is not losses[-1]", "loss is not losses[-2]"),
    "as many as a dict that was filled": (NAMED, "i < len(losses) - 1", "i < len(losses) - 2"),
    "counted down to none": (COUNTED_DOWN, "left != 0", "left > 1"),
    "as many as entries": (ENTRIES.format("items"), "left > 0", "left > 1"),
    "as many as values": (ENTRIES.format("values"), "left > 0", "left > 1"),
    "as many as keys": (ENTRIES.format("keys"), "left > 0", "left > 1"),
    "as many as columns": (COLUMNS, "i + 1 < columns", "i + 2 < columns"),
    "as many as columns by one less": (COLUMNS, "h.size(1) - 1 != i", "h.size(1) - 2 != i"),
    "as many as columns by two less": (COLUMNS, "i <= h.size(1) - 2", "i <= h.size(1) - 3"),
    "as many as parts": (PARTS, "i < columns", "i < columns - 1"),
    "counted from one": (FROM_ONE, "i != n", "i < n - 1"),
    "counted down": (DOWN, "i > 0", "i > 1"),
    "counted backwards": (REVERSED, "i != 0", "i > 1"),
    "one turn of all": (ONE_OF_ALL, "i == n", "i >= n"),
    "one epoch of all": (ONE_EPOCH, "epoch == n", "epoch >= n"),
    "as long as the shorter": (SHORTEST, "i < last", "i < last - 1"),
    "functions in turn": (STAGES, "start, finish", "start, finish, finish"),
    "rebuilt by a remainder that a bound name proves": (REBUILT, "i % n != 0", "i % n != n - 1"),
    "rebuilt some turns later": (REFRESHED, "t - last < 2", "t - last < 1"),
    "what is left at the end": (GATHERED, "count = 0", "pass"),
    "a counter in a tensor": (TENSOR, "retain_graph=bool(model.step % 4)", ""),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_no_number_of_turns_can_do_is_not_told(machine: Machine, name: str) -> None:
    text, runs, _ = PAIRS[name]
    assert machine(HEAD + text.format(runs)).incidents == ()


@pytest.mark.parametrize("name", PAIRS)
def test_what_some_number_of_turns_does_is_told(machine: Machine, name: str) -> None:
    text, _, raises = PAIRS[name]
    assert machine(HEAD + text.format(raises)).incidents != ()


@pytest.mark.parametrize("name", PAIRS)
def test_torch_agrees(name: str) -> None:
    pytest.importorskip("torch")
    text, runs, raises = PAIRS[name]
    for number in (2, 3, 4, 5):
        exec(HEAD + NET + text.format(runs) + f"f(net, xs, {number})\n", {"__name__": "main"})
    with pytest.raises(RuntimeError, match="second time"):
        exec(HEAD + NET + text.format(raises) + "f(net, xs, 4)\n", {"__name__": "main"})


EPOCHS = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default={})
args = parser.parse_args([])
w = torch.ones(3, requires_grad=True)
loss = w.exp().sum()
for _ in range(args.epochs):
    loss.backward()
"""


@pytest.mark.parametrize(("default", "severity"), [(1, "warning"), (2, "error")])
def test_an_iteration_that_an_option_adds_is_not_by_default(machine: Machine, default: int, severity: str) -> None:
    (found,) = machine(EPOCHS.format(default)).diagnostics
    assert found.severity.value == severity
    assert any("not by default" in note for note in found.notes) == (severity == "warning")


PERIODS = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--update", type=int, default=2)
parser.add_argument("--report", type=int, default={})
args = parser.parse_args([])
w, total = torch.ones(3, requires_grad=True), 0.0
for {}:
    total = total + w.exp().sum()
    if step % args.update == 0:
        total.backward()
    if step % args.report == 0:
        total = 0.0
"""


@pytest.mark.parametrize("steps", ["step in range(1, 12)", "step, _ in enumerate(open('rows'), 1)"])
@pytest.mark.parametrize(("default", "severity"), [(2, "warning"), (5, "error")])
def test_two_options_that_are_alike_by_default(machine: Machine, steps: str, default: int, severity: str) -> None:
    """One of them has to be given for the total to outlive a backward pass."""
    (found,) = machine(PERIODS.format(default, steps)).diagnostics
    assert found.severity.value == severity
    assert any("not by default" in note for note in found.notes) == (severity == "warning")
