"""A walk that ran proves that its root had a graph, and so what alone can have given it one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from machine import Machine

HAS_TORCH = importlib.util.find_spec("torch") is not None

HEAD = """import torch
import torch.nn.functional as F
def train(a, b, flag):
"""
CALLS = """
def tensor():
    return torch.rand(3, 3, requires_grad=True)
"""
BOTH = ("tensor(), tensor()", "tensor(), tensor().detach()", "tensor().detach(), tensor()")

SPEAKS: dict[str, tuple[str, ...]] = {
    "(a * a).sum()": BOTH[:2],
    "(a * b).sum()": (*BOTH, "tensor(), 2.0", "2.0, tensor()"),
    "((a - b) ** 2).mean()": (*BOTH, "tensor(), 2.0"),
    "(a @ b).mean()": BOTH,
    "(2 * a).sum()": BOTH[:2],
    "a.exp().sum()": BOTH[:2],
    "torch.cat([a, b]).sin().sum()": BOTH,
    "F.mse_loss(a, b)": BOTH,
    "(a + b).tanh().t().sum()": BOTH,
    "(a * b).sum() + a.exp().mean()": BOTH,
    "-(a * b).mean() + 0.5 * F.mse_loss(a, b)": BOTH,
    "torch.cat([a.exp(), (a * b).neg()]).sum()": BOTH,
}
"""Operations that save something whichever of the arguments needs a gradient; and such arguments."""

SILENT: dict[str, tuple[str, ...]] = {
    "(a + b).sum()": BOTH,
    "(a.exp().sum() + b.sum())": BOTH[2:],
    "torch.cat([a.exp(), b]).sum()": BOTH[2:],
    "a.sum()": BOTH[:2],
    "-a.mean()": BOTH[:2],
}
"""Those that needn't have saved anything; and arguments with which they didn't."""

TWICE = "    loss = {}\n    loss.backward()\n    loss.backward()\n"
ON_A_CONDITION = "    loss = {}\n    if flag:\n        loss.backward()\n    loss.backward()\n"


@pytest.mark.parametrize("root", SPEAKS)
def test_the_same_root_twice_is_told(machine: Machine, root: str) -> None:
    found = machine(HEAD + TWICE.format(root)).incident
    assert (found.primary.row, found.conditions) == (6, ())


@pytest.mark.parametrize("root", SPEAKS)
def test_so_it_is_on_a_condition(machine: Machine, root: str) -> None:
    found = machine(HEAD + ON_A_CONDITION.format(root)).incident
    assert (found.primary.row, [c.span.text for c in found.conditions]) == (7, ["flag"])


@pytest.mark.parametrize("root", SILENT)
def test_nothing_is_said_of_what_may_save_nothing(machine: Machine, root: str) -> None:
    assert not machine(HEAD + TWICE.format(root)).incidents


def test_another_root_proves_nothing(machine: Machine) -> None:
    text = HEAD + "    (a * b).sum().backward()\n    (a * b).sum().backward()\n    b.sum().backward()\n"
    assert not machine(text).incidents


def test_a_walk_that_may_have_failed_proves_nothing(machine: Machine) -> None:
    text = HEAD + "    loss = a * b\n    try:\n        loss.backward()\n    except RuntimeError:\n        pass\n"
    assert not machine(text + "    loss.backward(a)\n").incidents


LEFT_OPEN = """
class Trainer:
    def __init__(self):
        self.ready = False

    def loss_of(self, batch):
        \"\"\"To be defined by those who derive from this.\"\"\"
        raise NotImplementedError("loss_of")
        return

    def fit(self, batch):
        assert self.ready, "call prepare first"
        loss = self.loss_of(batch) / 2
        loss.backward()
        loss.backward()
"""


def test_what_others_define_or_see_to_ends_no_path(machine: Machine) -> None:
    found = machine(LEFT_OPEN).incident
    assert found.primary.row == 15


def test_a_failure_that_is_looked_for_ends_one(machine: Machine) -> None:
    text = LEFT_OPEN.replace("        loss.backward()\n        loss.backward()", "        batch.sum().backward()")
    guarded = "def test(batch, loss):\n    with pytest.raises(Exception):\n        Trainer().fit(batch)\n        "
    text = f"import pytest\n{text}\n{guarded}loss.exp().backward()\n        loss.exp().backward()\n"
    assert not machine(text).incidents


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
@pytest.mark.parametrize(("root", "line"), [*((r, 6) for r in SPEAKS), *((r, None) for r in SILENT)])
def test_torch_says_it(root: str, line: int | None, tmp_path: Path) -> None:
    from judge_torch import judge

    script = tmp_path / "program.py"
    for arguments in SPEAKS.get(root) or SILENT[root]:
        script.write_text(HEAD + TWICE.format(root) + CALLS + f"train({arguments}, True)\n", encoding="utf-8")
        assert judge(script).line == line, arguments


@pytest.mark.parametrize("made", ["u.detach().clone().requires_grad_(True)", "u.detach().requires_grad_()"])
def test_what_is_made_to_require_gradients_may_be_walked_in_each_turn(machine: Machine, made: str) -> None:
    text = f"""import torch
def find(transform, score, start):
    u = transform(start)
    x = {made}
    for _ in range(3):
        y = score(x)
        torch.autograd.backward(x, torch.autograd.grad(y, x))
"""
    assert not machine(text).incidents
