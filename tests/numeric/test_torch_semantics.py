"""What was measured of torch's autograd, line by line: small programs with their verdicts, run on the core, and on real
torch where it is installed."""

from __future__ import annotations

import importlib
import textwrap
from typing import Any

import pytest
from numeric.judges import Judge, core, torch_or_skip

SECOND = "Trying to backward through the graph a second time"
CHANGED = "one of the variables needed for gradient computation has been modified by an inplace operation"
OVERLAP = "unsupported operation: more than one element of the written-to tensor refers to a single memory location"
ROOTLESS = "element 0 of tensors does not require grad and does not have a grad_fn"
LEAF = "a leaf Variable that requires grad is being used in an in-place operation"

SETUP = """
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
w = torch.tensor([[0.5, -0.2], [0.3, 0.8]], requires_grad=True)
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""

RUNS = {
    "retain_graph defaults to create_graph": "y = (a * a).sum(); y.backward(create_graph=True); y.backward()",
    "grad to the middle frees only what lies between": "h = a * a; l = (h * h).sum(); torch.autograd.grad(l, h); h.sum().backward()",
    "grad leaves branches that don't lead there": "h = a * a; k = b * b; l = (h * k).sum(); torch.autograd.grad(l, h); k.sum().backward()",
    "backward(inputs) frees only the way to them": "h = a * a; k = b * b; l = (h + k).sum(); l.backward(inputs=[a]); k.sum().backward()",
    "an unrelated input frees nothing": "y = (a * a).sum(); torch.autograd.grad(y, b, allow_unused=True); y.backward()",
    "several roots are one walk": "h = a * a; torch.autograd.backward([h.sum(), (h * h).sum()])",
    "one root twice is one walk": "l = (a * a).sum(); torch.autograd.backward([l, l])",
    "a penalty with its loss in one walk": "l = (a ** 3).sum(); g, = torch.autograd.grad(l, a, create_graph=True); (l + (g ** 2).sum()).backward()",
    "freed is the node's reference, not the tensor": "h = a * 2; y = h.exp().sum(); del h; y.backward(retain_graph=True); y.backward()",
    "values stay readable after the walk": "h = a.exp(); h.sum().backward(); h.sum().item(); (h.detach() * b).sum().backward()",
    "losses that share only leaves": "(a * a).sum().backward(); (a * b).sum().backward()",
    "checkpoint over a body that saves nothing": "from torch.utils.checkpoint import checkpoint\ny = checkpoint(lambda t: t + 1, a, use_reentrant=False).sum(); y.backward(); y.backward()",
    "checkpoint retained, with a step between": "from torch.utils.checkpoint import checkpoint\ny = checkpoint(net, x.requires_grad_(), use_reentrant=False).sum(); y.backward(retain_graph=True); opt.step(); y.backward()",
    "a custom function that keeps its tensor on ctx": "y = Keep.apply(a).sum(); y.backward(); y.backward()",
    "in-place on the base itself": "y = a + 1; y.add_(1); z = y.sum(); z.backward(); z.backward()",
    "backward inside no_grad": "y = (a * a).sum()\nwith torch.no_grad():\n    y.backward()",
    "a derived weight that saves nothing": "s = a + 1\nfor _ in range(2):\n    (s * x).sum().backward()",
    "SGD calls its closure once": "l = net(x).sum()\nopt.step(lambda: l.backward())",
    "batch statistics carry no graph": "bn = nn.BatchNorm1d(2)\nfor _ in range(2):\n    bn(x).pow(2).sum().backward()",
    "as_tensor is the tensor itself": "assert torch.as_tensor(a) is a",
    "set_grad_enabled outlives its function": "def off():\n    torch.set_grad_enabled(False)\noff()\nassert not (a * a).requires_grad",
    "grad_outputs enter a gradient's graph": "v = torch.ones(2, requires_grad=True); g, = torch.autograd.grad(a * a, a, v, create_graph=True); torch.autograd.grad(g.sum(), v)",
    "one layer saves no weight for plain data": "m = nn.Linear(2, 1); o = torch.optim.SGD(m.parameters(), 0.1); l = m(x).sum(); l.backward(retain_graph=True); o.step(); l.backward()",
    "step skips parameters without gradient": "l = net(x).sum(); l.backward(retain_graph=True); opt.zero_grad(); opt.step(); l.backward()",
    "data is changed without a version": "y = (a * a).sum(); a.data.sub_(0.1); y.backward()",
    "data is replaced without a version": "y = (a * a).sum(); a.data = a.data * 2; y.backward()",
    "the discriminator is asked again after its step": "fake = torch.ones(1, 2, requires_grad=True) * 2; net(fake.detach()).sum().backward(); opt.step(); net(fake).sum().backward()",
    "multiplying saves the operand, not the result": "y = a * 3; y /= 2; y.sum().backward()",
    "backward returns None": "assert (a * a).sum().backward() is None",
    "a state that is detached": "h = torch.zeros(1, 3); cell = nn.RNNCell(2, 3)\nfor _ in range(2):\n    h = cell(x[:1], h.detach()); h.sum().backward()",
    "a view made before its base required grad saves no operand": "p = torch.ones(2); v = p[:1]; p.requires_grad_(); y = (v * v).sum(); y.backward(); y.backward(); assert p.grad is None",
    "a view made under no_grad has no edge": "with torch.no_grad():\n    v = a[:1]\ny = (v * v).sum(); y.backward(); y.backward(); assert a.grad is None",
    "a view loses its graph with its base's": "y = a * 2; v = y.view(2); y.detach_(); y.mul_(2); v.sum().backward(); assert v.requires_grad and a.grad is None",
    "detach_ does nothing in inference mode": "y = a * 2; v = y[0]\nwith torch.inference_mode():\n    y.detach_(); v.detach_()\nassert y.requires_grad and v.requires_grad",
    "views of inference tensors aren't known as views": "with torch.inference_mode():\n    q = torch.ones(2)[0]\nq.detach_()",
    "copying an expanded tensor onto itself": "v = torch.ones(2).expand(3, 2); v[:] = v; v[-3:] = v",
    "an optimiser takes what retains its grad": "y = a * 2; y.retain_grad(); torch.optim.SGD([y], 0.1)",
    "a product along one element takes its gradient as it is": "p = torch.ones(2, 1, requires_grad=True); g, = torch.autograd.grad(p.cumprod(1).sum(), p, create_graph=True); assert not g.requires_grad",
    "a carried state, retained, without a step": "h = torch.zeros(1, 3); cell = nn.RNNCell(2, 3)\nfor _ in range(3):\n    h = cell(x[:1], h); h.sum().backward(retain_graph=True)",
    "LBFGS with one iteration calls its closure once": "o = torch.optim.LBFGS([a], max_iter=1); l = (a ** 4).sum()\ndef closure():\n    l.backward(); return l\no.step(closure)",
    "a parameter made of a tensor has no graph": "p = nn.Parameter(a * a); assert p.is_leaf\nfor _ in range(2):\n    (p * p).sum().backward()\nassert a.grad is None",
    "numbers have no graph": "y = a * a; y.tolist(); y.detach().numpy(); float(y.sum()); y.sum().item(); y.sum().backward()",
    "detach_ cuts": "y = a * a; y.detach_(); assert not y.requires_grad and y.is_leaf",
    "evaluated dropout and plain layers save nothing": "y = nn.Dropout(0.5).eval()(nn.Flatten()(nn.Identity()(w))).sum(); y.backward(); y.backward()",
    "a forward in training moves the running statistics unseen": "bn = nn.BatchNorm1d(2); y = bn(x * a).pow(2).sum(); bn(x); y.backward()",
    "a constant pad saves nothing": "y = nn.functional.pad(a, (1, 2)).sum(); y.backward(); y.backward()",
    "a pool to one element saves nothing": "y = nn.AdaptiveAvgPool1d(1)(w).sum(); y.backward(); y.backward()",
    "the gradient of a pool leads to its input": "g, = torch.autograd.grad(nn.AvgPool1d(1)(w).sum(), w, create_graph=True); h, = torch.autograd.grad(g.sum(), w); assert not h.any()",
    "the old graph stays below zero_": "y = a * a; y.zero_(); y.sum().backward(); assert a.grad.tolist() == [0, 0]",
}
RAISES = {
    "create_graph with retain_graph=False frees": (
        SECOND,
        "y = (a * a).sum(); y.backward(create_graph=True, retain_graph=False); y.backward()",
    ),
    "retained in the first of three turns only": (
        SECOND,
        "y = (a * a).sum()\nfor i in range(3):\n    y.backward(retain_graph=(i == 0))",
    ),
    "a penalty walked before its loss": (
        SECOND,
        "l = a.exp().exp().sum(); g, = torch.autograd.grad(l, a, create_graph=True); (g ** 2).sum().backward(); l.backward()",
    ),
    "new forward work over a freed node": (SECOND, "h = a.exp(); h.sum().backward(); (h * 2).sum().backward()"),
    "checkpoint walked twice": (
        SECOND,
        "from torch.utils.checkpoint import checkpoint\ny = checkpoint(net, x.requires_grad_(), use_reentrant=False).sum(); y.backward(); y.backward()",
    ),
    "a custom function that saves for backward": (SECOND, "y = Save.apply(a).sum(); y.backward(); y.backward()"),
    "slice assignment puts a chain below": (SECOND, "z = a + 1; z[0] = 5.0; s = z.sum(); s.backward(); s.backward()"),
    "an in-place change of a view puts a chain below": (
        SECOND,
        "z = a + 1; z[:1].add_(1); s = z.sum(); s.backward(); s.backward()",
    ),
    "a saved result is read after the walk": (SECOND, "y = a.exp(); y.sum().backward(); y.grad_fn._saved_result"),
    "detach alone on a line changes nothing": (
        SECOND,
        "h = a * a\nfor _ in range(2):\n    h.detach()\n    (h * h).sum().backward()",
    ),
    "the old graph stays below copy_": (
        SECOND,
        "h = a * a; l = h.sum(); l.backward(); h[:1].copy_(b[:1]); h.sum().backward()",
    ),
    "running statistics changed in place": (
        CHANGED,
        "bn = nn.BatchNorm1d(2).eval(); y = bn(x * a).sum(); bn.running_mean.copy_(torch.ones(2)); y.backward()",
    ),
    "running statistics changed in place, in training": (
        CHANGED,
        "bn = nn.BatchNorm1d(2); y = bn(x * a).pow(2).sum(); bn.running_var.copy_(torch.ones(2)); y.backward()",
    ),
    "an LSTM's output walked twice": (SECOND, "o, _ = nn.LSTM(2, 3)(x); l = o.sum(); l.backward(); l.backward()"),
    "a reflect pad saves its input": (
        SECOND,
        "y = nn.ReflectionPad1d(1)(w).sum(); y.backward(); y.backward()",
    ),
    "a pool saves its input": (SECOND, "y = nn.AvgPool1d(2, 1)(w).sum(); y.backward(); y.backward()"),
    "a pool to two elements saves its input": (
        CHANGED,
        "h = w * 1; y = nn.AdaptiveAvgPool1d(2)(h).sum(); h.detach().add_(1); y.backward()",
    ),
    "a carried state": (
        SECOND,
        "h = torch.zeros(1, 3); cell = nn.RNNCell(2, 3)\nfor _ in range(2):\n    h = cell(x[:1], h); h.sum().backward()",
    ),
    "a carried LSTM state": (
        SECOND,
        "s = None; lstm = nn.LSTM(2, 3)\nfor _ in range(2):\n    o, s = lstm(x, s); o.sum().backward()",
    ),
    "a total that grows": (
        SECOND,
        "total = 0\nfor _ in range(2):\n    total = total + (a * a).sum(); total.backward()",
    ),
    "a list of losses that grows": (
        SECOND,
        "losses = []\nfor _ in range(2):\n    losses.append((a * a).sum()); sum(losses).backward()",
    ),
    "a derived weight": (SECOND, "s = a * 2\nfor _ in range(2):\n    (s * x).sum().backward()"),
    "a distribution that was made once": (
        SECOND,
        "d = torch.distributions.Normal(0.0, a.exp())\nfor _ in range(2):\n    d.log_prob(torch.tensor(0.5)).sum().backward()",
    ),
    "functional_call with derived weights": (
        SECOND,
        "from torch.func import functional_call\nm = nn.Linear(2, 1); p = {k: v * 2 for k, v in m.named_parameters()}\nfor _ in range(2):\n    functional_call(m, p, (x,)).sum().backward()",
    ),
    "a cached parametrization over turns": (
        SECOND,
        "from torch.nn.utils import parametrize\nclass Twice(nn.Module):\n    def forward(self, w):\n        return w * 2\nm = nn.Linear(2, 1); parametrize.register_parametrization(m, 'weight', Twice())\nwith parametrize.cached():\n    for _ in range(2):\n        m(x).sum().backward()",
    ),
    "LBFGS calls its closure again": (
        SECOND,
        "o = torch.optim.LBFGS([a]); l = (a ** 4).sum()\ndef closure():\n    l.backward(); return l\no.step(closure)",
    ),
    "two layers save a stepped weight": (
        CHANGED,
        "l = net(x).sum(); l.backward(retain_graph=True); opt.step(); l.backward()",
    ),
    "zeroed in place, the step still moves": (
        CHANGED,
        "opt = torch.optim.SGD(net.parameters(), 0.1, weight_decay=0.1); l = net(x).sum(); l.backward(retain_graph=True); opt.zero_grad(set_to_none=False); opt.step(); l.backward()",
    ),
    "a carried state, retained, with a step": (
        CHANGED,
        "h = torch.zeros(1, 3); cell = nn.RNNCell(2, 3); o = torch.optim.SGD(cell.parameters(), 0.1)\nfor _ in range(2):\n    h = cell(x[:1] * a, h); h.sum().backward(retain_graph=True); o.step()",
    ),
    "a weight changed under no_grad": (CHANGED, "y = (a * a).sum()\nwith torch.no_grad():\n    a -= 0.1\ny.backward()"),
    "clamp_ under no_grad": (CHANGED, "y = (a * a).sum()\nwith torch.no_grad():\n    a.clamp_(0, 1)\ny.backward()"),
    "lerp_ under no_grad": (CHANGED, "y = (a * a).sum()\nwith torch.no_grad():\n    a.lerp_(b, 0.1)\ny.backward()"),
    "load_state_dict": (CHANGED, "l = net(x).sum(); net.load_state_dict(net.state_dict()); l.backward()"),
    "init of a saved weight": (CHANGED, "l = net(x).sum(); nn.init.zeros_(net[2].weight); l.backward()"),
    "the detached shares storage and version": (
        CHANGED,
        "h = a * 2; y = (h * h).sum(); h.detach().zero_(); y.backward()",
    ),
    "a view made before its base required grad saves its input": (
        SECOND,
        "p = torch.ones(2); v = p[:1]; p.requires_grad_(); y = v.sin().sum(); y.backward(); y.backward()",
    ),
    "through an in-place change of an expanded view": (
        OVERLAP,
        "v = (a * 2).expand(3, 2); v.zero_(); v.sum().backward()",
    ),
    "a view of an inference tensor is changed outside": (
        "Inplace update to inference tensor outside InferenceMode is not allowed",
        "with torch.inference_mode():\n    q = torch.ones(2)[:1]\nq.mul_(a[:1])",
    ),
    "exp saved its result": (CHANGED, "y = a.exp(); y /= 2; y.sum().backward()"),
    "a score of before the step": (
        CHANGED,
        "fake = torch.ones(1, 2, requires_grad=True) * 2; g = net(fake).sum(); net(fake.detach()).sum().backward(retain_graph=True); opt.step(); g.backward()",
    ),
    **{
        f"the gradient of {call} holds the input": (
            CHANGED,
            f"y = a * 1; g, = torch.autograd.grad({call}.sum(), y, create_graph=True); y.detach().add_(1); g.sum().backward()",
        )
        for call in ("y.abs()", "y.square()", "y.norm(1)", "nn.functional.softplus(y)", "nn.functional.mse_loss(y, b)")
    },
    "a leaf changed in place": (LEAF, "a.add_(1)"),
    "no graph under no_grad": (ROOTLESS, "with torch.no_grad():\n    y = (a * a).sum()\ny.backward()"),
    "no graph after detach": (ROOTLESS, "(a * a).sum().detach().backward()"),
    "no graph in data": (ROOTLESS, "(a * a).sum().data.backward()"),
    "no graph of tensor(y)": (ROOTLESS, "torch.tensor((a * a).sum().item()).backward()"),
    "no graph of new_tensor": (ROOTLESS, "y = (a * a).sum(); y.new_tensor(y.item()).backward()"),
    "no graph of comparisons": (ROOTLESS, "(a > 1).float().sum().backward()"),
    "no graph of argmax": (ROOTLESS, "a.argmax().float().backward()"),
    "no graph of long": (ROOTLESS, "a.long().float().sum().backward()"),
    "no graph in inference mode": (ROOTLESS, "with torch.inference_mode():\n    y = (a * a).sum()\ny.backward()"),
    "several elements at the root": ("grad can be implicitly created only for scalar outputs", "(a * a).backward()"),
    "an unused input": (
        "The differentiated Tensor at index 0 appears to not have been used in the graph",
        "torch.autograd.grad((a * a).sum(), b)",
    ),
}
FUNCTIONS = """
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.a = a
        return a * a
    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.a
