"""What took too long to be followed: objects keep what they were given, and walks that no path came to are run."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.imports import Imports

NORMAL = "class Normal:\n    def __init__(self, mean, scale):\n        self.mean = mean\n        self.scale = scale\n"
HEAD = """\
import torch
from torch import nn
from normal import Normal

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return Normal(self.one(x), self.two(x).exp())

def train(criterion, x, y):
    net = Net()
"""
HOISTED = "    out = net(x)\n    for _ in range(20):\n        loss = -criterion(out, y)\n        loss.backward()\n"
WORKING = "    for _ in range(20):\n        out = net(x)\n        loss = -criterion(out, y)\n        loss.backward()\n"


@pytest.mark.parametrize("allowance", [1, limits.IMPORTED_CALL_STEPS])
def test_an_object_keeps_the_graphs_that_it_is_made_of(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, allowance: int
) -> None:
    monkeypatch.setattr(limits, "IMPORTED_CALL_STEPS", allowance)
    seen = machine(HEAD + HOISTED, normal=NORMAL)
    assert seen.lines == [18]
    assert bool(seen.gaps) == (allowance == 1)
    assert machine(HEAD + WORKING, normal=NORMAL).incidents == ()


SHARP = """\
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))
        self.sharp = []

    def renew(self):
        self.sharp = [self.w * self.w]

    def forward(self, x):
        self.renew()
        return torch.tanh(x @ self.w)
"""
STEPS = """\
import torch
from layer import Layer

net = Layer()
for step in range(4):
    y = net(torch.randn(2, 4))
    loss = y.mean() + net.sharp[0].pow(2).sum()
    loss.backward()
"""


@pytest.mark.parametrize("allowance", [1, limits.IMPORTED_CALL_STEPS])
def test_what_its_own_methods_set_anew_is_not_what_it_was(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, allowance: int
) -> None:
    monkeypatch.setattr(limits, "IMPORTED_CALL_STEPS", allowance)
    assert machine(STEPS, layer=SHARP).incidents == ()


ARMS = """\
import torch

def walk(net, x, kind):
    if kind == 1:
        loss = net(x).mean()
        loss.backward()
        {more}
    return 0

walk(make(), torch.ones(2), 2)
if option():
    a = 1
else:
    a = 2
print(a)
"""


@pytest.mark.parametrize(("more", "rows"), [("loss.backward()", [7]), ("print(loss)", [])])
def test_a_walk_that_no_path_came_to_is_run_where_paths_were_dropped(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, more: str, rows: list[int]
) -> None:
    text = ARMS.format(more=more)
    assert machine(text).incidents == ()
    monkeypatch.setattr(Interpreter, "room", property(lambda self: 1))
    seen = machine(text)
    assert seen.gaps
    assert seen.lines == rows


TRAINER = """\
class Trainer:
    def fit(self, module, loader):
        for batch in loader:
            loss = module.training_step(batch, 0)
{more}            self.step(loss)

    def step(self, loss):
        self.engine.backward(loss)
"""
MODULE = """\
import lightning as L
from trainer import Trainer
from torch import nn

class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model, self.total = nn.Linear(2, 1), 0.0

    def training_step(self, batch, index):
        loss = self.model(batch).mean()
        self.total = self.total + loss
        return {total}

Trainer().fit(Module(), batches())
"""


@pytest.mark.parametrize(("total", "rows"), [("self.total", [13]), ("loss", [])])
def test_what_only_a_call_that_was_left_entered_is_run_as_an_entry(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, total: str, rows: list[int]
) -> None:
    monkeypatch.setattr(limits, "IMPORTED_CALL_STEPS", 60)
    text, trainer = MODULE.format(total=total), TRAINER.format(more="            self.log()\n" * 60)
    seen = machine(text, trainer=trainer)
    assert seen.gaps
    assert seen.lines == rows


NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.last = nn.BatchNorm1d(3), nn.Linear(3, 3)

    def forward(self, x):
        return self.last(self.norm(x))
"""
HOOKED = """\
import torch
from net import Net

class Watch:
    def __init__(self, module):
        self.seen = None
        module.register_forward_hook(self.note)

    def note(self, module, inputs, output):
        {when}self.seen = output.mean()

net = Net()
watch = Watch(net.norm)
for x in torch.randn(3, 4, 3):
    loss = net(x).mean() + watch.seen
    loss.backward()
"""


