"""Many elements made one: sums, extremes, spreads; sorting and choosing along a dimension."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.autograd.face import dtypes
from retainlint.autograd.face.operations.functions import mask, quiet
from retainlint.autograd.face.operations.registry import Operation, define
from retainlint.autograd.face.operations.selections import add_at, zeros_of
from retainlint.autograd.face.operations.shapes import dims_of, expand, reshape, wrap_dim
from retainlint.autograd.face.tensor import Tensor, method


class Found(tuple[Any, Any]):
    """Values, and where they were; `values` and `indices` by name."""

    values = property(lambda self: self[0])
    indices = property(lambda self: self[1])

    def __new__(cls, values: Any, indices: Any) -> Found:
        return super().__new__(cls, (values, indices))

    def __repr__(self) -> str:
        return f"torch.return_types.{type(self).__name__}(\nvalues={self[0]!r},\nindices={self[1]!r})"


def _kind(name: str) -> type[Found]:
    return type(name, (Found,), {"__module__": "torch.return_types"})


MaxResult, MinResult, MedianResult, SortResult, TopkResult = map(_kind, ("max", "min", "median", "sort", "topk"))


def spread(value: Any, shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> Any:
    """Put back the dimensions that a reduction took, and expand over them."""
    if not keepdim and value.array.ndim != len(shape):
        value = reshape(value, tuple(1 if i in dims else n for i, n in enumerate(shape)))
    return expand(value, shape)


def _back(g: Any, s: Any) -> Any:
    return spread(g, s.shapes["self"], s.dims, s.keepdim)


def _count(shape: tuple[int, ...], dims: tuple[int, ...]) -> int:
    return math.prod(shape[i] for i in dims)


def _chosen(x: Any, result: Any, dims: tuple[int, ...]) -> Any:
    """Which elements equal the extreme, as shares that add up to 1."""
    found = (x == result) | (np.isnan(x) & np.isnan(result))
    with np.errstate(all="ignore"):
        return (found / found.sum(dims, keepdims=True)).astype(x.dtype)


def _one_back(g: Any, s: Any) -> Any:
    shares = Tensor.of(np.nan_to_num(_chosen(s.self.array, s.result.array, s.dims)))
    return expand(g, s.shapes["self"]) * shares


def _extreme_back(g: Any, s: Any) -> Any:
    shape = s.shapes["self"]
    whole = spread(s.result, shape, s.dims, s.keepdim)
    return spread(g, shape, s.dims, s.keepdim) * Tensor.of(_chosen(s.self.array, whole.array, s.dims))


def _prod_back(g: Any, s: Any) -> Any:
    shape, x = s.shapes["self"], s.self
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
    from retainlint.autograd.face.operations.joining import cat, flip

    before = cat([ones, x.narrow(dim, 0, size - 1)], dim).cumprod(dim)
    after = flip(cat([ones, flip(x.narrow(dim, 1, size - 1), dim)], dim).cumprod(dim), dim)
    return before * after


def _cumprod_back(g: Any, s: Any) -> Any:
    (dim,) = s.dims
    if not s.shapes["self"]:
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


def _var_back(g: Any, s: Any) -> Any:
    shape = s.shapes["self"]
    centred = s.self - mean(s.self, list(s.dims), keepdim=True)
    return spread(g, shape, s.dims, s.keepdim) * (centred * (2 / (_count(shape, s.dims) - s.correction)))


def _std_back(g: Any, s: Any) -> Any:
    half = (g / (s.result * 2)).masked_fill(s.result == 0, 0)
    return _var_back(half, s)


def _norm_back(g: Any, s: Any) -> Any:
    shape, p, x = s.shapes["self"], s.order, s.self
    norm = spread(s.result, shape, s.dims, s.keepdim)
    grad = spread(g, shape, s.dims, s.keepdim)
    if p == 2:
        return grad * (x / norm).masked_fill(norm == 0, 0)
    if p == 1:
        return grad * x.sign()
    if math.isinf(p):
        shares = Tensor.of(_chosen(np.abs(x.array), norm.array, s.dims))
        return grad * (x.sign() * shares)
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


def _logsumexp(x: Any, dims: Any, keepdim: bool) -> Any:
    top = x.max(axis=dims, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    found = np.log(np.exp(x - top).sum(dims, keepdims=True)) + top
    return found if keepdim else found.squeeze(dims)


def _along(x: Any, indices: Any, dim: int) -> Any:
    return np.take_along_axis(x, indices, dim) if x.ndim else x


def _kept_back(g: Any, s: Any) -> Any:
    """The gradient of elements that were chosen along a dimension."""
    shape = s.shapes["self"]
    if not shape:
        return reshape(g, shape)
    grad = g if s.keepdim else g.unsqueeze(s.dim)
    key = list(np.indices(s.indices.shape, sparse=True))
    key[s.dim] = s.indices
    return add_at(zeros_of(shape, g), grad, index=tuple(key))


def _pick(x: Any, indices: Any, dim: int, keepdim: bool) -> Any:
    found = _along(x, indices, dim)
    return found if keepdim or not x.ndim else found.squeeze(dim)


def _reduced(function: Any) -> Any:
    return quiet(lambda x, dims, keepdim, **params: np.asarray(function(x, dims, keepdim, **params)))


sum_: Operation = define("sum", _reduced(lambda x, dims, keep: x.sum(dims, keepdims=keep)), casts="same", self=_back)
mean_: Operation = define(
    "mean",
    _reduced(lambda x, dims, keep: x.mean(dims, keepdims=keep)),
    casts="same",
    self=lambda g, s: _back(g, s) / _count(s.shapes["self"], s.dims),
)
cumsum_: Operation = define(
    "cumsum",
    lambda x, dim: np.cumsum(x, dim) if x.ndim else x.copy(),
    casts="same",
    self=lambda g, s: _reverse_cumsum(g, s.dim),
)
cumprod_: Operation = define(
    "cumprod", lambda x, dims: np.cumprod(x, dims[0]) if x.ndim else x.copy(), casts="same", self=_cumprod_back
)
max_all: Operation = define(
    "max", _reduced(lambda x, dims, keep: x.max(axis=dims, keepdims=keep)), casts="same", self=_one_back
)
min_all: Operation = define(
    "min", _reduced(lambda x, dims, keep: x.min(axis=dims, keepdims=keep)), casts="same", self=_one_back
)
amax_: Operation = define(
    "amax", _reduced(lambda x, dims, keep: x.max(axis=dims, keepdims=keep)), casts="same", self=_extreme_back
)
amin_: Operation = define(
    "amin", _reduced(lambda x, dims, keep: x.min(axis=dims, keepdims=keep)), casts="same", self=_extreme_back
)
median_all: Operation = define(
    "median",
    _reduced(lambda x, dims, keep: np.sort(x, None)[(x.size - 1) // 2]),
    casts="same",
    self=_one_back,
)
prod_: Operation = define(
    "prod", _reduced(lambda x, dims, keep: x.prod(dims, keepdims=keep)), casts="same", self=_prod_back
)
var_: Operation = define(
    "var",
    _reduced(lambda x, dims, keep, correction: x.var(axis=dims, keepdims=keep, ddof=correction)),
    casts="same",
    self=_var_back,
)
std_: Operation = define(
    "std",
    _reduced(lambda x, dims, keep, correction: x.std(axis=dims, keepdims=keep, ddof=correction)),
    casts="same",
    self=_std_back,
)
norm_: Operation = define("norm", _reduced(_norm), casts="float", self=_norm_back)
logsumexp_: Operation = define(
    "logsumexp",
    _reduced(_logsumexp),
    casts="float",
    self=lambda g, s: _back(g, s) * (s.self - spread(s.result, s.shapes["self"], s.dims, s.keepdim)).exp(),
)
nansum_: Operation = define(
    "nansum",
    _reduced(lambda x, dims, keep: np.nansum(x, dims, keepdims=keep)),
    casts="same",
    self=lambda g, s: _back(g, s) * mask(g, ~np.isnan(s.self.array)),
)
trace_: Operation = define(
    "trace", np.trace, casts="same", self=lambda g, s: g * Tensor.of(np.eye(*s.shapes["self"], dtype=g.array.dtype))
)
max_dim: Operation = define("max_dim", _pick, casts="same", self=_kept_back)
min_dim: Operation = define("min_dim", _pick, casts="same", self=_kept_back)
sort_: Operation = define("sort", _pick, casts="same", self=_kept_back)
topk_: Operation = define("topk", _pick, casts="same", self=_kept_back)


def _summable(self: Tensor, kind: Any) -> Tensor:
    if kind is not None:
        made: Tensor = self.to(kind)
        return made
    return self if self.dtype.is_floating_point else self.to(dtypes.int64)


@method()
def sum(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None) -> Any:  # noqa: A001
    """The sum over some dimensions, or all."""
    dim = axis if dim is None else dim
    node = "SumBackward0" if dim is None else "SumBackward1"
    return sum_(_summable(self, dtype), dims=dims_of(dim, self.array.ndim), keepdim=keepdim, node=node)


@method()
def mean(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None) -> Any:
    """The mean over some dimensions, or all."""
    dim = axis if dim is None else dim
    start = self if dtype is None else self.to(dtype)
    if not start.dtype.is_floating_point:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            + start.dtype.legacy
        )
    node = "MeanBackward0" if dim is None else "MeanBackward1"
    return mean_(start, dims=dims_of(dim, self.array.ndim), keepdim=keepdim, node=node)


@method()
def nansum(self: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum of what is a number."""
    return nansum_(self, dims=dims_of(dim, self.array.ndim), keepdim=keepdim)


