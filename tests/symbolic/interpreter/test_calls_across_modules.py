"""Calls into other modules: those that are no network's have a small share, which costs the others nothing."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.diagnostic import Severity
from retainlint.incident import Freed
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.imports import Imports

FILES = """\
import os

class Progress:
    def __init__(self, path):
        self.rows = 0
        self.path = os.path.join(path, "log.txt")

    def tell(self, step):
        text = "epoch " + str(step)
        self.rows = self.rows + 1
        for _ in range(5):
            text = text + "."
        print(text)
"""
NETS = """\
from torch import nn

class Summing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.kept = None

    def forward(self, x):
        out = self.layer(x).mean()
        self.kept = out if self.kept is None else self.kept + out
        return self.kept
"""
MAIN = """\
import torch
from files import Progress
from nets import Summing

net, progress = Summing(), Progress("runs")
for step in range(4):
    progress.tell(step)
    loss = net(torch.ones(3))
    loss.backward()
"""


@pytest.fixture(autouse=True)
def nothing_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Imports, "is_cheap", lambda *given: False)


def test_nothing_is_left_out_while_there_is_a_share(machine: Machine) -> None:
    seen = machine(MAIN, files=FILES, nets=NETS)
    assert not seen.gaps
    assert seen.lines == [9]


def test_a_network_is_followed_when_the_share_of_the_rest_is_spent(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IMPORTED_STEPS_OF_PLAIN", 30)
    seen = machine(MAIN, files=FILES, nets=NETS)
    assert {gap.reason.split("`")[1] for gap in seen.gaps} >= {"Progress.tell"}
    assert "Summing.forward" not in {gap.reason.split("`")[1] for gap in seen.gaps}
    assert seen.lines == [9]


BY_OPTION = """
import torch
class Net(torch.nn.Module):
    def __init__(self, large):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        if large:
            self.head = torch.nn.Linear(3, 1)
        else:
            self.head = torch.nn.Linear(3, 1, bias=False)
    def forward(self, h):
{layers}        kept = h.relu()
        kept += 1
        return self.head(kept)
"""


def test_the_way_by_default_is_gone_first(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the steps run out, it is the other one that is not followed."""
    monkeypatch.setattr(limits, "IMPORTED_STEPS_OF_ENTRY", 300)
    text = """
        import argparse
        import torch
        from nets import Net
        parser = argparse.ArgumentParser()
        parser.add_argument("--large", action="store_true")
        args = parser.parse_args()
        loss = Net(args.large)(torch.rand(2, 3)).sum()
        loss.backward()
    """
    found = machine(text, nets=BY_OPTION.format(layers="        h = self.layer(h)\n" * 90))
    assert found.says("too many steps")
    (told,) = found.diagnostics
    assert told.severity is Severity.ERROR
    assert not any("not by default" in each for each in told.notes)