@pytest.mark.parametrize("share", [25, limits.IMPORTED_STEPS_OF_ENTRY])
@pytest.mark.parametrize(("when", "rows"), [("", []), ("if self.seen is None: ", [16])])
def test_hooks_run_in_a_network_that_is_not_followed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, when: str, rows: list[int], share: int
) -> None:
    monkeypatch.setattr(limits, "IMPORTED_STEPS_OF_ENTRY", share)
    monkeypatch.setattr(Imports, "is_cheap", lambda *given: False)
    seen = machine(HOOKED.format(when=when), net=NET)
    assert bool(seen.gaps) == (share == 25)
    assert seen.lines == rows


NOTING = """\
import torch
from torch import nn

class Noting(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.seen = self.scale.exp()
        return x * self.seen

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.last = nn.Sequential(Noting(), nn.Linear(3, 3)), nn.Linear(3, 3)

    def forward(self, x):
        return self.last(self.inner(x))
"""
NOTED = """\
import torch
from net import Net

net = Net()
for x in torch.randn(5, 4, 3):
    loss = net(x).mean() + net.inner[0].seen.sum()
    loss.backward()
"""


@pytest.mark.parametrize("share", [30, 40, 45, 50, 55, limits.IMPORTED_STEPS_OF_ENTRY])
def test_parts_of_a_network_that_is_not_followed_note_anew(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    monkeypatch.setattr(limits, "IMPORTED_STEPS_OF_ENTRY", share)
    monkeypatch.setattr(Imports, "is_cheap", lambda *given: False)
    assert machine(NOTED, net=NOTING).incidents == ()


FROZEN = """import torch
from torch import nn
from somewhere import prepare
net = {net}
for weight in net.parameters():
    weight.requires_grad = False
{then}net(torch.ones(1, 2)).sum().backward()
"""


@pytest.mark.parametrize("net", ["nn.Linear(2, 1)", "nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))"])
@pytest.mark.parametrize(
    ("then", "fails"),
    [
        ("", True),
        ("prepare(net)\n", False),
        ("prepare(net)\nnet.requires_grad_(False)\n", True),
        ("prepare(net)\nfor weight in net.parameters():\n    weight.requires_grad = False\n", True),
        ("print(net)\n", True),
    ],
)
def test_a_frozen_network_may_be_thawed_by_whom_it_is_given_to(
    machine: Machine, net: str, then: str, *, fails: bool
) -> None:
    found = machine(FROZEN.format(net=net, then=then)).diagnostics
    assert [each.code for each in found] == ["RTL112"] * fails


SCALED = """\
import torch
from torch import nn

def make():
    layer = nn.Linear(4, 4)
    raw = nn.Parameter(layer.weight.detach().clone())
    del layer._parameters["weight"]
    layer.register_parameter("raw", raw)
    layer.register_buffer("weight", raw.detach())
    return layer

def rescale(layer):
    log = []
    for i in range(5):
        for j in range(5):
            log.append(i * j)
            log.append(i + j)
    layer.weight = layer.raw / layer.raw.norm()
"""
RESCALING = """\
import torch
from torch import nn
from scaled import make, rescale

layers = nn.ModuleList([make() for _ in range(24)])
for step in range(100):
    x = torch.randn(3, 4)
    for layer in layers:
        rescale(layer)
        x = layer(x)
    x.sum().backward()
"""


def test_a_computed_weight_may_be_another_one_behind_a_call_that_is_given_its_layer(machine: Machine) -> None:
    seen = machine(RESCALING, scaled=SCALED)
    assert seen.incidents == ()
    assert "`rescale` was not followed: calls into other modules take too many steps" in str(seen.gaps)
