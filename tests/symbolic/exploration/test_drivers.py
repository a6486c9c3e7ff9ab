"""A method is called again on its object, which the call before has left as it is."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.checking import linter
from retainlint.config import Settings

STEPPING = """
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.net = nn.Linear(3, 3)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self, x):
        loss = self.net(self.net(x)).pow(2).sum()
        {rows}
"""


@pytest.mark.parametrize(
    ("rows", "fails"),
    [
        ("self.opt.step(); loss.backward()", True),
        ("self.opt.zero_grad(); self.opt.step(); loss.backward()", False),
        ("if self.net.weight.grad is not None: self.opt.step()\n        loss.backward()", True),
    ],
)
def test_a_step_with_the_gradients_of_the_call_before(machine: Machine, rows: str, fails: bool) -> None:
    assert bool(machine(STEPPING.format(rows=rows)).incidents) is fails


CARRIED = """
from torch import nn


class Trainer:
    def __init__(self, make):
        self.net = nn.Linear(3, 3)
        self.made = self.net(make())

    def step(self, x):
        net = nn.Linear(3, 3)
        (net(x) + {added}).sum().backward()
"""


@pytest.mark.parametrize(("added", "fails"), [("self.made * self.made", True), ("x", False)])
def test_a_graph_of_the_object_is_walked_again(machine: Machine, added: str, fails: bool) -> None:
    assert bool(machine(CARRIED.format(added=added)).incidents) is fails


CACHED = """
from functools import cached_property
from torch import nn


class Trainer:
    kept = None

    def __init__(self):
        self.net, self.head = nn.Linear(3, 3), nn.Linear(3, 3)

    @cached_property
    def made(self):
        return self.net(SEEN).relu()

    def training_step(self, x):
        {rows}
        self.head({use}).sum().backward()
"""


@pytest.mark.parametrize(
    ("rows", "use"),
    [
        ("if not hasattr(self, 'feats'): self.feats = self.net(x).relu()", "self.feats"),
        ("if self.__dict__.get('feats') is None: self.feats = self.net(x).relu()", "self.feats"),
        ("if 'feats' not in self.__dict__: self.feats = self.net(x).relu()", "self.feats"),
        ("if 'feats' not in vars(self): self.feats = self.net(x).relu()", "self.feats"),
        ("if self.kept is None: self.kept = self.net(x).relu()", "self.kept"),
        ("pass", "self.made"),
    ],
)
def test_what_is_only_set_once_is_walked_again(machine: Machine, rows: str, use: str) -> None:
    assert machine(CACHED.format(rows=rows, use=use)).incidents


EPOCH = """
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.net = nn.Linear(3, 3)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def epoch(self, loader):
        {row}
        for x in loader:
            self.net(x).pow(2).sum().backward()
            self.opt.step()
"""


@pytest.mark.parametrize(("row", "told"), [("self.opt.zero_grad()", False), ("pass", True)])
def test_a_call_zeroes_before_the_steps_of_the_next(machine: Machine, row: str, told: bool) -> None:
    assert bool(machine(EPOCH.format(row=row)).waste) is told


def test_a_context_is_entered_once(machine: Machine) -> None:
    """What `with` is given is an object of its own, as a rule; a method is called again."""
    text = """
    class Phase:
        def __init__(self, owner):
            self.owner, self.total = owner, 0

        def {}(self):
            self.total = self.total + self.owner.net(self.owner.x).pow(2).sum()
            self.total.backward()
    """
    assert machine(text.format("__enter__")).lines == []
    assert machine(text.format("update")).lines == [8]


def test_a_method_that_counts_its_turns_is_called_until_they_come_round_again(machine: Machine) -> None:
    text = """
    import torch

    class Trainer:
        def __init__(self):
            self.w = torch.rand(3, requires_grad=True)
            self.h = torch.zeros(3)
            self.turns = 0

        def step(self, x):
            self.h = self.h * self.w + x
            self.turns += 1
            if self.turns % 2 == 0:
                self.h.sum().backward()
                {}
    """
    assert machine(text.format("pass")).lines == [14]
    assert machine(text.format("self.h = self.h.detach()")).lines == []


def test_what_a_function_makes_and_hands_on_is_called_by_whoever_it_is_handed_to(machine: Machine) -> None:
    """`step` alone may be called on an object of its own each time."""
    text = """
    import torch

    class Agent:
        def __init__(self):
            self.loss = torch.rand(3, requires_grad=True).norm()

        def step(self):
            self.loss.backward()

    def fit(agent, xs):
        for x in xs:
            agent.step()

    def main(flags):
        fit({}, torch.rand(5))
    """
    assert machine(text.format("Agent()")).lines == [9]
    assert machine(text.format("flags")).lines == []


@pytest.mark.parametrize(("one", "other"), [("train", "watch"), ("watch", "train")])
def test_a_forced_entry_starts_from_each_way_in_which_its_object_is_made(
    machine: Machine, one: str, other: str
) -> None:
    """Whichever of the two ways is gone on with, in one of the two programs it leads to no backward pass."""
    text = f"""import torch
