"""Custom functions: forward is run by `apply`, backward by each backward pass that comes to it, as torch runs them."""

from __future__ import annotations

from textwrap import dedent

import pytest
from machine import Machine

from retainlint.incident import Modified, NoGraph
from retainlint.symbolic.state import limits

HEAD = """import torch
from torch import nn
from torch.autograd import Function
w = torch.ones(3, requires_grad=True)
"""

IN_PLACE = """
class F(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, grad):
        return 2 * grad
"""

EXP = """
class F(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return {0}
"""

GATED = """
class F(Function):
    @staticmethod
    def forward(ctx, x, y):
        if ctx.needs_input_grad[1]:
            ctx.save_for_backward(x)
        ctx.y = y
        return x * y
    @staticmethod
    def backward(ctx, grad):
        return ctx.y * grad, ctx.saved_tensors[0] * grad if ctx.needs_input_grad[1] else None
"""

KEPT = """
class F(Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = ctx.x.exp()
        return ctx.y.detach()
    @staticmethod
    def backward(ctx, grad):
        return torch.autograd.grad(ctx.y, ctx.x, grad)[0]
"""

WALKS = "torch.autograd.grad(x.exp(), x, grad)[0]"

RUNS = {
    "an in-place function behind what saves no result": IN_PLACE + "F.apply(w * 2).sum().backward()",
    "one on a view of that": IN_PLACE + "h = w * 2\nF.apply(h[:2])\nh.sum().backward()",
    "one that is called without gradients behind the backward pass": IN_PLACE
    + "h = w.exp()\nh.sum().backward()\nwith torch.no_grad():\n    F.apply(h)",
    "what is saved and not asked for is not checked": EXP.format("grad").replace("(x,) = ctx.saved_tensors", "")
    + "h = w + 1\ny = F.apply(h).sum()\nh.add_(1)\ny.backward()\ny.backward()",
    "what needs no gradient saves nothing here": GATED
    + "y = F.apply(w, torch.ones(3)).sum()\ny.backward()\ny.backward()",
    "an attribute of the context is not checked": GATED
    + "v = torch.ones(3)\ny = F.apply(w, v)\nv.add_(1)\ny.sum().backward()",
    "a gradient of a gradient turns gradients on": EXP.format(WALKS.replace("grad)[0]", "grad, create_graph=True)[0]"))
    + "torch.autograd.grad(F.apply(w).sum(), w, create_graph=True)[0].sum().backward()",
    "a graph that is kept is walked once": KEPT + "for _ in range(3):\n    F.apply(w * 2).sum().backward()",
    "a copy of the gradient may change": EXP.format("grad.clone().mul_(x.exp())") + "F.apply(w.exp()).sum().backward()",
    "a result that is an input is one on its own": EXP.format("grad").replace("x.exp()", "x")
    + "h = w * 2\ny = F.apply(h)\n(y.sum() + h.sum()).backward()",
    "many are saved, and given": """
class F(Function):
    @staticmethod
    def forward(ctx, n, *args):
        ctx.n = n
        ctx.save_for_backward(*args)
        return tuple([each * 2 for each in args])
    @staticmethod
    def backward(ctx, *grads):
        return (None, *[grad * 2 for grad, _ in zip(grads, ctx.saved_tensors)])
a, b = F.apply(2, w, w.exp())
(a + b).sum().backward()
""",
    "what is no tensor has no gradient": """
class F(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, 3
    @staticmethod
    def backward(ctx, grad, other):
        if other is not None:
            grad.sum().backward()
        return grad * 2
F.apply(w)[0].sum().backward()
""",
    "a refusal that is expected": EXP.format(WALKS)
    + "try:\n    F.apply(w).sum().backward()\nexcept RuntimeError:\n    pass",
}

FAILS = {
    "an in-place function behind what saves its result": IN_PLACE + "F.apply(w.exp()).sum().backward()",
    "one on a view of that": IN_PLACE + "h = w.exp()\nF.apply(h[:2])\nh.sum().backward()",
    "one that doesn't say so": IN_PLACE.replace("ctx.mark_dirty(x)", "").replace("return x", "return x * 1")
    + "F.apply(w.exp()).sum().backward()",
    "a leaf, in place": IN_PLACE + "F.apply(w)",
    "what is saved is freed": EXP.format("grad * x.exp()") + "y = F.apply(w).sum()\ny.backward()\ny.backward()",
    "also where a helper asks for it": EXP.format("g(ctx, grad)").replace("(x,) = ctx.saved_tensors", "")
    + "g = lambda ctx, grad: grad * ctx.saved_tensors[0]\ny = F.apply(w).sum()\ny.backward()\ny.backward()",
    "what needs a gradient saves": GATED + "y = F.apply(w, w.exp()).sum()\ny.backward()\ny.backward()",
    "without gradients": EXP.format("grad * x.exp()") + "with torch.no_grad():\n    y = F.apply(w)\ny.sum().backward()",
    "of nothing that needs one": EXP.format("grad * x.exp()") + "y = F.apply(torch.ones(3))\ny.sum().backward()",
    "a backward pass that ends at the function": EXP.format("grad * x.exp()")
    + "y = F.apply(w.exp()).sum()\ntorch.autograd.grad(y, w)\ntorch.autograd.grad(y, w)",
}

