"""Tensors taken apart, as views, and put together, as copies; and copies repeated, turned and cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from retainlint.numeric.layout import sizes, wrap_dim
from retainlint.numeric.operations.places import put, zeros_of
from retainlint.numeric.operations.registry import Operation, define, promoted
from retainlint.numeric.operations.shapes import clone, expand, reshape
from retainlint.numeric.tensor import Tensor, method


def _diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    planes = np.moveaxis(x, (dim1, dim2), (-2, -1))
    planes = planes[..., :, offset:] if offset >= 0 else planes[..., -offset:, :]
    shape = (*planes.shape[:-2], min(planes.shape[-2:]))
    steps = (*planes.strides[:-2], planes.strides[-2] + planes.strides[-1])
    return np.lib.stride_tricks.as_strided(planes, shape, steps)  # numpy's own can't be written


def _slice_back(g: Any, s: Any) -> Any:
    shape = s.shapes["self"]
    where = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)[s.key]
    return put(zeros_of(shape, g), g, places=where)


select_ = define("select", lambda x, key: x[key], view=True, self=_slice_back)
slice_ = define("slice", lambda x, key: x[key], view=True, self=_slice_back)
unbind_ = define(
    "unbind",
    lambda x, dim=0: [x[(slice(None),) * dim + (i, ...)] for i in range(x.shape[dim])],
    view=True,
    self=lambda g, s: _unbind_back(g, s),
)
split_ = define("split", lambda x, keys, dim: [x[key] for key in keys], view=True, self=lambda g, s: _split_back(g, s))
diagonal = define("diag", _diagonal, view=True, methods="diagonal", self=lambda g, s: _diagonal_back(g, s))


def _unbind_back(g: Any, s: Any) -> Any:
    grads = g if isinstance(g, list) else [g]
    known = next(grad for grad in grads if grad is not None)
    return stack([known * 0 if grad is None else grad for grad in grads], s.dim)


def _split_back(g: Any, s: Any) -> Any:
    grads = g if isinstance(g, list) else [g]
    known = next(grad for grad in grads if grad is not None)
    whole = np.broadcast_to(np.empty(()), s.shapes["self"])
    parts = [
        zeros_of(whole[key].shape, known) if grad is None else grad for grad, key in zip(grads, s.keys, strict=True)
    ]
    return cat(parts, s.dim)


def _diagonal_back(g: Any, s: Any) -> Any:
    shape = s.shapes["self"]
    numbers = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    where = np.diagonal(numbers, s.offset, s.dim1, s.dim2)
    return put(zeros_of(shape, g), g, places=where)


@method()
def select(self: Tensor, dim: int, index: int) -> Any:
    dim = wrap_dim(dim, self.array.ndim)
    size = self.array.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.array.shape)} at dimension {dim}"
        )
    return select_(self, key=(slice(None),) * dim + (int(index), ...))


@method()
def narrow(self: Tensor, dim: int, start: int, length: int) -> Any:
    dim = wrap_dim(dim, self.array.ndim)
    if start + length > self.array.shape[dim]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({self.array.shape[dim]}).")
    return slice_(self, key=(slice(None),) * dim + (slice(start, start + length),))


@method()
def unbind(self: Tensor, dim: int = 0) -> tuple[Any, ...]:
    found = unbind_(self, dim)
    return tuple(found) if isinstance(found, tuple) else (found,)


@method()
def split(self: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
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
def diag(self: Tensor, diagonal: int = 0) -> Any:
    """The diagonal of a matrix, copied; or the matrix with this diagonal."""
    if self.array.ndim == 2:
        return clone(self.diagonal(diagonal))
    side = self.array.size + abs(diagonal)
    numbers = np.arange(side * side).reshape(side, side)
    return put(zeros_of((side, side), self), self, places=np.diagonal(numbers, diagonal))


def _cat_back(g: Any, s: Any) -> Any:
    ends = np.cumsum([0, *s.lengths]).tolist()
    return [g.narrow(s.dim, a, b - a) if s.real[i] else None for i, (a, b) in enumerate(zip(ends, ends[1:]))]


cat_ = promoted("cat", lambda arrays, dim, lengths, real: _joined(arrays, dim, real), tensors=_cat_back)
stack_ = promoted("stack", lambda arrays, dim: np.stack(arrays, dim), tensors=lambda g, s: g.unbind(s.dim))
flip_ = define("flip", lambda x, dims: np.flip(x, dims).copy(), self=lambda g, s: flip(g, s.dims))
roll_ = define(
    "roll",
    lambda x, shifts, dims: np.roll(x, shifts, dims),
    self=lambda g, s: roll(g, [-shift for shift in s.shifts], s.dims),
)
triu: Operation = define(
    "triu", lambda x, diagonal=0: np.triu(x, diagonal), methods="triu", self=lambda g, s: triu(g, s.diagonal)
)
tril: Operation = define(
    "tril", lambda x, diagonal=0: np.tril(x, diagonal), methods="tril", self=lambda g, s: tril(g, s.diagonal)
)
repeat_ = define("repeat", lambda x, times: np.tile(x, times), self=lambda g, s: _repeat_back(g, s))


def _joined(arrays: list[Any], dim: int, real: list[bool]) -> Any:
    return np.concatenate([array for array, counts in zip(arrays, real) if counts] or arrays[:1], dim)


def _repeat_back(g: Any, s: Any) -> Any:
    shape = s.shapes["self"]
    full = (1,) * (len(s.times) - len(shape)) + tuple(shape)
    apart = [n for pair in zip(s.times, full) for n in pair]
    return reshape(reshape(g, apart).sum(list(range(0, len(apart), 2))), shape)


def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None, out: None = None) -> Any:
    """The tensors one after another along a dimension."""
    tensors = list(tensors)
    if not tensors:
        raise ValueError("expected a non-empty list of Tensors")
    real = [t.array.shape != (0,) for t in tensors]
    whole = [t for t, counts in zip(tensors, real) if counts] or tensors[:1]
    for number, tensor in enumerate(tensors):
        if not tensor.array.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {number}) cannot be concatenated")
    ndim = whole[0].array.ndim
    dim = wrap_dim(dim if axis is None else axis, ndim)
    for number, tensor in enumerate(tensors):
        _check_joint(whole[0], tensor, number, dim) if real[number] else None
    lengths = [t.array.shape[dim] if counts else 0 for t, counts in zip(tensors, real)]
    return cat_(tensors, dim=dim, lengths=lengths, real=real)


def _check_joint(first: Tensor, tensor: Tensor, number: int, dim: int) -> None:
    if tensor.array.ndim != first.array.ndim:
        raise RuntimeError(
            f"Tensors must have same number of dimensions: got {first.array.ndim} and {tensor.array.ndim}"
        )
    for i, (a, b) in enumerate(zip(first.array.shape, tensor.array.shape)):
        if i != dim and a != b:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} for tensor "
                f"number {number} in the list."
            )


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: None = None) -> Any:
    tensors = list(tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    for number, tensor in enumerate(tensors):
        if tensor.array.shape != tensors[0].array.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].array.shape)} at entry 0 and "
                f"{list(tensor.array.shape)} at entry {number}"
            )
    return stack_(tensors, dim=wrap_dim(dim, tensors[0].array.ndim + 1))


def hstack(tensors: Sequence[Tensor]) -> Any:
    """Side by side: along the columns, or the only dimension."""
    parts = [reshape(t, 1) if not t.array.ndim else t for t in tensors]
    return cat(parts, 0 if parts[0].array.ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Any:
    return cat([reshape(t, 1, -1) if t.array.ndim < 2 else t for t in tensors], 0)


@method()
def flip(self: Tensor, *dims: Any) -> Any:
    return flip_(self, sizes(dims))


@method()
def roll(self: Tensor, shifts: Any, dims: Any = None) -> Any:
    """The elements moved on, those beyond the end put first."""
    if dims is None:
        return reshape(roll(reshape(self, -1), shifts, 0), self.array.shape)
    if not self.array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    shift = list(shifts) if isinstance(shifts, (tuple, list)) else [shifts]
    return roll_(self, shift, dims)


@method()
def repeat(self: Tensor, *times: Any) -> Any:
    return repeat_(self, sizes(times))


@method()
def tile(self: Tensor, *times: Any) -> Any:
    """Copies side by side; missing counts are 1."""
    wanted = sizes(times)
    return repeat(self, (1,) * (self.array.ndim - len(wanted)) + wanted)


@method()
def repeat_interleave(self: Tensor, repeats: int, dim: int | None = None) -> Any:
    start, at = (reshape(self, -1), 0) if dim is None else (self, wrap_dim(dim, self.array.ndim))
    shape = start.array.shape
    wide = expand(start.unsqueeze(at + 1), (*shape[: at + 1], repeats, *shape[at + 1 :]))
    return reshape(wide, (*shape[:at], shape[at] * repeats, *shape[at + 1 :]))


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """Each vector, repeated along the others' dimensions."""
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else list(tensors)
    if indexing == "xy" and len(given) > 1:
        swapped = meshgrid(given[1], given[0], *given[2:])
        return tuple(grid.transpose(0, 1) for grid in (swapped[1], swapped[0], *swapped[2:]))
    shape = tuple(t.array.size for t in given)
    made = [t.reshape([-1 if i == at else 1 for i in range(len(shape))]) for at, t in enumerate(given)]
    return tuple(expand(t, shape) for t in made)


def broadcast_tensors(*tensors: Tensor) -> tuple[Any, ...]:
    shape = np.broadcast_shapes(*(t.array.shape for t in tensors))
    return tuple(t if t.array.shape == shape else expand(t, shape) for t in tensors)