class Trainer:
    def __init__(self, watched):
        if watched:
            self.mode = "{one}"
        else:
            self.mode = "{other}"
    def learn(self, x):
        if self.mode == "watch":
            return x
        loss = (x * torch.rand(3, requires_grad=True)).exp().sum()
        loss.backward()
        loss.backward()
"""
    assert machine(text).lines == [text.count("\n")]


FED = """import torch
class Agent:
    def __init__(self):
        self.cell, self.h = torch.nn.GRUCell(3, 3), torch.zeros(1, 3)
    def act(self, x):
        {0}
    def learn(self):
        self.h.sum().backward()
{1}
"""
CARRYING = "self.h = self.cell(x, self.h)"


@pytest.mark.parametrize(
    ("act", "more", "fails"),
    [
        (CARRYING, "", True),
        ("self.h = self.cell(x, self.h.detach())", "", False),
        (CARRYING, "    def reset(self):\n        self.h = torch.zeros(1, 3)", False),
        (CARRYING, "def play(agent):\n    agent.act(x)\n    agent.learn()\n    agent.h = agent.h.detach()", False),
    ],
)
def test_what_carries_on_is_called_before_what_learns(machine: Machine, act: str, more: str, fails: bool) -> None:
    assert machine(FED.format(act, more)).lines == [8] * fails


GIVEN = """import torch
from torch import nn
from typing import Optional
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.h = nn.Linear(3, 3), torch.zeros(3)
    def forward(self, x):
        self.h = torch.tanh(self.layer(x) + self.h)
        return self.h.sum()
def train(net{0}, rows):
    for row in rows:
        net(row).backward()
class Trainer:
    def __init__(self, net{0}):
        self.net = net
    def fit(self, rows):
        for row in rows:
            self.net(row).backward()
"""


@pytest.mark.parametrize("annotation", [": Net", ": 'Net'", ": Optional[Net]", ": Net | None"])
def test_an_annotation_says_what_is_given(machine: Machine, annotation: str) -> None:
    assert machine(GIVEN.format(annotation)).lines == [13, 19]


@pytest.mark.parametrize(("annotation", "more"), [("", ""), (": Net", "class Other(Net):\n    pass\n"), (": Any", "")])
def test_what_may_be_another_is_unknown(machine: Machine, annotation: str, more: str) -> None:
    assert [each for each in machine(GIVEN.format(annotation) + more).incidents if not each.guessed] == []


@pytest.mark.parametrize(("annotation", "lines"), [(": torch.nn.Module", [5]), ("", [])])
def test_a_module_that_is_given_has_a_graph(machine: Machine, annotation: str, lines: list[int]) -> None:
    text = "import torch\ndef train(cell{0}, head{0}, rows, h):\n    for row in rows:\n"
    text += "        h = cell(row, h)\n        head(h).sum().backward()\n"
    assert machine(text.format(annotation)).lines == lines


HOOKED = """import torch
class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.h = torch.nn.Linear(3, 3), torch.zeros(3)
    def forward(self, x):
        self.h = torch.tanh(self.layer(x) + self.h)
        return self.h.sum()
    {cut}
class Trainer:
    def __init__(self, callbacks):
        self.net, self.callbacks = Cell(), callbacks
    def after(self):
        pass
    def fit(self, rows):
        for row in rows:
            self.net(row).backward()
            {call}
{more}
"""
CUT = "def cut(self):\n        self.h = self.h.detach()"


@pytest.mark.parametrize(
    ("cut", "call", "more", "fails"),
    [
        (CUT, "self.after()", "", False),
        (CUT, "[each(self) for each in self.callbacks]", "", False),
        (CUT, "print(row)", "", True),
        ("", "self.after()", "", True),
        (CUT, "self.after()", "Trainer([]).fit(torch.rand(3, 3))", True),
    ],
)
def test_who_fills_in_a_hook_may_cut_a_state(machine: Machine, cut: str, call: str, more: str, fails: bool) -> None:
    text = HOOKED.format(cut=cut, call=call, more=more)
    assert machine(text).lines == [text[: text.index("self.net(row)")].count("\n") + 1] * fails


STREAM = """import torch
class Stream:
    def __init__(self):
        self.cell, self.h = torch.nn.GRUCell(3, 3), torch.zeros(1, 3)
    def forget(self):
        self.h = None
    def step(self, x):
        self.h = self.cell(x, self.h)
        self.h.sum().backward()