def test_what_makes_a_loss_is_followed_once_the_entry_came_to_a_backward_pass(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IMPORTED_STEPS_OF_ENTRY_BEYOND", 30)
    monkeypatch.setattr(limits, "UNROLLED_STEPS", 0)
    main = "import costs, steps\nw = costs.weight()\nsteps.walk((w * w).sum())\nsteps.walk(costs.cost(w))\n"
    costs = (
        "import torch\ndef weight():\n" + "    x = 1\n" * 40 + "    return torch.ones(2, requires_grad=True)\n"
        "def cost(w):\n    return (w * w).sum().detach()\n"
    )
    seen = machine(main, costs=costs, steps="def walk(loss):\n    loss.backward()\n")
    assert seen.places == [("steps.py", 2)]


SCORES = "def score(out):\n    return (out * out).sum().detach()\n"
SCORED = """\
import torch
from files import Progress
from scores import score

net, progress = torch.nn.Linear(3, 3), Progress("runs")
for step in range(4):
    progress.tell(step)
    loss = score(net(torch.ones(3)))
    loss.backward()
"""


def test_what_is_given_a_graph_has_a_share_of_its_own(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes the losses is followed when files and logs have taken all that is theirs."""
    monkeypatch.setattr(limits, "IMPORTED_STEPS_OF_ENTRY", 10)
    monkeypatch.setattr(limits, "IMPORTED_STEPS_OF_PLAIN", 10)
    monkeypatch.setattr(limits, "UNROLLED_STEPS", 0)
    assert [told.code for told in machine(SCORED, files=FILES, scores=SCORES).diagnostics] == ["RTL112"]
    monkeypatch.setattr(limits, "IMPORTED_STEPS_ON_GRAPHS", -1)
    assert not machine(SCORED, files=FILES, scores=SCORES).diagnostics


TRAINER = """\
import torch
from base import Trainer
from scores import score, slow


class Mine(Trainer):
    def __init__(self):
        self.net = torch.nn.Linear(3, 3)

    def warm(self, x):
        return slow(self.net(x))

    def update(self, x):
        loss = score(self.net(x))
        loss.backward()
"""
BASE = "class Trainer:\n    def train(self, loader):\n        for x in loader:\n            self.warm(x)\n            self.update(x)\n"
SLOW = "def slow(out):\n" + "    out = out + 1\n" * 40 + "    return out\n"


def test_a_method_of_whose_loss_nothing_was_known_is_run_by_itself(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its callers had spent is not its own."""
    monkeypatch.setattr(limits, "IMPORTED_STEPS_ON_GRAPHS", 30)
    assert machine(TRAINER, base=BASE, scores=SCORES + SLOW).lines == [15]


def test_what_was_called_with_its_loss_unseen_was_not_followed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it runs for itself where its own file is checked."""
    walk = "from scores import score\n\ndef walk(net, x):\n    loss = score(net(x))\n    loss.backward()\n    loss.backward()\n"
    main = "import torch\nfrom walks import walk\nnet = torch.nn.Linear(3, 3)\nwalk(net, torch.ones(3))\n"
    monkeypatch.setattr(limits, "UNROLLED_STEPS", 0)
    squares = "def score(out):\n    return (out * out).sum()\n"
    for share, followed in ((6_000, True), (-1, False)):
        monkeypatch.setattr(limits, "IMPORTED_STEPS_ON_GRAPHS", share)
        found = machine(main, walks=walk, scores=squares)
        assert any(name == "walk" for _, name in found.exploration.followed) is followed


def test_a_loss_of_a_call_that_is_left_unseen_is_not_judged(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as nothing else has run it wholly."""
    judged = machine(MAIN, files=FILES, nets=NETS)
    assert judged.incidents and not judged.exploration.unjudged
    monkeypatch.setattr(limits, "IMPORTED_STEPS_OF_ENTRY", -1)
    monkeypatch.setattr(limits, "UNROLLED_STEPS", 0)
    seen = machine(MAIN, files=FILES, nets=NETS)
    (left,) = seen.exploration.unjudged
    assert left.span.text == "loss.backward()"
    assert left.reason.startswith("its graph rests on `net(torch.ones(3))`")


SLOTS = """\
import torch
from session import Trainer

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)
        self.slots = {}

    def turn(self, speaker):
        h = self.slots[speaker] if speaker in self.slots else torch.zeros(3)
        self.slots[speaker] = torch.tanh(self.lin(h))
        return self.slots[speaker].sum()

trainer = Trainer(Model())
for d in range(4):
    trainer.run([int(torch.randint(0, 3, (1,))) for _ in range(5)])
"""
SESSION = """\
import torch

class Trainer:
    def __init__(self, model):
        self.model = model

    def run(self, speakers):
        self.losses = [self.model.turn(s) for s in speakers]
        torch.stack(self.losses).mean().backward()
"""


def test_each_item_under_keys_that_nobody_knows_is_cut_from_its_graph(machine: Machine) -> None:
    cut = "        for key in list(self.model.slots):\n            self.model.slots[key] = self.model.slots[key].detach()\n"
    assert not machine(SLOTS, session=SESSION + cut).incidents


def test_whichever_item_is_read_under_a_key_that_nobody_knows_its_graph_is_freed(machine: Machine) -> None:
    (found,) = machine(SLOTS, session=SESSION).incidents
    assert isinstance(found, Freed) and found.built.span.text == "torch.tanh(self.lin(h))"
    touched = "        for s in set(speakers):\n            self.model.slots[s] = self.model.slots[s].detach()\n"
    assert not machine(SLOTS, session=SESSION + touched).incidents  # others may be read that aren't freed


@pytest.mark.parametrize("row", ["del self.model.slots[key]", "self.model.slots.pop(key)"])
def test_what_stands_under_keys_that_nobody_knows_is_taken_out_one_by_one(machine: Machine, row: str) -> None:
    main = SLOTS.replace("[int(", "[10 * d + int(")
    emptied = f"        for key in list(self.model.slots):\n            {row}\n"
    assert not machine(main, session=SESSION + emptied).incidents
