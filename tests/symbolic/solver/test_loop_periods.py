"""What is asked anew in each turn of things that nobody sees."""

from __future__ import annotations

from retainlint.lowering import lower
from retainlint.symbolic import explore
from retainlint.text.source import Source

HOLDING = """
import torch


def train(tasks, rate):
    total = torch.zeros(3, requires_grad=True).exp()
    for task in tasks:
        left, right = task.left(), task.right()
        left.other, right.other = right, left
        if right.ready:
            total = total * rate
            total.sum().backward()
"""


def test_unknowns_may_hold_each_other() -> None:
    exploration = explore(lower(Source("train.py", HOLDING)))
    assert [each.primary.row for each in exploration.incidents] == [12]
