"""Whether an option is one of the numbers or texts that a dict, a list or a range is asked for isn't known: what fails by another
value than its default is a warning, what fails by default an error."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.diagnostic import Severity

PROGRAM = """
import argparse
import torch
p = argparse.ArgumentParser()
p.add_argument("--start", type=int, default={default})
args = p.parse_args()
start = args.start
plan = {plan}
net = torch.nn.Linear(4, 2).requires_grad_(False)
for epoch in range(2):
    if {asked}:
        net.weight.requires_grad_(True)
    net(torch.randn(3, 4)).sum().backward()
"""

PLANS = [  # what is asked for, and how; with 0 for the start all is well, with 5 it fails
    ("{start: 'weight'}", "plan.get(epoch) is not None"),
    ("{start: 'weight', start + 7: 'bias'}", "plan.get(epoch) == 'weight'"),
    ("{start + i: 'weight' for i in range(3)}", "plan.get(epoch, 'none') == 'weight'"),
    ("{start: {'weight': 1}}", "'weight' in plan.get(epoch, {})"),
    ("{start: 'weight', 8: 'bias'}", "epoch in plan and plan[epoch] == 'weight'"),
    ("{start: 1, start + 7: 2, start + 8: 3, start + 9: 4, start + 10: 5}", "plan.get(epoch)"),
    ("{start: 'weight'}", "plan.pop(epoch, None)"),
    ("{start: 'weight'}", "epoch in plan"),
    ("[start]", "epoch in plan"),
    ("[start, 9, start + 9]", "not epoch not in plan"),
    ("(start, 9)", "epoch in plan"),
    ("{start, start + 1}", "epoch in plan"),
    ("range(start, start + 2)", "epoch in plan"),
    ("range(start, 9)", "epoch in plan"),
]


@pytest.mark.parametrize(("plan", "asked"), PLANS)
@pytest.mark.parametrize(("default", "severity"), [(0, Severity.WARNING), (5, Severity.ERROR)])
def test_an_unknown_key_may_be_the_one_that_is_asked_for(
    machine: Machine, plan: str, asked: str, default: int, severity: Severity
) -> None:
    (told,) = machine(PROGRAM.format(default=default, plan=plan, asked=asked)).diagnostics
    assert (told.code, told.severity) == ("RTL112", severity)


def test_one_of_two_unknown_keys_is_there(machine: Machine) -> None:
    program = PROGRAM.format(default=0, plan="{start: True, start + 1: False}", asked="plan[epoch]")
    (told,) = machine(program).diagnostics
    assert told.severity is Severity.WARNING


CUT = """
def fit(plan, net, h):
    for epoch in range(3):
        h = net(h).tanh()
        h.sum().backward()
        if {asked}:
            h = h.detach()
import argparse, torch
p = argparse.ArgumentParser()
p.add_argument("--start", type=int, default={default})
start = p.parse_args().start
fit({plan}, torch.nn.Linear(4, 4), torch.zeros(4))
"""


@pytest.mark.parametrize(
    ("plan", "asked"),
    [
        ("{start + i: 'cut' for i in range(3)}", "plan.get(epoch) == 'cut'"),
        ("[start, start + 1, start + 2]", "epoch in plan"),
    ],
)
@pytest.mark.parametrize(("default", "severity"), [(0, Severity.WARNING), (5, Severity.ERROR)])
def test_a_cut_under_an_unknown_key_may_happen(
    machine: Machine, plan: str, asked: str, default: int, severity: Severity
) -> None:
    (told,) = machine(CUT.format(default=default, plan=plan, asked=asked)).diagnostics
    assert (told.code, told.severity) == ("RTL104", severity)


def test_a_text_that_is_surely_another_key_is_not_there(machine: Machine) -> None:
    text = """
    import torch
    def fit(name):
        w = torch.rand(3, requires_grad=True)
        kept = {name: w.exp().sum(), "b": w.exp().sum()}
        if name == "a":
            kept["b"].backward()
            if kept.get("c") is not None:
                kept["b"].backward()
            kept.get("a").backward()
            kept["b"].backward()
    """
    assert machine(text).lines == [11]


TRACKS = """\
import torch

class Trainer:
    def __init__(self, app):
        self.app = app
        self.optimizer = torch.optim.Adam(app.parameters(), lr=1e-3)
        self.tracks = {}

    def update(self, sequence):
        for crops, ids in sequence:
            feats = self.app(crops)
            if self.tracks:
                old = torch.stack([self.tracks[k] for k in self.tracks])
                loss = (old @ feats.t()).sum()
                self.optimizer.zero_grad()
                loss.backward()
            for k, j in enumerate(ids):
                self.tracks[int(j)] = feats[k].clone()
"""


@pytest.mark.parametrize(
    ("row", "fails"),
    [
        ("", True),
        ("for k in list(self.tracks): self.tracks[k] = self.tracks[k].detach()", False),
        ("for t in self.tracks.values(): t.detach_()", False),
        ("self.tracks = {k: t.detach() for k, t in self.tracks.items()}", False),
        ("self.tracks.clear()", False),
    ],
)
def test_rows_of_an_unseen_output_that_is_a_tensor_are_kept_by_keys_that_are_computed(
    machine: Machine, row: str, fails: bool
) -> None:
    assert machine(f"{TRACKS}            {row}\n").lines == ([16] if fails else [])
    made_of_a_tuple = TRACKS.replace("feats.t()", "feats[0]")
    assert machine(f"{made_of_a_tuple}            {row}\n").lines == []  # any of its items may have no graph
