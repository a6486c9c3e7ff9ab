"""Gathering and scattering along one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from retainlint.autograd.face.operations.registry import Operation, define
from retainlint.autograd.face.operations.selections import add_at, added, index_put, put_key, zeros_of
from retainlint.autograd.face.operations.sizes import wrap_dim
from retainlint.autograd.face.tensor import Tensor, method

gather_: Operation = define(
    "gather",
    lambda x, key: x[key],
    casts="same",
    self=lambda g, s: add_at(zeros_of(s.shapes["self"], g), g, index=s.key),
)


scatter_: Operation = define(
    "scatter",
    lambda x, src, key: _scatter(x, src, key),
    casts="same",
    self=lambda g, s: put_key(g, s.key),
    src=lambda g, s: gather_(g, key=s.key),
)


scatter_add_: Operation = define(
    "scatter_add",
    added,
    casts="same",
    self=lambda g, s: g,
    src=lambda g, s: gather_(g, key=s.index),
)


def _scatter(x: Any, src: Any, key: Any) -> Any:
    made = x.copy()
    made[key] = src
    return made


def _along(index: Any, dim: int) -> tuple[Any, ...]:
    key = list(np.indices(index.shape, sparse=True))
    if index.ndim:
        key[dim] = index
    return tuple(key)


@method()
def gather(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Any:
    """Along `dim`, the element that `index` names at each place."""
    dim = wrap_dim(dim, self.array.ndim)
    size = self.array.shape[dim] if self.array.ndim else 1
    beyond = index.array[(index.array < 0) | (index.array >= size)]
    if beyond.size:
        raise RuntimeError(f"index {beyond.flat[0]} is out of bounds for dimension {dim} with size {size}")
    return gather_(self, key=_along(index.array, dim))


def _scatter_call(self: Tensor, dim: int, index: Tensor, src: Any, add: bool, into: Tensor | None) -> Any:
    key = _along(index.array, wrap_dim(dim, self.array.ndim))
    if isinstance(src, Tensor):
        source = src if src.array.shape == index.array.shape else src[tuple(slice(n) for n in index.array.shape)]
    else:
        source = Tensor.of(np.full(index.array.shape, src, self.array.dtype))
    if add:
        return scatter_add_(self, source, into=into, index=key)
    return scatter_(self, source, into=into, key=key)


@method()
def scatter(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None) -> Any:
    """self with elements replaced along `dim`."""
    return _scatter_call(self, dim, index, value if src is None else src, False, None)


@method()
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Any:
    """self with elements added to along `dim`."""
    return _scatter_call(self, dim, index, src, True, None)


@method("scatter_")
def _scatter_in_place(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None) -> Tensor:
    _scatter_call(self, dim, index, value if src is None else src, False, self)
    return self


@method("scatter_add_")
def _scatter_add_in_place(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    _scatter_call(self, dim, index, src, True, self)
    return self


@method("index_add_")
def _index_add(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    key = (slice(None),) * wrap_dim(dim, self.array.ndim) + (index.array,)
    index_put(self, source * alpha if alpha != 1 else source, into=self, indices=key, accumulate=True)
    return self


@method()
def take_along_dim(self: Tensor, indices: Tensor, dim: int) -> Any:
    """numpy's take_along_axis."""
    return gather(self, dim, indices)
