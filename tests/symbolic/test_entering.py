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
