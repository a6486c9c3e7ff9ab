"""Filling parameters before learning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.numeric.grad_mode import no_grad
from retainlint.numeric.random import randn
from retainlint.numeric.tensor import Tensor


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """How much a nonlinearity shrinks what goes through it."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75}
    return gains.get(nonlinearity, 1.0)


def _fans(tensor: Tensor) -> tuple[int, int]:
    shape = tensor.array.shape
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


_calculate_fan_in_and_fan_out = _fans


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    return tensor.uniform_(a, b, generator=generator)  # type: ignore[no-any-return]


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    return tensor.normal_(mean, std, generator=generator)  # type: ignore[no-any-return]


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    return tensor.fill_(val)  # type: ignore[no-any-return]


def ones_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    return tensor.zero_()  # type: ignore[no-any-return]


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    tensor.copy_(Tensor.of(np.eye(*tensor.array.shape, dtype=tensor.array.dtype)))
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _fans(tensor)[0 if mode == "fan_in" else 1]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity), generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    rows = tensor.array.shape[0]
    flat = randn(rows, tensor.array.size // rows, dtype=tensor.dtype, generator=generator).array
    flat = flat.T if rows < flat.shape[1] else flat
    q, r = np.linalg.qr(flat)
    q = q * np.sign(np.diagonal(r))
    q = q.T if rows < tensor.array.size // rows else q
    tensor.copy_(Tensor.of(np.ascontiguousarray(q).reshape(tensor.array.shape) * gain))
    return tensor


@no_grad()
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Normal numbers, none beyond the bounds (not torch's stream)."""
    drawn = normal_(tensor, mean, std)
    while ((drawn.array < a) | (drawn.array > b)).any():
        fresh = randn(*tensor.array.shape, dtype=tensor.dtype).array * std + mean
        drawn.copy_(Tensor.of(np.where((drawn.array < a) | (drawn.array > b), fresh, drawn.array)))
    return tensor
