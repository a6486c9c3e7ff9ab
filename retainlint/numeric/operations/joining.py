"""Joining tensors, repeating, turning and cutting them: new memory, and nothing saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retainlint.numeric.operations.registry import Operation, define
from retainlint.numeric.operations.shapes import expand, reshape
from retainlint.numeric.operations.sizes import dims_of, sizes, wrap_dim
from retainlint.numeric.tensor import Tensor, method


def _cat_back(g: Any, s: Any) -> Any:
    ends = np.cumsum([0, *s.lengths]).tolist()
    return [g.narrow(s.dim, a, b - a) if s.real[i] else None for i, (a, b) in enumerate(zip(ends, ends[1:]))]


cat_: Operation = define("cat", lambda arrays, dim, lengths, real: _joined(arrays, dim, real), tensors=_cat_back)
stack_: Operation = define("stack", lambda arrays, dim: np.stack(arrays, dim), tensors=lambda g, s: g.unbind(s.dim))
flip_: Operation = define(
    "flip", lambda x, dims: np.flip(x, dims).copy(), casts="same", self=lambda g, s: flip(g, s.dims)
)
roll_: Operation = define(
    "roll",
    lambda x, shifts, dims: np.roll(x, shifts, dims),
    casts="same",
    self=lambda g, s: roll(g, [-shift for shift in s.shifts], s.dims),
)
triu_: Operation = define(
    "triu", lambda x, diagonal: np.triu(x, diagonal), casts="same", self=lambda g, s: triu(g, s.diagonal)
)
tril_: Operation = define(
    "tril", lambda x, diagonal: np.tril(x, diagonal), casts="same", self=lambda g, s: tril(g, s.diagonal)
)
repeat_: Operation = define(
    "repeat", lambda x, times: np.tile(x, times), casts="same", self=lambda g, s: _repeat_back(g, s)
)


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
    """The tensors side by side along a new dimension."""
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
    """One below another."""
    return cat([reshape(t, 1, -1) if t.array.ndim < 2 else t for t in tensors], 0)


@method()
def flip(self: Tensor, *dims: Any) -> Any:
    """The order along some dimensions reversed."""
    return flip_(self, dims=dims_of(sizes(dims), self.array.ndim))


@method()
def roll(self: Tensor, shifts: Any, dims: Any = None) -> Any:
    """The elements moved on, those beyond the end put first."""
    if dims is None:
        return reshape(roll(reshape(self, -1), shifts, 0), self.array.shape)
    if not self.array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    shift = list(shifts) if isinstance(shifts, (tuple, list)) else [shifts]
    return roll_(self, shifts=shift, dims=dims_of(dims, self.array.ndim))


@method()
def triu(self: Tensor, diagonal: int = 0) -> Any:
    """What lies on and above a diagonal."""
    return triu_(self, diagonal=diagonal)


@method()
def tril(self: Tensor, diagonal: int = 0) -> Any:
    """What lies on and below a diagonal."""
    return tril_(self, diagonal=diagonal)


@method()
def repeat(self: Tensor, *times: Any) -> Any:
    """Copies side by side."""
    return repeat_(self, times=sizes(times))


@method()
def tile(self: Tensor, *times: Any) -> Any:
    """Copies side by side; missing counts are 1."""
    wanted = sizes(times)
    return repeat(self, (1,) * (self.array.ndim - len(wanted)) + wanted)


@method()
def repeat_interleave(self: Tensor, repeats: int, dim: int | None = None) -> Any:
    """Each element, or slice, several times."""
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
    """All expanded to one shape."""
    shape = np.broadcast_shapes(*(t.array.shape for t in tensors))
    return tuple(t if t.array.shape == shape else expand(t, shape) for t in tensors)
