"""Norms over some dimensions, or of all elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.autograd.face.operations.functions import keeping
from retainlint.autograd.face.operations.reductions import chosen, reduced, spread
from retainlint.autograd.face.operations.registry import Operation, define
from retainlint.autograd.face.operations.sizes import dims_of
from retainlint.autograd.face.tensor import Tensor, method


def _norm_back(g: Any, s: Any) -> Any:
    shape, p, x = s.shapes["self"], s.order, s.self
    norm = spread(s.result, shape, s.dims, s.keepdim)
    grad = spread(g, shape, s.dims, s.keepdim)
    if p == 2:
        return grad * (x / norm).masked_fill(norm == 0, 0)
    if p == 1:
        return grad * keeping(x.sign(), x)
    if math.isinf(p):
        shares = Tensor.of(chosen(np.abs(x.array), norm.array, s.dims))
        return grad * (keeping(x.sign(), x) * shares)
    return grad * (x * x.abs() ** (p - 2) / norm ** (p - 1)).masked_fill(norm == 0, 0)


def _norm(x: Any, dims: Any, keepdim: bool, order: float) -> Any:
    size = np.abs(x)
    if order == 2:
        return np.sqrt((x * x).sum(dims, keepdims=keepdim))
    if math.isinf(order):
        return (size.max if order > 0 else size.min)(axis=dims, keepdims=keepdim)
    if order == 0:
        return (x != 0).sum(dims, keepdims=keepdim).astype(x.dtype)
    return (size**order).sum(dims, keepdims=keepdim) ** (1 / order)


norm_: Operation = define("norm", reduced(_norm), casts="float", self=_norm_back)


@method()
def norm(self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The p-norm over some dimensions, or of all elements."""
    order = 2.0 if p in ("fro", None) else float(p)
    start = self if dtype is None else self.to(dtype)
    return norm_(start, dims=dims_of(dim, self.array.ndim), keepdim=keepdim, order=order)


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """torch.linalg.vector_norm."""
    return norm(x, ord, dim, keepdim, dtype)


@method()
def dist(self: Tensor, other: Tensor, p: float = 2) -> Any:
    """The norm of a difference."""
    return norm(self - other, p)