FAILS_WITHIN = {
    "gradients are off in backward": (EXP.format(WALKS) + "F.apply(w).sum().backward()", 14),
    "also where gradients are asked for": (EXP.format(WALKS) + "torch.autograd.grad(F.apply(w).sum(), w)", 14),
    "a graph that is kept is walked twice": (
        KEPT + "y = F.apply(w * 2).sum()\ny.backward(retain_graph=True)\ny.backward()", 15
    ),
    "gradients are off in forward": (KEPT.replace("torch.enable_grad()", "torch.set_grad_enabled(ctx is None)")
        + "F.apply(w * 2).sum().backward()", 15),
    "the gradient has no graph": (EXP.format("grad.sum().backward()") + "F.apply(w).sum().backward()", 14),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_what_runs_is_left_alone(machine: Machine, name: str) -> None:
    _run(HEAD + RUNS[name])
    assert machine(HEAD + RUNS[name]).lines == []


@pytest.mark.parametrize("name", FAILS)
def test_what_fails_is_told_at_the_outer_backward_pass(machine: Machine, name: str) -> None:
    text = (HEAD + FAILS[name]).rstrip()
    _fail(text)
    assert machine(text).lines == [len(text.splitlines())]


@pytest.mark.parametrize("name", FAILS_WITHIN)
def test_what_fails_within_backward_is_told_there(machine: Machine, name: str) -> None:
    text, line = FAILS_WITHIN[name]
    _fail(HEAD + text)
    assert machine(HEAD + text).lines == [line]


def _run(text: str) -> None:
    if _has_torch():
        exec(text, {})


def _fail(text: str) -> None:
    if _has_torch():
        with pytest.raises(RuntimeError):
            exec(text, {})


def _has_torch() -> bool:
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def test_a_change_is_told_where_apply_is_called(machine: Machine) -> None:
    incident = machine(HEAD + IN_PLACE + "h = w.exp()\nF.apply(h).sum().backward()").incident
    assert isinstance(incident, Modified)
    assert (incident.modified.span.text, incident.name) == ("F.apply(h)", "h")


def test_who_turns_gradients_off_is_named(machine: Machine) -> None:
    found = machine(HEAD + EXP.format(WALKS) + "F.apply(w).sum().backward()")
    assert isinstance(found.incident, NoGraph)
    assert found.incident.switched is not None and found.incident.switched.text == "F.apply(w).sum().backward()"
    (diagnostic,) = found.diagnostics
    assert "torch.enable_grad()" in diagnostic.helps[0].words


def test_a_result_that_is_said_to_have_no_gradient_has_none(machine: Machine) -> None:
    text = EXP.format("grad").replace(
        "return x.exp()", "y, z = x.exp(), x.sin(); ctx.mark_non_differentiable(z); return y, z"
    )
    text = (
        HEAD
        + text.replace("(ctx, grad)", "(ctx, grad, _)")
        + "y, z = F.apply(w)\ny.sum().backward()\nz.sum().backward()"
    )
    _fail(text)
    incident = machine(text).incident
    assert isinstance(incident, NoGraph) and incident.reason == "plain"


@pytest.mark.parametrize(
    ("fwd", "bwd", "fails"),
    [
        ("staticmethod", "torch.enable_grad()", False),
        ("staticmethod", "torch.autograd.function.once_differentiable", True),
        ("torch.amp.custom_fwd(device_type='cpu')", "torch.amp.custom_bwd(device_type='cpu')", True),
        (
            "(lambda f: torch.amp.custom_fwd(f, device_type='cpu'))",
            "(lambda f: torch.amp.custom_bwd(f, device_type='cpu'))",
            True,
        ),
    ],
)
def test_decorators_are_looked_through(machine: Machine, fwd: str, bwd: str, fails: bool) -> None:
    text = EXP.format(WALKS).replace("    def backward", f"    @{bwd}\n    def backward")
    text = HEAD + text.replace("    def forward", f"    @{fwd}\n    def forward") + "F.apply(w).sum().backward()"
    (_fail if fails else _run)(text)
    assert machine(text).lines == ([16] if fails else [])


def test_what_may_go_in_may_give_it_a_graph(machine: Machine) -> None:
    assert machine(HEAD + EXP.format("grad") + "from data import args\nF.apply(*args).sum().backward()").lines == []


def test_what_takes_too_many_steps_is_read(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CUSTOM_FUNCTION_STEPS", 3)
    text = HEAD + EXP.format(WALKS) + "y = F.apply(w).sum()\ny.backward()\ny.backward()"
    found = machine(text)
    assert found.lines == [17]
    assert found.says("`F.forward` was not followed: it takes too many steps")


def test_one_backward_a_class_is_run_by_a_backward_pass(machine: Machine) -> None:
    text = HEAD + EXP.format("grad") + "for _ in range(4):\n    w = F.apply(w)\nw.sum().backward()"
    one, many = (machine(text.replace("range(4)", f"range({n})")) for n in (1, 4))
    assert one.lines == many.lines == []
    assert many.steps - one.steps < 4 * one.steps


@pytest.mark.parametrize("inside", ["x.exp()", "run(x)"])
def test_a_context_outlives_the_call_that_made_it(machine: Machine, inside: str) -> None:
    text = """
        class Checkpoint(Function):
            @staticmethod
            def forward(ctx, run, x):
                ctx.run = run
                ctx.save_for_backward(x)
                return run(x)
            @staticmethod
            def backward(ctx, grad):
                x = ctx.saved_tensors[0].detach().requires_grad_()
                with torch.enable_grad():
                    y = ctx.run(x)
                torch.autograd.backward(y, grad)
                return None, x.grad

        def model(x, scale):
            return Checkpoint.apply(lambda h: (h * scale).exp(), x)

        for step in range(9):
            model(w, step % 2 + 1).sum().backward()
    """
    assert machine(HEAD + dedent(text)).lines == []


def test_of_another_module(machine: Machine) -> None:
    found = machine(
        """
        import torch
        from ops import F
        w = torch.ones(3, requires_grad=True)
        F.apply(w.exp()).sum().backward()
        """,
        ops="import torch\nfrom torch.autograd import Function\n" + IN_PLACE,
    )
    assert found.lines == [5]
