"""What an entry finds when it is called."""

from __future__ import annotations

import pytest

from retainlint.lowering import lower
from retainlint.source import Source
from retainlint.symbolic import explore

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
def test_gradients_were_off_where_they_are_turned_off_again(before: str, behind: str, fails: bool) -> None:
    found = explore(lower(Source("main.py", UPDATE.format(before, behind)))).incidents
    assert bool(found) is fails


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
    program: str, words: tuple[str, ...], fails: bool
) -> None:
    text = program.format(TWICE.format("1"), *words)
    assert bool(explore(lower(Source("main.py", text))).incidents) is fails
