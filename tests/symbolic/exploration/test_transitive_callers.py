"""Functions without a walk of their own: which of them are run for the walks that they call."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.lowering import lower
from retainlint.symbolic.exploration.entry_points import callers, entries, no_leads
from retainlint.symbolic.state import limits
from retainlint.text.source import Source

HEAD = "import torch\nfrom torch import nn\n\n\ndef update(optimizer, loss):\n    loss.backward()\n    optimizer.step()\n\n\n"


def found(text: str) -> list[str]:
    every = list(entries(lower(Source("train.py", HEAD + text)).module, None))
    return [code.qualname for code, _ in callers(every, no_leads, {code for code, _ in every})]


@pytest.mark.parametrize(
    "text",
    [
        "def learn(o, net, x):\n    update(o, net(x))\n",
        "def learn(o, a, b):\n    update(o, a)\n    update(o, b)\n",
        "def learn(o, x):\n    y = x * x\n    update(o, y)\n",
        "def learn(o, x):\n    y: int = 1\n    for _ in x:\n        update(\n            o,\n            y,\n        )\n",
        "async def learn(o, net, x):\n    update(o, net(x))\n",
    ],
)
def test_whoever_calls_a_walk_with_something_of_its_own(text: str) -> None:
    assert found(text) == ["learn"]


@pytest.mark.parametrize(
    "text",
    [
        "def learn(o, x):\n    update(o, x)\n",
        "def learn(o, x):\n    for each in x:\n        update(o, each)\n",
        "def learn(o, x):\n    update(o, x.loss, mode=torch.float)\n",
        "def learn(o, x):\n    def update(a):\n        pass\n    return o\n",
        "def learn(o, x):\n    o.update(x + 1, net(x))\n",
        "class A:\n    def update(self, x):\n        x.backward()\n    def learn(self, d, x):\n        d.update(net(x))\n",
    ],
)
def test_who_adds_nothing_or_calls_something_else(text: str) -> None:
    assert found(text) == []


def test_methods_call_those_of_their_own_object() -> None:
    text = "class A:\n    def update(self, x):\n        x.backward()\n    def learn(self, x):\n        self.update(x + f(x))\n"
    assert found(text) == ["A.learn"]


def test_the_nearest_come_first() -> None:
    text = "def far(o, x):\n    return near(o, f(x))\n\n\ndef near(o, x):\n    update(o, f(x))\n"
    assert found(text) == ["near", "far"]


def test_a_graph_that_a_caller_hands_over_twice(machine: Machine) -> None:
    text = "def learn(o, net, x):\n    h = net(x)\n    update(o, h.mean())\n    update(o, (h * h).mean())\n"
    incident = machine(HEAD + text).incident
    assert incident.primary.row == 6


def test_behind_callers_that_show_nothing_new_the_others_are_not_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = "".join(f"def learn{n}(o, net, x):\n    update(o, net(x).mean())\n\n\n" for n in range(9))
    twice = "def twice(o, net, x):\n    h = net(x)\n    update(o, h.mean())\n    update(o, (h * h).mean())\n"
    assert machine(HEAD + sound + twice).incidents
    every = machine(HEAD + sound).steps
    monkeypatch.setattr(limits, "QUIET_CALLERS_STEPS", 1)
    assert machine(HEAD + sound).steps < every / 2
    assert machine(HEAD + twice + sound).incidents


def test_a_caller_that_computes_again_is_silent(machine: Machine) -> None:
    text = "def learn(o, net, x):\n    update(o, net(x).mean())\n    update(o, (net(x) * net(x)).mean())\n"
    assert not machine(HEAD + text).incidents


LOCAL = """
def make(lr):
    class Trainer:
        def __init__(self, net):
            self.net, self.last = net, None

        def step(self, x):
            h = self.net(x)
            h = h if self.last is None else h + self.last
            self.last = {kept}
            (h * lr).sum().backward()

    return Trainer
"""


def test_a_class_in_a_function_is_made_and_its_methods_run_twice(machine: Machine) -> None:
    incident = machine(HEAD + LOCAL.format(kept="h")).incident
    assert incident.primary.text == "(h * lr).sum().backward()"
    assert not machine(HEAD + LOCAL.format(kept="h.detach()")).incidents


def test_a_class_in_a_method_is_made_as_well(machine: Machine) -> None:
    text = (
        "class Test:\n    def test(self, base):\n        class Net(base):\n            def step(self, x):\n"
        "                y = self.module(x).pow(2)\n                y.sum().backward()\n                y.sum().backward()\n"
        "        Net().fit()\n"
    )
    incident = machine(HEAD + text).incident
    assert incident.primary.row == HEAD.count("\n") + 7


OPTIMISER = """
class Trainer:
    def __init__(self, net, optimizer_class={default}):
        self.net = net
        self.optimizer = optimizer_class(net.parameters(), 0.1)

    def train(self, x):
        y = self.net(x)
        y.mean().backward(retain_graph=True)
        self.optimizer.step()
        y.sum().backward()
"""


def test_a_class_of_optimisers_is_taken_for_its_default(machine: Machine) -> None:
    incident = machine(HEAD + OPTIMISER.format(default="torch.optim.Adam")).incident
    assert incident.primary.text == "y.sum().backward()"


BUILT = """
from somewhere import build


class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.q, self.r = build(size), {other}

    def forward(self, x):
        return self.q(x){more}


def train(x, a, b):
    net = Net(3)
    optimizer = torch.optim.Adam(net.parameters())
    y = net(x)
    y.mean().backward(retain_graph=True)
    optimizer.step()
    y.sum().backward()
"""


def test_the_only_unseen_part_of_a_network_has_its_weights(machine: Machine) -> None:
    incident = machine(HEAD + BUILT.format(other="size", more="")).incident
    assert incident.primary.text == "y.sum().backward()"
    assert not machine(HEAD + BUILT.format(other="build(1)", more=" + self.r(x)")).incidents
    unseen = BUILT.replace("nn.Module", "Base").replace("import build", "import Base, build")
    assert not machine(HEAD + unseen.format(other="size", more="")).incidents


BOTH = """
def train(x, flag, net):
    y = net(x)
    if flag:
        {first}
    else:
        {second}
    if len(x) == 3:
        y = y + 1
    y.mean().backward()
    y.mean().backward()
"""


def test_conditions_both_of_whose_ways_fail_are_not_named(machine: Machine) -> None:
    text = HEAD + BOTH.format(first="y = y * 2", second="y = y * 3")
    incident = machine(text).incident
    assert incident.conditions == ()
