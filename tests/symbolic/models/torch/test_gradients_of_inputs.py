"""`autograd.grad`: what is asked for, and isn't in the graph, though a part of that isn't seen."""

from __future__ import annotations

import pytest
from machine import Machine

PROGRAM = """
import torch
from somewhere import batches, embed

model = torch.nn.Linear(5, 3)
for x in batches():
    {before}
    scale = torch.zeros(3, requires_grad=True)
    {after}
    y = model(x).sum(1)
    torch.autograd.grad(y.sum(), scale)
"""


@pytest.mark.parametrize(
    ("before", "after", "fails"),
    [
        ("pass", "pass", True),  # whatever the loader's items are made of, the scale is younger
        ("y = x + 1", "x = y", True),
        ("pass", "x = embed(x)", False),  # which may know of it by another way
        ("pass", "x = embed(x, scale)", False),
        ("net = embed(3)", "net.scale = scale; x = x * net(x)", False),
        ("pass", "x = x * scale[:1]", False),
    ],
)
def test_what_was_made_before_an_input_does_not_lead_to_it(
    machine: Machine, before: str, after: str, fails: bool
) -> None:
    codes = [told.code for told in machine(PROGRAM.format(before=before, after=after)).diagnostics]
    assert codes == ["RTL114"] * fails


CHOSEN = """
import torch
from somewhere import tasks

weights = {{"trunk": torch.ones(3, requires_grad=True)}}
for head in ("sine", "line"):
    weights[head] = torch.ones(3, requires_grad=True)
for x, {head} in tasks():
    names = [n for n in weights if n.startswith(("trunk", head))]
    fast = {{n: weights[n] * 2 for n in weights}}
    loss = (x * fast["trunk"] * fast[head]).exp().sum()
    torch.autograd.grad(loss, [fast[n] for n in names])
"""


def test_what_is_chosen_by_a_name_that_nobody_sees_may_be_used(machine: Machine) -> None:
    assert not machine(CHOSEN.format(head="head")).diagnostics


OPTIONS = """
import torch
from somewhere import options

scale = torch.zeros(3, requires_grad=True)
x = torch.ones(2, 3) * scale
if options.first > 1:
    if options.second > 2:
        if options.third > 3:
            if {last}:
                x = torch.ones(2, 3)
torch.autograd.grad(torch.nn.Linear(3, 1)(x).sum(), [scale])
"""


@pytest.mark.parametrize(("last", "fails"), [("True", True), ("options.fourth > 4", False)])
def test_a_refused_gradient_that_takes_more_than_three_conditions_is_not_told(
    machine: Machine, last: str, fails: bool
) -> None:
    codes = [told.code for told in machine(OPTIONS.format(last=last)).diagnostics]
    assert codes == ["RTL114"] * fails
