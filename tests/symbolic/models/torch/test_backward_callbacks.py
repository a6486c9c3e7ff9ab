"""What hooks, and the backward of custom functions, free or change of what the backward pass still needs that calls them."""

from __future__ import annotations

import pytest
from machine import Machine

HEAD = """import torch
from torch.autograd import Function
w = torch.ones(3, requires_grad=True)
class F(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        {0}
        return grad * 2
"""

HOOK = """
def hook(g):
    with torch.enable_grad():
        {0}.sum().backward()
"""

RUNS = {
    "backward begins at a leaf of its own": ("(x.detach().requires_grad_() * grad).sum()", "F.apply(w.exp())"),
    "backward changes what nothing has saved": ("x.mul_(grad)", "F.apply(w + 1)"),
    "backward changes what was needed before it": ("x.mul_(grad)", "F.apply(w + 1).exp()"),
    "a hook walks another graph": ("", f"h, k = w.exp(), w.sin(){HOOK.format('k')}h.register_hook(hook)\nF.apply(h)"),
    "a hook changes what was needed before it": (
        "",
        "h = w + 1\ny = h * 2\nz = y * y\ny.register_hook(lambda g: y.mul_(2))\nF.apply(z)",
    ),
}

FAILS = {
    "backward walks on into the outer graph": (
        "with torch.enable_grad():\n            x.exp().backward(grad)",
        "F.apply(w.exp())",
    ),
    "backward changes what a node before it saved": ("x.mul_(grad)", "F.apply(w.exp())"),
    "a hook walks the outer graph": ("", f"h = w.exp()\ny = F.apply(h){HOOK.format('h')}y.register_hook(hook)\ny"),
    "a hook changes what a node before it saved": (
        "",
        "h = w.exp()\ny = F.apply(h)\ny.register_hook(lambda g: h.mul_(2))\ny",
    ),
}


def _text(inside: str, made: str) -> str:
    *before, last = made.split("\n")
    return HEAD.format(inside or "pass") + "\n".join([*before, f"({last}).sum().backward()"])


@pytest.mark.parametrize("name", RUNS)
def test_what_nothing_needs_any_more_may_change(machine: Machine, name: str) -> None:
    text = _text(*RUNS[name])
    if _has_torch():
        exec(text, {})
    assert machine(text).lines == []


@pytest.mark.parametrize("name", FAILS)
def test_what_is_still_needed_may_not(machine: Machine, name: str) -> None:
    text = _text(*FAILS[name])
    if _has_torch():
        with pytest.raises(RuntimeError):
            exec(text, {})
    assert machine(text).lines == [len(text.splitlines())]


@pytest.mark.parametrize(("flags", "lines"), [("", [15]), ("create_graph=True", [])])
def test_gradients_are_off_in_hooks_unless_a_graph_is_created(machine: Machine, flags: str, lines: list[int]) -> None:
    made = "h, k = w.exp(), w.sin()\nh.register_hook(lambda g: (k * 2).sum().backward())\nF.apply(h)"
    text = _text("", made).replace("backward()", f"backward({flags})")
    if _has_torch() and lines:
        with pytest.raises(RuntimeError):
            exec(text, {})
    elif _has_torch():
        exec(text, {})
    assert machine(text).lines == lines


def test_that_it_was_expected_is_known(machine: Machine) -> None:
    text = _text(*FAILS["backward changes what a node before it saved"]).splitlines()
    text[-1:] = ["try:", f"    {text[-1]}", "except RuntimeError:", "    w.sum().backward()"]
    assert machine("\n".join(text)).lines == []


def _has_torch() -> bool:
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True
