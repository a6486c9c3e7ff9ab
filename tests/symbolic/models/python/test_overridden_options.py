"""A dict of defaults behind an update by what nobody sees, and the environment: each value may be another, or is what it was by
default."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.diagnostic import Severity

PROGRAM = """
import torch
USUAL = {{"shape": None, "passes": 1, "keep": True}}
def fit(given):
    options = {0}
    w = torch.rand(3, requires_grad=True)
    loss = (w * w).sum()
    loss.backward({1})
    if {2}:
        loss.backward()
"""

UNSEEN = [
    "dict(USUAL)\n    options.update(given)",
    "USUAL.copy()\n    options.update(lr=1, **given)",
    "{**USUAL, **given}",
]
SEEN = ["dict(USUAL)\n    options.update(lr=1)", "{**USUAL, **{'lr': 1}}", "{**given, **USUAL}"]


@pytest.mark.parametrize("made", UNSEEN)
def test_none_may_be_anything_by_then(machine: Machine, made: str) -> None:
    (told,) = machine(PROGRAM.format(made, "", "options['shape'].dim() == 1")).diagnostics
    assert any("happens if" in note for note in told.notes)
    (told,) = machine(PROGRAM.format(made, "", "options['shape'] is None")).diagnostics
    assert any("options['shape'] is None" in note for note in told.notes)


@pytest.mark.parametrize("made", UNSEEN)
def test_what_fails_by_another_value_is_a_warning(machine: Machine, made: str) -> None:
    assert not machine(PROGRAM.format(made, "retain_graph=True", "options['passes'] > 1")).diagnostics
    (told,) = machine(PROGRAM.format(made, "", "options['passes'] > 1")).diagnostics
    assert told.severity is Severity.WARNING
    assert any("not by default" in note for note in told.notes)


@pytest.mark.parametrize("made", SEEN)
def test_an_update_that_is_seen_leaves_what_it_does_not_name(machine: Machine, made: str) -> None:
    assert not machine(PROGRAM.format(made, "", "options['shape'] is not None")).diagnostics
    (told,) = machine(PROGRAM.format(made, "", "options['shape'] is None")).diagnostics
    assert not any("happens if" in note for note in told.notes)


@pytest.mark.parametrize(
    "rebinds", ["self.__dict__.update(given)", "for name in given:\n            setattr(self, name, given[name])"]
)
def test_attributes_by_names_that_nobody_sees(machine: Machine, rebinds: str) -> None:
    text = f"""
import torch
class Options:
    def __init__(self, given):
        self.shape = None
        {rebinds}
def fit(given):
    options = Options(given)
    w = torch.rand(3, requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    if options.shape.dim() == 1:
        loss.backward()
"""
    (told,) = machine(text).diagnostics
    assert any("happens if" in note for note in told.notes)


ENVIRONMENT = """
import os, sys
import torch
w = torch.rand(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
if {0}:
    loss.backward()
"""

UNSET = [
    "os.getenv('AGAIN')",
    "os.environ.get('AGAIN') is not None",
    "os.environ.get('AGAIN', '0') == '1'",
    "'AGAIN' in os.environ",
    "'--again' in sys.argv",
    "int(os.environ.get('PASSES', '1')) > 1",
]
USUAL = ["not os.getenv('ONCE')", "os.environ.get('AGAIN', '1') == '1'", "'ONCE' not in os.environ"]


@pytest.mark.parametrize("asked", UNSET)
def test_what_fails_by_what_is_set_for_it_is_a_warning(machine: Machine, asked: str) -> None:
    (told,) = machine(ENVIRONMENT.format(asked)).diagnostics
    assert told.severity is Severity.WARNING
    assert any("not by default" in note for note in told.notes)


@pytest.mark.parametrize("asked", USUAL)
def test_what_fails_unless_something_is_set_is_an_error(machine: Machine, asked: str) -> None:
    (told,) = machine(ENVIRONMENT.format(asked)).diagnostics
    assert told.severity is Severity.ERROR


REMAINDERS = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--every", type=int, default=1)
args = parser.parse_args()
w = torch.rand(3, requires_grad=True)
last = torch.zeros(())
def step(i):
    global last
    loss = (w.exp().sum() - last) ** 2
    loss.backward()
    last = loss.detach() if {} else loss
for epoch in range(2):
    for i, _ in enumerate(open("data.txt")):
        step(i)
"""


@pytest.mark.parametrize(
    ("asked", "severity"),
    [("(i + 1) % args.every == 0", Severity.WARNING), ("(i + 1) % (args.every + 1) == 0", Severity.ERROR)],
)
def test_a_remainder_by_an_option_is_what_it_is_by_default(machine: Machine, asked: str, severity: Severity) -> None:
    (told,) = machine(REMAINDERS.format(asked)).diagnostics
    assert told.severity is severity
    assert any("not by default" in note for note in told.notes) is (severity is Severity.WARNING)


CLICK = """
import click, torch
@click.command{brackets}
@click.option("-m", "--mode", default="safe")
@click.option("--deep/--flat", default=False)
@click.option("--late", "lately", is_flag=True)
def fit(mode, deep, lately):
    loss = torch.ones(2, requires_grad=True).exp().sum()
    if {asked}:
        loss.backward()
    loss.backward()
{call}
"""


@pytest.mark.parametrize("call", ["", "fit()", "fit(['--mode', 'lean'], standalone_mode=False)"])
@pytest.mark.parametrize("brackets", ["", "()"])
@pytest.mark.parametrize(
    ("asked", "severity"),
    [
        ("mode == 'safe'", Severity.ERROR),
        ("mode == 'lean'", Severity.WARNING),
        ("deep", Severity.WARNING),
        ("lately", Severity.WARNING),
    ],
)
def test_what_click_is_told_to_take_holds_where_nobody_gives_it(
    machine: Machine, asked: str, severity: Severity, brackets: str, call: str
) -> None:
    [told] = machine(CLICK.format(asked=asked, brackets=brackets, call=call)).diagnostics
    assert told.code == "RTL102" and told.severity is severity


def test_what_click_gives_by_default_is_no_other_item(machine: Machine) -> None:
    text = """
import click, torch
from contextlib import nullcontext
from torch.autograd.graph import allow_mutation_on_saved_tensors
MODES = {{"lean": nullcontext, "safe": allow_mutation_on_saved_tensors}}
@click.command()
@click.option("--mode", type=click.Choice(sorted(MODES)), default="{mode}")
def fit(mode):
    with MODES[mode]():
        h = torch.ones(3, requires_grad=True) * 2
        power = h.square().sum()
        h.mul_(0.5)
        power.backward()
"""
    assert [machine(text.format(mode=mode)).lines for mode in ("lean", "safe")] == [[13], []]
