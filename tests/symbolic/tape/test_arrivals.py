"""To which leaves backward passes of one place came: of each object whose method holds it, not of the first alone."""

from __future__ import annotations

from machine import Machine

AGENTS = """import torch
class Agent:
    def __init__(self):
        self.first = torch.nn.Linear(2, 1)
        self.prepare()
    def prepare(self):
        pass
    def loss(self, x):
        return self.first(x).sum()
    def learn(self, x):
        self.loss(x).square().backward()
class Other(Agent):
    def prepare(self):
        self.second = torch.nn.Linear(2, 1)
    def loss(self, x):
        return super().loss(x) + self.second(x).exp().sum()
for agent in (Agent(), Other()):
    for _ in range(2):
        agent.learn(torch.rand(3, 2))
"""


def test_leaves_of_a_second_object_count(machine: Machine) -> None:
    arrivals = machine(AGENTS).exploration.conduct.arrivals
    assert {leaf[0].text for leaf, _, _ in arrivals} == {"torch.nn.Linear(2, 1)"}
    assert {leaf[0].row for leaf, _, _ in arrivals} == {4, 14}


def test_what_fails_in_each_iteration_counts_where_it_failed_first(machine: Machine) -> None:
    text = """
import torch
w, maker = torch.ones(3, requires_grad=True), make()
for _ in range(3):
    shared = w.exp()
    for _ in range(3):
        (shared * 2).sum().backward()
for _ in range(2):
    maker.compute().backward()
"""
    conduct = machine(text).exploration.conduct
    assert {(span.row, numbers) for span, numbers in conduct.failed} == {(7, (1, 2))}
    assert {(span.row, numbers) for span, numbers in conduct.unseen} == {(9, (1,))}  # where its state repeats