@method()
def prod(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product over one dimension, or all."""
    node = "ProdBackward0" if dim is None else "ProdBackward1"
    return prod_(_summable(self, dtype), dims=dims_of(dim, self.array.ndim), keepdim=keepdim, node=node)


@method()
def cumsum(self: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """Running sums."""
    return cumsum_(_summable(self, dtype), dim=wrap_dim(dim, self.array.ndim))


@method()
def cumprod(self: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """Running products."""
    return cumprod_(_summable(self, dtype), dims=(wrap_dim(dim, self.array.ndim),))


def _argextreme(self: Tensor, find: Any, dim: int | None, keepdim: bool) -> Tensor:
    if dim is None:
        return Tensor.of(np.asarray(find(self.array)))
    if not self.array.ndim:
        return Tensor.of(np.zeros((), np.int64))
    return Tensor.of(np.asarray(find(self.array, axis=wrap_dim(dim, self.array.ndim), keepdims=keepdim)))


@method()
def argmax(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the largest element is."""
    return _argextreme(self, np.argmax, dim, keepdim)


@method()
def argmin(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the smallest element is."""
    return _argextreme(self, np.argmin, dim, keepdim)


def _along_dim(operation: Any, kind: Any, self: Tensor, find: Any, dim: int, keepdim: bool, node: str = "") -> Any:
    dim = wrap_dim(dim, self.array.ndim)
    indices = np.asarray(find(self.array, axis=dim, keepdims=True) if self.array.ndim else np.zeros((), np.int64))
    values = operation(self, indices=indices, dim=dim, keepdim=keepdim, node=node)
    return kind(values, Tensor.of(indices if keepdim or not self.array.ndim else indices.squeeze(dim)))


def _extreme(self: Tensor, other: Any, dim: Any, keepdim: bool, largest: bool) -> Any:
    if isinstance(other, Tensor):
        from retainlint.autograd.face.operations.arithmetic import maximum, minimum

        return (maximum if largest else minimum)(self, other)
    dim = other if dim is None else dim
    if dim is None:
        if not self.array.size:
            raise RuntimeError(
                f"{'max' if largest else 'min'}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument."
            )
        return (max_all if largest else min_all)(self, dims=tuple(range(self.array.ndim)), keepdim=False)
    if largest:
        return _along_dim(max_dim, MaxResult, self, np.argmax, dim, keepdim)
    return _along_dim(min_dim, MinResult, self, np.argmin, dim, keepdim)


@method()
def max(self: Tensor, other: Any = None, keepdim: bool = False, *, dim: Any = None) -> Any:  # noqa: A001
    """The largest element; or along a dimension, with its place; or of each pair."""
    return _extreme(self, other, dim, keepdim, True)


@method()
def min(self: Tensor, other: Any = None, keepdim: bool = False, *, dim: Any = None) -> Any:  # noqa: A001
    """The smallest element; or along a dimension, with its place; or of each pair."""
    return _extreme(self, other, dim, keepdim, False)


@method()
def amax(self: Tensor, dim: Any = (), keepdim: bool = False) -> Any:
    """The largest elements over some dimensions; equal ones share the gradient."""
    return amax_(self, dims=dims_of(dim, self.array.ndim), keepdim=keepdim)


@method()
def amin(self: Tensor, dim: Any = (), keepdim: bool = False) -> Any:
    """The smallest elements over some dimensions."""
    return amin_(self, dims=dims_of(dim, self.array.ndim), keepdim=keepdim)


@method()
def median(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median; or along a dimension, with its place."""
    if dim is None:
        return median_all(self, dims=tuple(range(self.array.ndim)), keepdim=False)

    def find(x: Any, axis: int, keepdims: bool) -> Any:
        return np.take(np.argsort(x, axis, kind="stable"), [(x.shape[axis] - 1) // 2], axis)

    return _along_dim(max_dim, MedianResult, self, find, dim, keepdim, "MedianBackward1")


def _order(x: Any, dim: int, descending: bool) -> Any:
    if not descending:
        return np.argsort(x, dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)


@method()
def sort(self: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements in order along a dimension, with their places."""
    dim = wrap_dim(dim, self.array.ndim)
    order = _order(self.array, dim, descending) if self.array.ndim else np.zeros((), np.int64)
    return SortResult(sort_(self, indices=order, dim=dim, keepdim=True), Tensor.of(order))


@method()
def argsort(self: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The places of the elements in order."""
    found: Tensor = sort(self.detach(), dim, descending).indices
    return found


@method()
def topk(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:  # noqa: A002
    """The k largest, or smallest, along a dimension, with their places."""
    dim = wrap_dim(dim, self.array.ndim)
    if self.array.ndim and k > self.array.shape[dim]:
        raise RuntimeError("selected index k out of range")
    order = np.take(_order(self.array, dim, largest), range(k), dim) if self.array.ndim else np.zeros((), np.int64)
    return TopkResult(topk_(self, indices=order, dim=dim, keepdim=True), Tensor.of(order))


def _spread_call(operation: Any, self: Tensor, dim: Any, unbiased: Any, correction: Any, keepdim: bool) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if not self.dtype.is_floating_point:
        raise RuntimeError(f"{operation.name} only support floating-point and complex dtypes")
    by = (1 if correction is None else correction) if unbiased is None else int(unbiased)
    return operation(self, dims=dims_of(dim, self.array.ndim), keepdim=keepdim, correction=by)


@method()
def var(self: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """The variance over some dimensions, divided by n - 1 unless told otherwise."""
    return _spread_call(var_, self, dim, unbiased, correction, keepdim)


@method()
def std(self: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    """The standard deviation over some dimensions."""
    return _spread_call(std_, self, dim, unbiased, correction, keepdim)


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


@method()
def logsumexp(self: Tensor, dim: Any, keepdim: bool = False) -> Any:
    """log(sum(exp(self)))."""
    return logsumexp_(self, dims=dims_of(dim, self.array.ndim), keepdim=keepdim)


@method()
def trace(self: Tensor) -> Any:
    """The sum of a matrix's diagonal."""
    return trace_(self)


def _truth(self: Tensor, find: Any, dim: Any, keepdim: bool) -> Tensor:
    return Tensor.of(
        np.asarray(find(self.array, axis=None if dim is None else wrap_dim(dim, self.array.ndim), keepdims=keepdim))
    )


@method()
def all(self: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:  # noqa: A001
    """Whether every element holds."""
    return _truth(self, np.all, dim, keepdim)


@method()
def any(self: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:  # noqa: A001
    """Whether some element holds."""
    return _truth(self, np.any, dim, keepdim)


@method()
def count_nonzero(self: Tensor, dim: Any = None) -> Tensor:
    """How many elements aren't 0."""
    return Tensor.of(np.asarray(np.count_nonzero(self.array, axis=dim)))


@method()
def bincount(self: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number occurs."""
    return Tensor.of(np.bincount(self.array, None if weights is None else weights.array, minlength))


@method()
def unique(self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:  # noqa: A002
    """The different elements in order, with where and how often they occur if asked."""
    values, inverse, counts = np.unique(self.array, return_inverse=True, return_counts=True)
    found = [Tensor.of(values)]
    found += [Tensor.of(inverse.reshape(self.array.shape))] if return_inverse else []
    found += [Tensor.of(counts)] if return_counts else []
    return found[0] if len(found) == 1 else tuple(found)
