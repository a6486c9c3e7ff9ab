"""What is asked anew in each turn of things that nobody sees."""

from __future__ import annotations

from machine import Machine

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


def test_unknowns_may_hold_each_other(machine: Machine) -> None:
    exploration = machine(HOLDING)
    assert exploration.lines == [12]
