"""The bench of cures: what a help does is read off its words, and a program is judged against its expert."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from cure_fixtures import examples, same_grads

from benchmarks.truth.cures import kind_of, measured, table

HAS_TORCH = importlib.util.find_spec("torch") is not None

PROGRAM = """\
import torch

w = torch.ones(3, requires_grad=True)
for _ in range(2):
    w.grad = None
    (w * w).sum().backward()
    w -= 0.1 * w.grad
print("grads", f"{w.grad.norm():.5f}", f"{w.sum():.5f}")
"""

CURE = """\
about = "An update by hand."
modules = []
grads = "grads 2.77128 1.92000"

[[failure]]
rule = "RTL113"
other_rules = []
error = "leaf"
file = "program.py"
line = 7
cure = "no-grad"
names = ["w"]
rows = ["program.py:7"]
acceptable = []
harmful = ["out-of-place"]
why = "The update is no part of the graph."
"""


@pytest.mark.parametrize(
    "words, kind",
    [
        ("compute `y` inside the loop", "move-into-loop"),
        ("call `model.draw()` inside the loop", "move-into-loop"),
        ("compute at the start of each iteration what the one before hands on", "move-into-loop"),
        ("compute `y` inside the closure: each call has new weights", "move-into-closure"),
        ("compute `self.s` in `forward` or a property, so that each pass finds a new graph", "compute-where-used"),
        ("use `h.detach()` for the loss, if it needs no gradient through it", "detach"),
        ("add the losses up and walk their sum once, after the loop", "sum"),
        ("walk both at once, `(a + b).backward()`", "sum"),
        ("`retain_graph=True` on line 3, if both are wanted (it costs memory)", "retain"),
        ("`create_graph=True`, if the second pass is to go through the gradient", "create-graph"),
        ("do it under `with torch.no_grad():`", "no-grad"),
        ("compute it outside of `torch.no_grad()`", "uncut"),
        ("`y = y + x` instead of `y += x`", "out-of-place"),
        ("clear `self.kept` after each walk", "clear-list"),
        ("compute `loss` again before the second walk", "recompute"),
        ("remove one of the two walks: the second only adds the same gradients again", "remove-backward"),
        ("walk only the loss of this turn, and add detached values to `total`", "as-number"),
        ("think about it", ""),
    ],
)
def test_what_a_help_does_is_read_off_its_words(words: str, kind: str) -> None:
    assert kind_of(words) == kind


def test_gradients_are_the_same_but_for_the_order_of_a_sum() -> None:
    assert same_grads("grads 1.00000 0.5", "grads 1.00001 0.5")
    assert same_grads("grads 1.0 -0.169 0.5", "grads 1.0 -0.17 0.5")  # the last place, rounded the other way
    assert not same_grads("grads 1.0 0.004", "grads 1.0 0.006")
    assert not same_grads("grads 1.0 0.5", "grads 1.1 0.5")
    assert not same_grads("grads 1.0", "grads 1.0 0.5")
    assert not same_grads("", "")


@pytest.mark.skipif(not HAS_TORCH, reason="torch isn't installed")
def test_a_program_is_judged_against_its_expert(tmp_path: Path) -> None:
    folder = tmp_path / "update"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    cured = PROGRAM.replace("    w -= 0.1", "    with torch.no_grad():\n        w -= 0.1")
    (folder / "expert.py").write_text(cured, encoding="utf-8")
    (folder / "cure.toml").write_text(CURE, encoding="utf-8")
    (row,) = measured(examples(tmp_path)[0], fix=True)
    assert (row.told, row.first, row.offered, row.fixed) == ("right", "expert", "fix", "same")
    assert next(iter(table([row]))) == "1 root causes in 1 programs"
