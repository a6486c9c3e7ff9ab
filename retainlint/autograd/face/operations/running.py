"""Running sums and products along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from retainlint.autograd.face.operations.reductions import summable
from retainlint.autograd.face.operations.registry import Operation, define
from retainlint.autograd.face.operations.sizes import wrap_dim
from retainlint.autograd.face.tensor import Tensor, method


def _cumprod_back(g: Any, s: Any) -> Any:
    (dim,) = s.dims
    if s.self.array.size <= 1 or s.shapes["self"][dim] == 1:
        return g
    if not (s.self.array == 0).any():
        return _reverse_cumsum(g * s.result, dim) / s.self
    parts = []
    size = s.shapes["self"][dim]
    for k in range(size):  # d result[i] / d self[k], for i >= k
        left = s.self.narrow(dim, 0, k).prod(dim, keepdim=True)
        ones = Tensor.of(np.ones_like(np.take(s.self.array, [0], dim)))
        from retainlint.autograd.face.operations.joining import cat

        right = cat([ones, s.self.narrow(dim, k + 1, size - k - 1)], dim).cumprod(dim)
        parts.append((g.narrow(dim, k, size - k) * (right * left)).sum(dim, keepdim=True))
    return cat(parts, dim)


def _reverse_cumsum(g: Any, dim: int) -> Any:
    if not g.array.ndim:
        return g
    from retainlint.autograd.face.operations.joining import flip

    return flip(cumsum(flip(g, dim), dim), dim)


cumsum_: Operation = define(
    "cumsum",
    lambda x, dim: np.cumsum(x, dim) if x.ndim else x.copy(),
    casts="same",
    self=lambda g, s: _reverse_cumsum(g, s.dim),
)


cumprod_: Operation = define(
    "cumprod", lambda x, dims: np.cumprod(x, dims[0]) if x.ndim else x.copy(), casts="same", self=_cumprod_back
)


@method()
def cumsum(self: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """Running sums."""
    return cumsum_(summable(self, dtype), dim=wrap_dim(dim, self.array.ndim))


@method()
def cumprod(self: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """Running products."""
    return cumprod_(summable(self, dtype), dims=(wrap_dim(dim, self.array.ndim),))
