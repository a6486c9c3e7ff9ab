"""What a class's other methods, or other functions, may have done before one is called: no failure is told on it."""

from __future__ import annotations

import pytest
from machine import Machine

HEAD = """import torch
from torch import nn
net = nn.Linear(4, 1)
"""
FILLED_ELSEWHERE = {
    "a list that another method fills, looped over": """
class Agent:
    def __init__(self):
        self.saved, self.rewards = [], []
    def act(self, obs):
        self.saved.append(net(obs).mean())
    def learn(self):
        loss = torch.zeros(1)
        for log_prob, reward in zip(self.saved, self.rewards):
            loss = loss - log_prob * reward
        loss.backward()
        self.saved, self.rewards = [], []
""",
    "parts computed from it, joined": """
class Agent:
    def __init__(self):
        self.saved = []
    def learn(self):
        parts = []
        for log_prob in self.saved:
            parts.append(-log_prob)
        torch.cat(parts).sum().backward()
        del self.saved[:]
""",
    "stacked as it is": """
class Agent:
    def __init__(self):
        self.saved = []
    def learn(self):
        torch.stack(self.saved).sum().backward()
        self.saved.clear()
""",
    "a dict": """
class Trainer:
    def __init__(self):
        self.parts = {}
    def finish(self):
        total = torch.zeros(1)
        for each in self.parts.values():
            total = total + each
        total.backward()
""",
    "a module's list": """
saved = []
def act(x):
    saved.append(net(x).mean())
def learn():
    loss = torch.zeros(1)
    for each in saved:
        loss = loss + each
    loss.backward()
    saved.clear()
""",
    "a total that another method adds to": """
class Trainer:
    def __init__(self):
        self.loss = torch.zeros(1)
    def add(self, x):
        self.loss = self.loss + net(x).mean()
    def finish(self):
        self.loss.backward()
        self.loss = torch.zeros(1)
""",
    "a tensor that another method writes into": """
class Trainer:
    def __init__(self):
        self.kept = torch.zeros(4)
    def fill(self, i, x):
        self.kept[i] = net(x).mean()
    def finish(self):
        self.kept.sum().backward()
""",
    "nothing to join": """
def learn(values):
    parts = []
    for value in values:
        if value > 0:
            parts.append(net(value).mean())
    torch.stack(parts).sum().backward()
""",
    "a list whose first part is taken off": """
def parse(lines):
    blocks = []
    for line in lines:
        if line.startswith("["):
            blocks.append({})
        else:
            blocks[-1][line] = line
    blocks.pop(0)
    return blocks
def learn(lines):
    loss = torch.zeros(1)
    for each in parse(lines):
        loss = loss + net(each).mean()
    loss.backward()
""",
    "zeros to which some turns add": """
def learn(batches):
    loss = torch.zeros(1)
    for inputs, there in batches:
        if there:
            loss = loss + net(inputs).mean()
    loss.backward()
""",
}
STILL_FAILS = {
    "nobody else touches it": """
class Trainer:
    def __init__(self):
        self.loss = torch.zeros(1)
    def finish(self):
        self.loss.backward()
""",
    "the list that it fills itself, walked whole each time": """
class Trainer:
    def __init__(self):
        self.losses = []
    def step(self, x):
        self.losses.append(net(x).pow(2).mean())
        sum(self.losses).backward()
""",
    "a flag decides whether it is cut": """
def learn(x, cut):
    loss = net(x).mean()
    if cut:
        loss = loss.detach()
    loss.backward()
""",
    "called with the list empty": """
saved = []
loss = torch.zeros(1)
for each in saved:
    loss = loss + each
loss.backward()
""",
}


@pytest.mark.parametrize("name", FILLED_ELSEWHERE)
def test_what_others_may_have_filled_is_not_empty(machine: Machine, name: str) -> None:
    assert machine(HEAD + FILLED_ELSEWHERE[name]).incidents == ()


