"""Parts of a tensor as views of it: slices, splits, diagonals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.numeric.operations.registry import Operation, define
from retainlint.numeric.operations.shapes import clone_
from retainlint.numeric.operations.sizes import wrap_dim
from retainlint.numeric.tensor import Tensor, method


def _diagonal(x: Any, offset: int, one: int, other: int) -> Any:
    planes = np.moveaxis(x, (one, other), (-2, -1))
    planes = planes[..., :, offset:] if offset >= 0 else planes[..., -offset:, :]
    shape = (*planes.shape[:-2], min(planes.shape[-2:]))
    steps = (*planes.strides[:-2], planes.strides[-2] + planes.strides[-1])
    return np.lib.stride_tricks.as_strided(planes, shape, steps)  # numpy's own can't be written


def _slice_back(g: Any, s: Any) -> Any:
    from retainlint.numeric.operations.indexing import put_places, zeros_of

    shape = s.shapes["self"]
    where = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)[s.key]
    return put_places(zeros_of(shape, g), g, where)


select_: Operation = define("select", lambda x, key: x[key], casts="same", view=True, self=_slice_back)


slice_: Operation = define("slice", lambda x, key: x[key], casts="same", view=True, self=_slice_back)


unbind_: Operation = define(
    "unbind",
    lambda x, dim: [x[(slice(None),) * dim + (i, ...)] for i in range(x.shape[dim])],
    casts="same",
    view=True,
    self=lambda g, s: _unbind_back(g, s),
)


split_: Operation = define(
    "split",
    lambda x, keys, dim: [x[key] for key in keys],
    casts="same",
    view=True,
    self=lambda g, s: _split_back(g, s),
)


diagonal_: Operation = define(
    "diag",
    lambda x, offset=0, one=0, other=1: _diagonal(x, offset, one, other),
    casts="same",
    view=True,
    self=lambda g, s: _diagonal_back(g, s),
)


def _unbind_back(g: Any, s: Any) -> Any:
    from retainlint.numeric.operations.joining import stack

    grads = g if isinstance(g, list) else [g]
    known = next(grad for grad in grads if grad is not None)
    return stack([known * 0 if grad is None else grad for grad in grads], s.dim)


def _split_back(g: Any, s: Any) -> Any:
    from retainlint.numeric.operations.indexing import zeros_of
    from retainlint.numeric.operations.joining import cat

    grads = g if isinstance(g, list) else [g]
    known = next(grad for grad in grads if grad is not None)
    whole = np.broadcast_to(np.empty(()), s.shapes["self"])
    parts = [
        zeros_of(whole[key].shape, known) if grad is None else grad for grad, key in zip(grads, s.keys, strict=True)
    ]
    return cat(parts, s.dim)


def _diagonal_back(g: Any, s: Any) -> Any:
    from retainlint.numeric.operations.indexing import put_places, zeros_of

    shape = s.shapes["self"]
    numbers = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    where = np.diagonal(numbers, s.get("offset", 0), s.get("one", 0), s.get("other", 1))
    return put_places(zeros_of(shape, g), g, where)


@method()
def select(self: Tensor, dim: int, index: int) -> Any:
    """One slice, without its dimension."""
    dim = wrap_dim(dim, self.array.ndim)
    size = self.array.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.array.shape)} at dimension {dim}"
        )
    return select_(self, key=(slice(None),) * dim + (int(index), ...))


@method()
def narrow(self: Tensor, dim: int, start: int, length: int) -> Any:
    """`length` slices from `start`."""
    dim = wrap_dim(dim, self.array.ndim)
    if start + length > self.array.shape[dim]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({self.array.shape[dim]}).")
    return slice_(self, key=(slice(None),) * dim + (slice(start, start + length),))


@method()
def unbind(self: Tensor, dim: int = 0) -> tuple[Any, ...]:
    """All slices along a dimension."""
    found = unbind_(self, dim=wrap_dim(dim, self.array.ndim))
    return tuple(found) if isinstance(found, tuple) else (found,)


@method()
def split(self: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Consecutive parts along a dimension."""
    dim = wrap_dim(dim, self.array.ndim)
    size = self.array.shape[dim]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        parts = [min(step, size - start) for start in range(0, size, step)] or [0]
        node = "SplitBackward0"
    else:
        parts, node = list(split_size_or_sections), "SplitWithSizesBackward0"
        if sum(parts) != size:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension "
                f"{dim}), but got split_sizes={parts}"
            )
    ends = np.cumsum([0, *parts]).tolist()
    keys = [(slice(None),) * dim + (slice(a, b),) for a, b in zip(ends, ends[1:])]
    found = split_(self, dim=dim, keys=keys, node=node)
    return tuple(found) if isinstance(found, tuple) else (found,)


@method()
def chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most `chunks` parts along a dimension."""
    size = self.array.shape[wrap_dim(dim, self.array.ndim)]
    parts: tuple[Any, ...] = split(self, max(1, -(-size // chunks)), dim)
    return parts


@method()
def diagonal(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonal, as a view."""
    ndim = self.array.ndim
    return diagonal_(self, offset=offset, one=wrap_dim(dim1, ndim), other=wrap_dim(dim2, ndim))


@method()
def diag(self: Tensor, diagonal: int = 0) -> Any:
    """The diagonal of a matrix, copied; or the matrix with this diagonal."""
    if self.array.ndim == 2:
        return clone_(diagonal_(self, offset=diagonal))
    from retainlint.numeric.operations.indexing import put_places, zeros_of

    side = self.array.size + abs(diagonal)
    numbers = np.arange(side * side).reshape(side, side)
    return put_places(zeros_of((side, side), self), self, np.diagonal(numbers, diagonal))
