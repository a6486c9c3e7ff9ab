"""What an entry finds when it is called."""

from __future__ import annotations

import pytest
from machine import Machine

UPDATE = """import torch
class Agent:
    def __init__(self):
        self.critic, self.actor = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
    def update(self, x):
        gains = self.critic(x).exp()
        {0}
        (self.critic(x) - gains).pow(2).mean().backward()
        (self.actor(x) * gains).mean().backward()
        {1}
"""


@pytest.mark.parametrize(
    ("before", "behind", "fails"),
    [
        ("torch.set_grad_enabled(True)", "torch.set_grad_enabled(False)", False),
        ("torch.set_grad_enabled(True)", "pass", True),
        ("pass", "pass", True),
    ],
)
def test_gradients_were_off_where_they_are_turned_off_again(
    machine: Machine, before: str, behind: str, fails: bool
) -> None:
    assert bool(machine(UPDATE.format(before, behind)).incidents) is fails


TWICE = "loss = model.loss({0}); loss.backward(); loss.backward()"
REFUSED = """import torch
def train(model, epochs):
    {0}
if __name__ == "__main__":
    train({1})
"""
OPTIONAL = """import torch
def train(model, turns={1}):
    for _ in range(turns - 1):
        {0}
"""
SET_BY_OTHERS = """import torch
class Core:
    def __init__(self):
        self.data = None
    def fit(self, model):
        if self.data is None:
            return model
        {0}
class Heir(Core):
    def {1}(self, data):
        self.{2} = data
"""
RETURNED = """import torch
class Trainer:
    def __init__(self):
        self.step = self.make()
    def make(self):
        def step(model):
            {0}
        return step
    def run(self, model):
        {1}
"""


@pytest.mark.parametrize(
    ("program", "words", "fails"),
    [
        (REFUSED, ("None",), True),  # Python refuses the call: nothing has run
        (REFUSED, ("None, 1",), False),  # None has no loss
        (OPTIONAL, ("1",), True),  # a caller may ask for more turns
        (SET_BY_OTHERS, ("select", "data"), True),
        (SET_BY_OTHERS, ("select", "other"), False),  # nobody sets it: nothing comes there
        (RETURNED, ("pass",), True),
        (RETURNED, ("self.step(model)",), True),
    ],
)
def test_walks_that_no_call_of_the_program_reaches_are_reached_anyhow(
    machine: Machine, program: str, words: tuple[str, ...], fails: bool
) -> None:
    text = program.format(TWICE.format("1"), *words)
    assert bool(machine(text).incidents) is fails


GATHERED = """import torch
def train(parts):
    bad = []
    {0}
    if {1}:
        raise ValueError(bad)
    {2}
"""
SCRIPT = "import os, torch\n{0}if {1}:\n    raise ValueError(bad)\n{2}\n"
WALKED = "loss = torch.ones(1, requires_grad=True).exp(); loss.backward(); loss.backward()"
FILLED = [
    "bad = [] + [part for part in parts if part.wrong()]",
    "bad.extend([part for part in parts if part.wrong()])",
    "bad = [part for part in parts if part.wrong()]",
    "for part in parts: bad.append(part.wrong())",
]


@pytest.mark.parametrize("asked", ["bad", "len(bad) > 0", "len(bad) != 0"])
@pytest.mark.parametrize("filled", FILLED)
def test_what_some_turns_gather_need_not_be_raised(machine: Machine, filled: str, asked: str) -> None:
    assert machine(GATHERED.format(filled, asked, WALKED)).lines == [7]


@pytest.mark.parametrize("filled", [*FILLED, "for part in parts:\n    if part.wrong(): bad.append(part)"])
def test_a_script_goes_on_behind_what_some_turns_gather(machine: Machine, filled: str) -> None:
    text = SCRIPT.format(f"bad, parts = [], os.listdir()\n{filled}\n", "bad", WALKED)
    assert len(machine(text).incidents) == 1


@pytest.mark.parametrize("filled", ["bad = [1]", "bad = []; bad.append(1)", "bad = []\nfor n in (1, 2): bad.append(n)"])
def test_a_script_ends_where_it_surely_raises(machine: Machine, filled: str) -> None:
    assert not machine(SCRIPT.format(f"{filled}\n", "bad", WALKED)).incidents


GIVEN = """import torch
class Engine:
    def __init__(self, step):
        self.{0}
    def run(self, data):
        for batch in data:
            self.step(self, batch)
def make(model, optimizer):
    {1}
    def train_step(engine, batch):
        loss = model(batch).exp().sum()
        loss.backward()
        loss.backward()
        optimizer.step()
    return {2}
"""


