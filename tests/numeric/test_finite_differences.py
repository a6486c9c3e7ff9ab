"""Without torch: every operation's gradient, and the gradient of its gradient, against central differences."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from autograd.operation_cases import CASES, VALUES, Case
from numeric.judges import core

STEP = 1e-6


def value(case: Case, arrays: list[Any], order: int) -> float:
    """A number that depends on everything: the weighted result, or the weighted gradient of it."""
    torch, functional = core()
    tensors = [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in arrays]
    names: dict[str, Any] = {"torch": torch, "F": functional, **dict(zip("xyz", tensors))}
    out = _weighted(eval(case.call, names))
    if order == 2:
        grads = torch.autograd.grad(out, tensors, create_graph=True, allow_unused=True)
        out = sum((_weighted(g) for g in grads if g is not None), out * 0)
    found: float = out.item()
    return found


def _weighted(tensor: Any) -> Any:
    torch = core().torch
    source = random.Random(tensor.numel())
    weights = [source.uniform(0.5, 1.5) for _ in range(tensor.numel())]
    return (tensor.reshape(-1) * torch.tensor(weights, dtype=torch.float64)).sum()


def derivative(case: Case, order: int) -> list[Any]:
    """The core's derivative of `value`."""
    torch, functional = core()
    tensors = [torch.tensor(VALUES[letter], dtype=torch.float64, requires_grad=True) for letter in case.inputs]
    names: dict[str, Any] = {"torch": torch, "F": functional, **dict(zip("xyz", tensors))}
    out = _weighted(eval(case.call, names))
    if order == 2:
        grads = torch.autograd.grad(out, tensors, create_graph=True, allow_unused=True)
        out = sum((_weighted(g) for g in grads if g is not None), out * 0)
    found = torch.autograd.grad(out, tensors, allow_unused=True, materialize_grads=True)
    return [grad.numpy() for grad in found]


ONCE = ("grid_sample",)
"""Operations that torch can't differentiate twice either, or whose second derivative the core leaves out."""


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("case", [case for case in CASES if case.smooth], ids=lambda case: f"{case.row}: {case.call}")
def test_gradient_is_the_slope(case: Case, order: int) -> None:
    if order == 2 and case.row in ONCE:
        pytest.skip("differentiated once only")
    arrays = [np.array(VALUES[letter]) for letter in case.inputs]
    for number, found in enumerate(derivative(case, order)):
        wanted = np.zeros_like(arrays[number])
        for place in np.ndindex(arrays[number].shape):
            up, down = [a.copy() for a in arrays], [a.copy() for a in arrays]
            up[number][place] += STEP
            down[number][place] -= STEP
            wanted[place] = (value(case, up, order) - value(case, down, order)) / (2 * STEP)
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-7)