class Save(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a
    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]
"""


def verdict(program: str, judge: Judge) -> str | None:
    """The first sentence of the error that a program ends with."""
    names: dict[str, Any] = {"torch": judge.torch, "nn": judge.torch.nn}
    judge.torch.manual_seed(0)
    exec(FUNCTIONS + textwrap.dedent(SETUP), names)
    imports = program.replace(
        "from torch.utils.checkpoint import checkpoint", "checkpoint = torch.utils.checkpoint.checkpoint"
    )
    imports = imports.replace("from torch.func import functional_call", "functional_call = torch.func.functional_call")
    imports = imports.replace("from torch.nn.utils import parametrize", "parametrize = torch.nn.utils.parametrize")
    try:
        exec(imports, names)
    except RuntimeError as error:
        return str(error)
    finally:
        judge.torch.set_grad_enabled(True)
    return None


@pytest.mark.parametrize("name", RUNS)
def test_runs_on_the_core(name: str) -> None:
    assert verdict(RUNS[name], core()) is None


@pytest.mark.parametrize("name", RAISES)
def test_raises_on_the_core(name: str) -> None:
    sentence, program = RAISES[name]
    assert (verdict(program, core()) or "runs").startswith(sentence)


@pytest.mark.parametrize("name", [*RUNS, *RAISES])
def test_torch_agrees(name: str) -> None:
    real = torch_or_skip()
    importlib.import_module("torch.nn.utils.parametrize")
    importlib.import_module("torch.utils.checkpoint")
    if name in RUNS:
        assert verdict(RUNS[name], real) is None
    else:
        sentence, program = RAISES[name]
        assert (verdict(program, real) or "runs").startswith(sentence)


def test_a_walk_that_fails_has_freed_what_ran() -> None:
    torch = core().torch
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    low = a * a
    low.sum().backward()
    total = (low * 2).sum() + (b * b).sum()
    with pytest.raises(RuntimeError, match=SECOND):
        total.backward()
    assert b.grad.tolist() == [2, 2]


def test_the_node_created_last_runs_first() -> None:
    torch = core().torch
    a = torch.ones(2, requires_grad=True)
    ran: list[str] = []
    first, second = a * 2, a * 3
    first.register_hook(lambda g: ran.append("first"))
    second.register_hook(lambda g: ran.append("second"))
    (first + second).sum().backward()
    assert ran == ["second", "first"]


def test_backward_with_create_graph_keeps_the_graph_in_grad() -> None:
    torch = core().torch
    a = torch.ones(2, requires_grad=True)
    (a**3).sum().backward(create_graph=True)
    assert a.grad.requires_grad
    (second,) = torch.autograd.grad(a.grad.sum(), a)
    assert second.tolist() == [6, 6]
