"""Many elements made one: sums, products, spreads, norms, truths, counts; and running sums and products."""

from __future__ import annotations

import math
from functools import wraps
from typing import Any

import numpy as np

from retainlint.numeric import dtypes
from retainlint.numeric.layout import wrap_dim
from retainlint.numeric.operations.elementwise import keeping, mask, quiet
from retainlint.numeric.operations.pieces import cat, flip
from retainlint.numeric.operations.registry import Operation, define
from retainlint.numeric.operations.shapes import expand, reshape
from retainlint.numeric.tensor import Tensor, called, method


def spread(value: Any, shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> Any:
    """Put back the dimensions that a reduction took, and expand over them."""
    if not keepdim and value.array.ndim != len(shape):
        value = reshape(value, tuple(1 if i in dims else n for i, n in enumerate(shape)))
    return expand(value, shape)


def _back(g: Any, s: Any) -> Any:
    return spread(g, s.shapes["self"], s.dims, s.keepdim)


def _count(shape: tuple[int, ...], dims: tuple[int, ...]) -> int:
    return math.prod(shape[i] for i in dims)


def _prod_back(g: Any, s: Any) -> Any:
    shape, x = s.shapes["self"], s.self
    if not shape:
        return g
    if not (x.array == 0).any():
        return spread(g * s.result, shape, s.dims, s.keepdim) / x
    return spread(g, shape, s.dims, s.keepdim) * _others_product(x, s.dims)


def _others_product(x: Tensor, dims: tuple[int, ...]) -> Any:
    """For each element, the product of the others: right where some are 0."""
    if len(dims) != 1:
        return reshape(_others_product(reshape(x, -1), (0,)), x.array.shape)
    (dim,) = dims
    ones = Tensor.of(np.ones_like(np.take(x.array, [0], dim)))
    size = x.array.shape[dim]
    before = cat([ones, x.narrow(dim, 0, size - 1)], dim).cumprod(dim)
    after = flip(cat([ones, flip(x.narrow(dim, 1, size - 1), dim)], dim).cumprod(dim), dim)
    return before * after


def _var_back(g: Any, s: Any) -> Any:
    shape = s.shapes["self"]
    centred = s.self - mean(s.self, list(s.dims), keepdim=True)
    return spread(g, shape, s.dims, s.keepdim) * (centred * (2 / (_count(shape, s.dims) - s.correction)))


def _std_back(g: Any, s: Any) -> Any:
    half = (g / (s.result * 2)).masked_fill(s.result == 0, 0)
    return _var_back(half, s)


def _logsumexp(x: Any, dims: Any, keepdim: bool = False) -> Any:
    top = x.max(axis=dims, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    found = np.log(np.exp(x - top).sum(dims, keepdims=True)) + top
    return found if keepdim else found.squeeze(dims)


def chosen(x: Any, result: Any, dims: tuple[int, ...]) -> Any:
    """Which elements equal the extreme, as shares that add up to 1."""
    found = (x == result) | (np.isnan(x) & np.isnan(result))
    with np.errstate(all="ignore"):
        return (found / found.sum(dims, keepdims=True)).astype(x.dtype)


def reduced(function: Any) -> Any:
    """A reduction that always gives an array."""
    return quiet(wraps(function)(lambda *args, **params: np.asarray(function(*args, **params))))


def _mean(x: Any, dims: Any = None, keepdim: bool = False) -> Any:
    if x.dtype.kind != "f":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            + dtypes.of_array(x).legacy
        )
    return x.mean(dims, keepdims=keepdim)


sum: Operation = define(
    "sum",
    reduced(lambda x, dims=None, keepdim=False: x.sum(dims, keepdims=keepdim)),
    casts="wide",
    numbered=True,
    extra="dtype",
    methods="sum",
    self=_back,
)
mean: Operation = define(
    "mean",
    reduced(_mean),
    numbered=True,
    extra="dtype",
    methods="mean",
    self=lambda g, s: _back(g, s) / _count(s.shapes["self"], s.dims),
)
prod: Operation = define(
    "prod",
    reduced(lambda x, dims=None, keepdim=False: x.prod(dims, keepdims=keepdim)),
    casts="wide",
    numbered=True,
    extra="dtype",
    methods="prod",
    self=_prod_back,
)
var_ = define(
    "var", reduced(lambda x, dims, keepdim, correction: x.var(dims, keepdims=keepdim, ddof=correction)), self=_var_back
)
std_ = define(
    "std", reduced(lambda x, dims, keepdim, correction: x.std(dims, keepdims=keepdim, ddof=correction)), self=_std_back
)
logsumexp: Operation = define(
    "logsumexp",
    reduced(_logsumexp),
    casts="float",
    methods="logsumexp",
    self=lambda g, s: _back(g, s) * (s.self - spread(s.result, s.shapes["self"], s.dims, s.keepdim)).exp(),
)
nansum = define(
    "nansum",
    reduced(lambda x, dims=None, keepdim=False: np.nansum(x, dims, keepdims=keepdim)),
    extra="dtype",
    methods="nansum",
    self=lambda g, s: _back(g, s) * mask(g, ~np.isnan(s.self.array)),
)
trace = define(
    "trace", np.trace, methods="trace", self=lambda g, s: g * Tensor.of(np.eye(*s.shapes["self"], dtype=g.array.dtype))
)


def _spreading(operation: Operation) -> Any:
    """The variance, or its root, over some dimensions, divided by n - 1 unless told otherwise."""

    def over(
        self: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if not self.dtype.is_floating_point:
            raise RuntimeError(f"{operation.name} only support floating-point and complex dtypes")
        by = (1 if correction is None else correction) if unbiased is None else int(unbiased)
        return operation(self, dim, keepdim, by)

    return method()(called(operation.name, over))


var, std = map(_spreading, (var_, std_))


def _truth(name: str, find: Any) -> Any:
    def over(self: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        at = None if dim is None else wrap_dim(dim, self.array.ndim)
        return Tensor.of(np.asarray(find(self.array, axis=at, keepdims=keepdim)))

    return method()(called(name, over))


all, any = _truth("all", np.all), _truth("any", np.any)


@method()
def count_nonzero(self: Tensor, dim: Any = None) -> Tensor:
    return Tensor.of(np.asarray(np.count_nonzero(self.array, axis=dim)))


@method()
def bincount(self: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    return Tensor.of(np.bincount(self.array, None if weights is None else weights.array, minlength))


@method()
def unique(self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The different elements in order, with where and how often they occur if asked."""
    values, inverse, counts = np.unique(self.array, return_inverse=True, return_counts=True)
    found = [Tensor.of(values)]
    found += [Tensor.of(inverse.reshape(self.array.shape))] if return_inverse else []
    found += [Tensor.of(counts)] if return_counts else []
    return found[0] if len(found) == 1 else tuple(found)


def _norm_back(g: Any, s: Any) -> Any:
    shape, p, x = s.shapes["self"], _order(s.p), s.self
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


def _order(p: Any) -> float:
    return 2.0 if p in ("fro", None) else float(p)


def _norm(x: Any, p: Any = "fro", dims: Any = None, keepdim: bool = False) -> Any:
    size, order = np.abs(x), _order(p)
    if order == 2:
        return np.sqrt((x * x).sum(dims, keepdims=keepdim))
    if math.isinf(order):
        return (size.max if order > 0 else size.min)(axis=dims, keepdims=keepdim)
    if order == 0:
        return (x != 0).sum(dims, keepdims=keepdim).astype(x.dtype)
    return (size**order).sum(dims, keepdims=keepdim) ** (1 / order)


norm: Operation = define("norm", reduced(_norm), casts="float", extra="dtype", methods="norm", self=_norm_back)


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return norm(x, ord, dim, keepdim, dtype)


@method()
def dist(self: Tensor, other: Tensor, p: float = 2) -> Any:
    return norm(self - other, p)


def _cumprod_back(g: Any, s: Any) -> Any:
    dim = s.dim
    if s.self.array.size <= 1 or s.shapes["self"][dim] == 1:
        return g
    if not (s.self.array == 0).any():
        return _reverse_cumsum(g * s.result, dim) / s.self
    parts = []
    size = s.shapes["self"][dim]
    for k in range(size):  # d result[i] / d self[k], for i >= k
        left = s.self.narrow(dim, 0, k).prod(dim, keepdim=True)
        ones = Tensor.of(np.ones_like(np.take(s.self.array, [0], dim)))
        right = cat([ones, s.self.narrow(dim, k + 1, size - k - 1)], dim).cumprod(dim)
        parts.append((g.narrow(dim, k, size - k) * (right * left)).sum(dim, keepdim=True))
    return cat(parts, dim)


def _reverse_cumsum(g: Any, dim: int) -> Any:
    if not g.array.ndim:
        return g
    return flip(cumsum(flip(g, dim), dim), dim)


cumsum: Operation = define(
    "cumsum",
    lambda x, dim: np.cumsum(x, dim) if x.ndim else x.copy(),
    casts="wide",
    extra="dtype",
    methods="cumsum",
    self=lambda g, s: _reverse_cumsum(g, s.dim),
)
cumprod: Operation = define(
    "cumprod",
    lambda x, dim: np.cumprod(x, dim) if x.ndim else x.copy(),
    casts="wide",
    extra="dtype",
    methods="cumprod",
    self=_cumprod_back,
)
