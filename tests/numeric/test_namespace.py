"""The face on its own: how tensors print, which numbers the generator gives, what is said of what is lacking."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from numeric.judges import Judge, core, torch_or_skip

PRINTED = {
    "torch.tensor([1.0, 2.0])": "tensor([1., 2.])",
    "torch.tensor([1.5, -2.25])": "tensor([ 1.5000, -2.2500])",
    "torch.tensor([1e-5, 1.0])": "tensor([1.0000e-05, 1.0000e+00])",
    "torch.tensor([1e10, 1.0])": "tensor([1.0000e+10, 1.0000e+00])",
    "torch.tensor([float('nan'), float('inf'), 1.0])": "tensor([nan, inf, 1.])",
    "torch.tensor([[1, 2], [30, 4]])": "tensor([[ 1,  2],\n        [30,  4]])",
    "torch.tensor([True, False])": "tensor([ True, False])",
    "torch.tensor(3)": "tensor(3)",
    "torch.tensor(2.5, dtype=torch.float64)": "tensor(2.5000, dtype=torch.float64)",
    "torch.zeros(0)": "tensor([])",
    "torch.zeros(0, 3)": "tensor([], size=(0, 3))",
    "torch.ones(2, requires_grad=True)": "tensor([1., 1.], requires_grad=True)",
    "torch.ones(2, requires_grad=True) * 2": "tensor([2., 2.], grad_fn=<MulBackward0>)",
    "torch.ones(2, requires_grad=True).sum()": "tensor(2., grad_fn=<SumBackward0>)",
    "torch.arange(2000)": "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])",
    "torch.ones(2, 3).shape": "torch.Size([2, 3])",
    "torch.float32": "torch.float32",
    "torch.sum(input=torch.ones(2, 3), axis=0)": "tensor([2., 2., 2.])",
    "torch.cumsum(input=torch.arange(3), dim=0, dtype=torch.float32)": "tensor([0., 1., 3.])",
    "torch.nansum(torch.tensor([1.0, float('nan')]), dtype=torch.float64)": "tensor(1., dtype=torch.float64)",
    "nn.functional.elu(torch.tensor([1.0, -1.0]), 0.0, True)": "tensor([1., -0.])",
    "nn.Linear(2, 3)": "Linear(in_features=2, out_features=3, bias=True)",
    "nn.Sequential(nn.Linear(2, 1), nn.ReLU())": "Sequential(\n  (0): Linear(in_features=2, out_features=1, bias=True)\n  (1): ReLU()\n)",
    "nn.LSTM(2, 3, batch_first=True)": "LSTM(2, 3, batch_first=True)",
    "nn.Dropout(0.2)": "Dropout(p=0.2, inplace=False)",
    "nn.BatchNorm1d(4)": "BatchNorm1d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
    "nn.LeakyReLU(0.2)": "LeakyReLU(negative_slope=0.2)",
    "nn.ReflectionPad2d((1, 2, 0, 1))": "ReflectionPad2d((1, 2, 0, 1))",
    "nn.ConstantPad1d(1, 2.5)": "ConstantPad1d(padding=(1, 1), value=2.5)",
    "nn.AvgPool1d(3, 1)": "AvgPool1d(kernel_size=(3,), stride=(1,), padding=(0,))",
    "nn.AvgPool2d(3, padding=1)": "AvgPool2d(kernel_size=3, stride=3, padding=1)",
    "nn.AdaptiveAvgPool2d((2, None))": "AdaptiveAvgPool2d(output_size=(2, None))",
    "nn.ReplicationPad1d((2, 0))(torch.tensor([[1.0, 2.0]]))": "tensor([[1., 1., 1., 2.]])",
    "nn.CircularPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))": "tensor([[3., 1., 2., 3., 1.]])",
    "nn.AvgPool2d(2, 1)(torch.arange(6.0).reshape(1, 2, 3))": "tensor([[[2., 3.]]])",
    "nn.ModuleList([nn.Tanh(), nn.Tanh()])": "ModuleList(\n  (0-1): 2 x Tanh()\n)",
}
DRAWN = {
    "torch.rand(3)": "tensor([0.4963, 0.7682, 0.0885])",
    "torch.randn(3)": "tensor([ 1.5410, -0.2934, -2.1788])",
    "torch.randn(20)[-3:]": None,
    "torch.randn(17, dtype=torch.float64)[:3]": None,
    "torch.rand(3, dtype=torch.float64)": None,
    "torch.randint(0, 10, (6,))": "tensor([4, 9, 3, 0, 3, 9])",
    "torch.randint(0, 2**40, (2,))": None,
    "torch.randperm(10)": "tensor([4, 1, 7, 5, 3, 9, 0, 8, 6, 2])",
    "nn.Linear(3, 2).weight": None,
    "nn.Embedding(3, 2).weight": None,
    "nn.GRU(2, 2).weight_ih_l0": None,
    "nn.init.xavier_normal_(torch.empty(3, 5))": None,
    "torch.bernoulli(torch.full((6,), 0.5))": None,
    "torch.multinomial(torch.tensor([0.2, 0.3, 0.5]), 6, True)": None,
    "torch.normal(torch.zeros(3), torch.ones(3))": None,
    "torch.distributions.Normal(0.0, 1.0).sample((3,))": None,
}
"""Draws from seed 0, as torch printed them; None: only asked of torch itself."""
ERRORS = [
    "nn.functional.pad(torch.ones(2, 3), (3, 1), mode='reflect')",
    "nn.functional.pad(torch.ones(2, 3), (4, 1), mode='circular')",
    "nn.functional.pad(torch.ones(2, 3), (-2, -2))",
    "nn.functional.pad(torch.ones(2, 3), (1, 1), mode='reflect', value=2.0)",
    "nn.functional.pad(torch.ones(2, 3), (1, 1), mode='mirror')",
    "nn.ReflectionPad2d(1)(torch.ones(2, 2))",
    "nn.AvgPool2d(2, padding=2)(torch.ones(1, 4, 4))",
    "nn.AvgPool2d(5)(torch.ones(1, 4, 4))",
    "nn.AvgPool2d(2, 0)(torch.ones(1, 4, 4))",
    "nn.AvgPool1d(2)(torch.ones(4))",
    "nn.functional.avg_pool3d(torch.ones(1, 2, 4, 4), 3)",
    "nn.functional.adaptive_avg_pool2d(torch.ones(1, 4, 4), (1, 2, 3))",
    "torch.ones(2) + torch.ones(3)",
    "torch.ones(2, 3) @ torch.ones(2, 3)",
    "torch.ones(6).view(4)",
    "torch.ones(2, 3).t().view(6)",
    "torch.ones(2).item()",
    "bool(torch.ones(2))",
    "torch.ones(2)[5]",
    "torch.ones(2, 3).sum(5)",
    "torch.ones(2, dtype=torch.int64).requires_grad_()",
    "(torch.ones(2, requires_grad=True) * 2).requires_grad_(False)",
    "torch.ones(2, requires_grad=True).numpy()",
    "torch.cat([torch.ones(2, 3), torch.ones(3, 2)])",
    "torch.stack([torch.ones(2), torch.ones(3)])",
    "nn.Linear(3, 2)(torch.ones(4, 4))",
    "nn.Linear(3, 2).load_state_dict({})",
    "nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0, 4]))",
    "nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0]))",
    "torch.ones(2, requires_grad=True).add_(1)",
    "torch.ones(2, requires_grad=True)[0].add_(1)",
    "(torch.ones(2, requires_grad=True) * 2).unbind()[0].add_(1)",
    "(torch.ones(2, requires_grad=True) * 2).backward(torch.ones(3))",
    "torch.ones(2).register_hook(print)",
    "torch.arange(3).float().mean().backward()",
    "torch.arange(3).mean()",
    "torch.optim.SGD([], lr=0.1)",
    "torch.tensor([[1.0], [2.0, 3.0]])",
]


def evaluated(judge: Judge, expression: str) -> Any:
    """What an expression gives, from seed 0."""
    judge.torch.manual_seed(0)
    return eval(expression, {"torch": judge.torch, "nn": judge.torch.nn})


def refused(judge: Judge, expression: str) -> tuple[str, str]:
    """How an expression fails."""
    with pytest.raises(Exception) as caught:
        evaluated(judge, expression)
    return caught.type.__name__, str(caught.value)


@pytest.mark.parametrize("expression", PRINTED)
def test_prints_as_torch(expression: str) -> None:
    assert repr(evaluated(core(), expression)) == PRINTED[expression]


@pytest.mark.parametrize("expression", [e for e in DRAWN if DRAWN[e]])
def test_draws_recorded_numbers(expression: str) -> None:
    assert repr(evaluated(core(), expression)) == DRAWN[expression]


@pytest.mark.parametrize("expression", [*PRINTED, *DRAWN])
def test_torch_prints_the_same(expression: str) -> None:
    assert repr(evaluated(torch_or_skip(), expression)) == repr(evaluated(core(), expression))


@pytest.mark.parametrize("expression", ERRORS)
def test_errors_are_torchs(expression: str) -> None:
    assert refused(core(), expression) == refused(torch_or_skip(), expression)


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ("torch.fft", "torch.fft"),
        ("nn.Conv2d(1, 1, 1)", "torch.nn.Conv2d"),
        ("torch.ones(2).stft()", "Tensor.stft"),
        ("torch.ones(2).to('cuda')", "device 'cuda'"),
        ("torch.ones(2, dtype=torch.bfloat16)", "dtype torch.bfloat16"),
    ],
)
def test_what_is_lacking_is_named(expression: str, named: str) -> None:
    _, text = refused(core(), expression)
    assert text.startswith(f"retainlint's reference core has no {named} yet (")


def test_the_package_imports_no_numpy() -> None:
    code = "import retainlint, retainlint.autograd.operations, retainlint.autograd.engine, sys; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_modes_are_blocks_decorators_and_statements() -> None:
    torch = core().torch
    a = torch.ones(2, requires_grad=True)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def quiet() -> Any:
        return a * 2

    @torch.inference_mode  # type: ignore[untyped-decorator]
    def quieter() -> Any:
        return a * 2

    assert not quiet().requires_grad
    assert quieter().is_inference()
    with torch.set_grad_enabled(False), torch.enable_grad():
        assert (a * 2).requires_grad
    assert torch.is_grad_enabled()


def test_next_functions_lead_to_the_leaf() -> None:
    torch = core().torch
    a = torch.ones(2, requires_grad=True)
    node = (a * 2).sum().grad_fn
    assert node.name() == "SumBackward0"
    below = node.next_functions[0][0]
    assert below.name() == "MulBackward0"
    assert below.next_functions[0][0].variable is a
    assert below.next_functions[1] == (None, 0)


def test_retain_grad_follows_an_in_place_change() -> None:
    torch = core().torch
    a = torch.ones(2, requires_grad=True)
    y = a * 3
    y.retain_grad()
    y.mul_(2)
    y.sum().backward()
    assert y.grad.tolist() == [1, 1]
    assert a.grad.tolist() == [6, 6]


def test_hooks_replace_gradients_until_they_are_removed() -> None:
    torch = core().torch
    a = torch.ones(2, requires_grad=True)
    handle = a.register_hook(lambda g: g * 10)
    assert torch.autograd.grad(a.sum(), a)[0].tolist() == [10, 10]
    handle.remove()
    assert torch.autograd.grad(a.sum(), a)[0].tolist() == [1, 1]


def test_freed_nodes_let_their_tensors_go() -> None:
    import weakref

    torch = core().torch
    a = torch.ones(2, requires_grad=True)
    h = a * 2
    y = h.sin().sum()
    gone = weakref.ref(h)
    del h
    assert gone() is not None
    y.backward()
    assert gone() is None


@pytest.mark.parametrize("judge", [core, torch_or_skip])
def test_parts_are_replaced_in_their_place_and_deleted(judge: Callable[[], Judge]) -> None:
    nn = judge().torch.nn
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
    setattr(net, "1", nn.Tanh())
    assert [type(each).__name__ for each in net] == ["Linear", "Tanh", "Linear"]
    del net[0]
    assert list(net._modules) == ["0", "1"]
    table = nn.ModuleDict({"a": nn.Tanh(), "b": nn.ReLU()})
    del table["a"]
    rows = nn.ModuleList([nn.Tanh(), nn.ReLU(), nn.GELU()])
    del rows[1:]
    assert list(table) == ["b"] and len(rows) == 1


@pytest.mark.parametrize("module", ["torch", "torch.nn", "torch.nn.functional", "torch.optim"])
def test_only_torchs_own_names_are_offered(module: str) -> None:
    from retainlint.numeric.namespace import build

    torch_or_skip()
    offered = {name for name, value in vars(build()[module]).items() if not isinstance(value, ModuleType)}
    real = importlib.import_module(module)
    assert {name for name in offered if not name.startswith("__") and not hasattr(real, name)} == set()
