"""What `del` takes of a list: by a number or a slice, from either end, what Python takes."""

from __future__ import annotations

import pytest
from machine import Machine

KEPT = """import torch
w = torch.ones(3, requires_grad=True)
held = [w.exp(), w.sin(), w.cos()]
{}
for _ in range(2):
    held[0].sum().backward()
"""


@pytest.mark.parametrize(
    ("deletion", "made"),
    [
        ("pass", "w.exp()"),
        ("del held[:-16]", "w.exp()"),
        ("del held[:1]", "w.sin()"),
        ("del held[:-1]", "w.cos()"),
        ("del held[0]", "w.sin()"),
        ("del held[-1]", "w.exp()"),
        ("del held[-3]", "w.sin()"),
        ("del held[1:]", "w.exp()"),
        ("del held[0:3:2]", "w.sin()"),
    ],
)
def test_what_is_left_is_what_python_leaves(machine: Machine, deletion: str, made: str) -> None:
    (told,) = machine(KEPT.format(deletion)).diagnostics
    assert made in {label.span.text for label in told.labels}