def run(stream{0}, rows):
    for row in rows:
        stream.step(row){1}
"""


@pytest.mark.parametrize(
    ("annotation", "more", "fails"),
    [(": Stream", "", True), ("", "", False), (": Stream", "\n        stream.forget()", False)],
)
def test_who_is_seen_to_call_in_a_loop_calls_nothing_else(
    machine: Machine, annotation: str, more: str, fails: bool
) -> None:
    assert machine(STREAM.format(annotation, more)).lines == [9] * fails


GATHERED = """import torch
class Buffer:
    def __init__(self):
        self.items = []
class Agent:
    def __init__(self):
        self.policy, self.buffer = torch.nn.Linear(3, 1), Buffer()
    def act(self, x):
        self.pending = self.policy(x).exp()
    def observe(self):
        self.buffer.items.append(self.pending{0})
    def learn(self):
        for _ in range(2):
            sum(self.buffer.items).sum().backward()
        self.buffer.items.clear()
"""


@pytest.mark.parametrize(("cut", "lines"), [("", [14]), (".detach().requires_grad_()", [])])
def test_what_one_gathers_another_has_made(machine: Machine, cut: str, lines: list[int]) -> None:
    assert machine(GATHERED.format(cut)).lines == lines


FILLED_LATER = """
import torch


class Dataset:
    def __init__(self):
        self.rows = self.count = self.net = None


class Trainer:
    def __init__(self, model):
        self.model = model
        self.count = self.reader = None

    def fit(self, x, dataset: Dataset, last):
{rows}
        loss = self.model(x).exp().sum()
        loss.backward()
        loss.backward()
"""


@pytest.mark.parametrize(
    "rows",
    [
        "        for _ in range(self.count + 1):\n            print(x)",
        "        x = dataset.rows[-1] if last else dataset.rows[0]",
        "        x = self.reader.read(x) if last else self.reader.rest * 2",
        "        scale = 3 * (dataset.count - 1)",
    ],
)
def test_what_is_none_when_an_object_is_made_others_may_have_set(machine: Machine, rows: str) -> None:
    assert machine(FILLED_LATER.format(rows=rows)).lines == [19 + rows.count("\n")]


def test_what_is_none_on_one_way_of_a_program_ends_there(machine: Machine) -> None:
    text = """
import torch
w = torch.ones(3, requires_grad=True)
def train(options):
    scale = None
    if options.scaled:
        scale = 2.0
    loss = (w * w).sum()
    loss.backward(retain_graph=scale is not None)
    (loss * (scale + 1)).backward()
"""
    assert machine(text).lines == []


UNNAMED = """
class Prior:

    def __init__(self, rows, width, depth):
        for i in range(self.n):
            pass

def make(x):
    a = Prior(width=x)

class Policy:

    def __init__(self, model: Prior):
        pass

    def train(self, training_epochs, gammas=[]):
        for epoch in range(training_epochs):
            loss.backward()
for step in range(n):
    pass
"""


def test_a_class_that_nobody_names_any_more_is_there_while_its_argument_is_made() -> None:
    """The loop in what is made for `model` forgets what nothing leads to: of a script that names no class, the classes."""
    result = linter.check_source("m.py", UNNAMED.encode(), Settings())
    assert (result.crash, result.diagnostics) == ("", ())


@pytest.mark.parametrize(("again", "count"), [("loss.backward()", 1), ("(loss + 1).detach()", 0)])
def test_a_generator_that_nobody_calls_is_run_to_its_end(machine: Machine, again: str, count: int) -> None:
    text = f"""
import torch
def train(model: torch.nn.Module, data):
    for x in data:
        loss = model(x).pow(2).mean()
        loss.backward()
        {again}
        yield loss.item()
"""
    assert len(machine(text).incidents) == count


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ("        self.conv.bias += 0.5\n", 7),
        ("        b = self.conv.bias.view(3, -1)\n        b[:, 1] += 0.5\n", 8),
        ("        self.fill()\n    def fill(self):\n        self.conv.weight[0] = 0.5\n", 9),
        ("        with torch.no_grad():\n            self.conv.bias += 0.5\n", None),
        ("        self.calls = 0\n        self.calls += 1\n", None),
    ],
)
def test_a_class_that_changes_its_weights_when_it_is_made_is_run_by_nobody(
    machine: Machine, rows: str, line: int | None
) -> None:
    text = "import torch\nfrom torch import nn\nclass Head(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += f"        self.conv = nn.Conv2d(4, 6, 1)\n{rows}"
    assert machine(text).lines == ([] if line is None else [line])
