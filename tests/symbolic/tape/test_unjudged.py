"""Backward passes that rest on what nobody sees are named, with what that is."""

from __future__ import annotations

import textwrap

import pytest

from retainlint.lowering import lower
from retainlint.symbolic import explore
from retainlint.text.source import Source


@pytest.mark.parametrize(
    ("root", "reason"),
    [
        ('engine.compute(x)["total"]', "it is not known what"),
        ("self.reg", "it is not known what `self.reg` is made of"),
        ("helper(x).sum()", "rests on `helper(x)`, of which nothing is known"),
    ],
)
def test_a_backward_pass_over_something_unseen_is_named(root: str, reason: str) -> None:
    text = f"import torch\nfrom lib import engine, helper\n\ndef train(self, x):\n    {root}.backward()\n"
    (gap,) = explore(lower(Source("program.py", text))).unjudged
    assert reason in gap.reason
    assert gap.span.row == 5


def test_one_that_is_judged_is_not() -> None:
    text = """
        import torch
        model = torch.nn.Linear(2, 1)
        for x in torch.randn(3, 2):
            model(x).sum().backward()
    """
    assert explore(lower(Source("program.py", textwrap.dedent(text)))).unjudged == ()
