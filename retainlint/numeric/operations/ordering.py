"""The largest, the smallest, the middle; sorting and choosing along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from retainlint.numeric.layout import wrap_dim
from retainlint.numeric.operations.arithmetic import maximum, minimum
from retainlint.numeric.operations.places import spread_at
from retainlint.numeric.operations.reductions import chosen, reduced, spread
from retainlint.numeric.operations.registry import define
from retainlint.numeric.operations.shapes import expand, reshape
from retainlint.numeric.tensor import Tensor, called, method


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


def _one_back(g: Any, s: Any) -> Any:
    shares = Tensor.of(np.nan_to_num(chosen(s.self.array, s.result.array, s.dims)))
    return expand(g, s.shapes["self"]) * shares


def _extreme_back(g: Any, s: Any) -> Any:
    shape = s.shapes["self"]
    whole = spread(s.result, shape, s.dims, s.keepdim)
    return spread(g, shape, s.dims, s.keepdim) * Tensor.of(chosen(s.self.array, whole.array, s.dims))


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
    return spread_at(grad, shape, tuple(key))


def _pick(x: Any, indices: Any, dim: int, keepdim: bool) -> Any:
    found = _along(x, indices, dim)
    return found if keepdim or not x.ndim else found.squeeze(dim)


_largest = reduced(lambda x, dims=None, keepdim=False: x.max(axis=dims, keepdims=keepdim))
_smallest = reduced(lambda x, dims=None, keepdim=False: x.min(axis=dims, keepdims=keepdim))
max_all = define("max", _largest, self=_one_back)
min_all = define("min", _smallest, self=_one_back)
amax = define("amax", _largest, methods="amax", self=_extreme_back)
amin = define("amin", _smallest, methods="amin", self=_extreme_back)
median_all = define("median", reduced(lambda x, dims=None: np.sort(x, None)[(x.size - 1) // 2]), self=_one_back)
max_dim = define("max_dim", _pick, self=_kept_back)
min_dim = define("min_dim", _pick, self=_kept_back)
sort_ = define("sort", _pick, self=_kept_back)
topk_ = define("topk", _pick, self=_kept_back)


def _placing(name: str, find: Any) -> Any:
    def place(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if dim is None:
            return Tensor.of(np.asarray(find(self.array)))
        if not self.array.ndim:
            return Tensor.of(np.zeros((), np.int64))
        return Tensor.of(np.asarray(find(self.array, axis=wrap_dim(dim, self.array.ndim), keepdims=keepdim)))

    return method()(called(name, place))


argmax, argmin = _placing("argmax", np.argmax), _placing("argmin", np.argmin)


def _along_dim(operation: Any, kind: Any, self: Tensor, find: Any, dim: int, keepdim: bool, node: str = "") -> Any:
    dim = wrap_dim(dim, self.array.ndim)
    indices = np.asarray(find(self.array, axis=dim, keepdims=True) if self.array.ndim else np.zeros((), np.int64))
    values = operation(self, indices=indices, dim=dim, keepdim=keepdim, node=node)
    return kind(values, Tensor.of(indices if keepdim or not self.array.ndim else indices.squeeze(dim)))


def _extreme(name: str, of_pairs: Any, of_all: Any, of_dim: Any, kind: type[Found], find: Any) -> Any:
    """The largest element, or the smallest; or along a dimension, with its place; or of each pair."""

    def extreme(self: Tensor, other: Any = None, keepdim: bool = False, *, dim: Any = None) -> Any:
        if isinstance(other, Tensor):
            return of_pairs(self, other)
        dim = other if dim is None else dim
        if dim is not None:
            return _along_dim(of_dim, kind, self, find, dim, keepdim)
        if not self.array.size:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument."
            )
        return of_all(self)

    return method()(called(name, extreme))


max = _extreme("max", maximum, max_all, max_dim, MaxResult, np.argmax)
min = _extreme("min", minimum, min_all, min_dim, MinResult, np.argmin)


@method()
def median(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median; or along a dimension, with its place."""
    if dim is None:
        return median_all(self)

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
    found: Tensor = sort(self.detach(), dim, descending).indices
    return found


@method()
def topk(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest, or smallest, along a dimension, with their places."""
    dim = wrap_dim(dim, self.array.ndim)
    if self.array.ndim and k > self.array.shape[dim]:
        raise RuntimeError("selected index k out of range")
    order = np.take(_order(self.array, dim, largest), range(k), dim) if self.array.ndim else np.zeros((), np.int64)
    return TopkResult(topk_(self, indices=order, dim=dim, keepdim=True), Tensor.of(order))