@pytest.mark.parametrize("kept", ["step = step", "steps = [step]", "steps = {'train': step}"])
def test_what_a_function_makes_and_gives_to_an_object_is_run(machine: Machine, kept: str) -> None:
    assert machine(GIVEN.format(kept, "pass", "Engine(train_step)")).lines == [13]


def test_an_engine_of_ignite_that_others_run_is_run(machine: Machine) -> None:
    text = "from ignite.engine import Engine\n" + GIVEN.format("step = step", "pass", "Engine(train_step)")
    text = text.replace("class Engine:", "class Other:")
    assert machine(text).lines == [14]


@pytest.mark.parametrize("before", ["pass", "if 1 + 1 == 2: raise ValueError", "if len('ab') > 1: raise ValueError"])
def test_an_entry_that_no_path_goes_through_is_run_as_if_it_did_not_raise(machine: Machine, before: str) -> None:
    assert machine(GIVEN.format("step = step", before, "train_step")).lines == [13]


GUARDED = """import torch
class Guard:
    def __init__(self, net):
        self.net = net
        self.ready = False
        self.loss = None
        self.calls = 0
    def forward(self, x):
        self.loss = self.net(x).exp().sum()
        self.ready = True
    def backward(self):
        if not self.ready:
            raise RuntimeError("forward first")
        self.loss.backward()
        self.ready = False
class Once:
    def __init__(self, net, x):
        self.loss = net(x).exp().sum()
        self.used = False
    def walk(self):
        if self.used:
            raise RuntimeError("used")
        self.loss.backward()
        self.used = True
    def both(self, flag):
        self.walk()
        if flag:
            raise ValueError
    def twice(self, y):
        self.walk()
        y.check()
        z = (y * 2).sum()
        z.backward()
class Budget:
    limit = 1
    def __init__(self, net, x):
        self.out = net(x).exp().sum()
        self.n = 0
    def go(self):
        if self.n >= self.limit:
            raise StopIteration
        self.n += 1
        self.out.backward()
        if self.n > 5:
            self.out.mean().backward()
def check(names):
    bad = [n for n in names if n.startswith("x")]
    if bad:
        raise ValueError(bad)
    return bad
def run(net, names, x):
    loss = net(x).exp().sum()
    loss.backward()
    if check(names):
        loss.backward()
STAGE = "eval"
def train(net, x):
    if STAGE == "eval":
        raise RuntimeError
    loss = net(x).exp().sum()
    for i in range(3):
        if i > 0:
            raise RuntimeError
        loss.backward()
def train2(net, x, log):
    losses = []
    for part in x:
        losses.append(net(part).exp().sum())
    if len(losses) > 1:
        raise ValueError("one part only")
    for l in losses:
        sum(losses).backward()
class Worker:
    def __init__(self, net):
        self.net = net
        self.state = "new"
    def check(self):
        if self.state != "open":
            raise RuntimeError
    def go(self, x):
        self.check()
        loss = self.net(x).exp().sum()
        for i in range(2):
            self.check()
            loss.backward()
            self.state = "closed"
"""


def test_what_raises_on_purpose_keeps_a_walk_from_a_second_turn(machine: Machine) -> None:
    assert not machine(GUARDED).incidents


UNTIL_SETUP = """
import torch


class Solver:
    def __init__(self):
        self.net = None
        self.flow = None

    def setup(self):
        self.net = torch.nn.Linear(2, 1)
        self.flow = torch.nn.Linear(2, 1)

    def fit(self, x, quantity):
        quantity = quantity / quantity.mean()
        for _ in range(3):
            loss = -(self.flow.log_prob(x) * quantity).mean()
            loss.backward()

    def train(self, x):
        self.fit(x, self.net(x).residual().detach())
"""


def test_none_that_a_later_call_replaces_is_no_evidence_that_an_argument_has_a_graph(machine: Machine) -> None:
    assert not machine(UNTIL_SETUP).told
    assert not machine(UNTIL_SETUP.replace("self.flow = torch.nn.Linear(2, 1)", "pass")).told


RESET = """import torch
class Embedding(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(n, 3))
        self.reset()
    def reset(self):
        {0}.uniform_(-1, 1)
"""


@pytest.mark.parametrize(("changed", "lines"), [("self.weight", [8]), ("self.weight.data", []), ("torch.ones(3)", [])])
def test_a_class_that_nobody_makes_is_made_where_that_changes_something(
    machine: Machine, changed: str, lines: list[int]
) -> None:
    assert machine(RESET.format(changed)).lines == lines