@pytest.mark.parametrize("name", STILL_FAILS)
def test_what_nobody_fills_still_fails(machine: Machine, name: str) -> None:
    assert machine(HEAD + STILL_FAILS[name]).incidents != ()


RUNS = {
    "a function of torch that isn't known, of what has no graph": """
adjacency = torch.sparse.FloatTensor(load_indices(), load_values())
for epoch in range(9):
    loss = torch.spmm(adjacency, net.weight.t()).pow(2).mean()
    loss.backward()
""",
    "what was moved to a device is no leaf any more": """
errors = torch.zeros(9, requires_grad=True).cuda()
for i in range(9):
    errors[i] = net(torch.randn(4)).mean()
errors += 1
errors.sum().backward()
""",
}


@pytest.mark.parametrize("name", RUNS)
def test_what_runs_is_left_alone(machine: Machine, name: str) -> None:
    head = HEAD + "from data import load_indices, load_values\n"
    assert machine(head + RUNS[name]).incidents == ()


SET_ELSEWHERE = """
class Trainer:
    {common}
    def __init__(self, model):
        self.model{own} = model{given}
    @property
    def device(self):
        if self.place:
            return self.place
        raise ValueError
    def to(self, place):
        self.place = place
    def learn(self, x):
        loss = self.model(x.to(self.device)).exp().mean()
        loss.backward()
        loss.backward()
"""


@pytest.mark.parametrize(("common", "own", "given"), [("place = None", "", ""), ("", ", self.place", ", None")])
def test_what_another_method_sets_may_be_set(machine: Machine, common: str, own: str, given: str) -> None:
    assert machine(HEAD + SET_ELSEWHERE.format(common=common, own=own, given=given)).lines == [19]


COUNTED = """
class Trainer:
    def __init__(self, model):
        self.model, self.count = model, 0
    def learn(self, x):
        self.count += 1
        if {gate}:
            return
        loss = self.model(x).exp().mean()
        loss.backward()
        loss.backward()
"""


@pytest.mark.parametrize("gate", ["self.count < 1000", "self.count % 64", "self.count % 4 != 0 or self.count < 1000"])
def test_a_method_that_counts_its_calls_may_have_been_called_often(machine: Machine, gate: str) -> None:
    assert machine(HEAD + COUNTED.format(gate=gate)).lines == [14]


def test_what_only_makes_an_object_is_not_done_again(machine: Machine) -> None:
    """`build` is no reset between two calls of `step`; `reset` may be one."""
    text = """
    import torch

    class Trainer:
        def __init__(self):
            self.{build}()

        def {build}(self):
            self.w = torch.rand(3, requires_grad=True)
            self.loss = self.w.{light}()

        def step(self, xs):
            for x in xs:
                self.loss.backward()
    """
    assert machine(text.format(build="build", light="sum")).lines == []
    assert machine(text.format(build="build", light="norm")).lines == [14]


def test_what_another_method_puts_into_a_dict_or_a_record_is_unknown(machine: Machine) -> None:
    text = """
    import torch

    class Record:
        def __init__(self):
            self.loss = torch.zeros(())

    class Trainer:
        def __init__(self):
            self.w = torch.rand(3, requires_grad=True)
            self.state = {"loss": torch.zeros(())}
            self.record = Record()

        def observe(self):
            self.state["loss"] = self.record.loss = self.w.sum()

        def update(self):
            self.state["loss"].backward()
            self.record.loss.backward()
    """
    assert machine(text).lines == []


def test_another_method_may_reset_what_the_object_holds(machine: Machine) -> None:
    text = """
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.rand(3))
            self.scale = None

        def forward(self, x):
            if self.scale is None:
                self.scale = self.w.exp()
            return self.scale * x

        def reset(self):
            self.scale = None

    class Trainer:
        def __init__(self):
            self.net = Net()

        def update(self, x):
            self.net(x).sum().backward()

        def other(self):
            self.net.{}()
    """
    assert machine(text.format("reset")).lines == []
    assert machine(text.format("eval")).lines == [23]
