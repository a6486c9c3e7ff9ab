"""Sizes and dimensions: what is counted, inferred and checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from retainlint.numeric.tensor import Tensor, method


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension counted from 0; IndexError, in torch's words, beyond the last."""
    low, high = (-ndim, ndim - 1) if ndim else (-1, 0)
    if not low <= dim <= high:
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    return dim % ndim if ndim else 0


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """All dimensions meant by an int, several, or None for all."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    found = tuple(wrap_dim(int(d), ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    return found if ndim else ()


def sizes(given: Sequence[Any]) -> tuple[int, ...]:
    """A shape that was given as one sequence or as several numbers."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = given[0]
    return tuple(int(size) for size in given)


def infer(shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Fill in the one -1 of a shape for `count` elements; RuntimeError if it doesn't fit."""
    known = math.prod(size for size in shape if size != -1)
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in shape and known and count % known == 0:
        return tuple(count // known if size == -1 else size for size in shape)
    if -1 in shape or known != count:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
    return shape


@method()
def is_contiguous(self: Tensor, *, memory_format: Any = None) -> bool:
    """Whether the memory is in order."""
    return bool(self.array.flags.c_contiguous)


@method()
def stride(self: Tensor, dim: int | None = None) -> Any:
    """How many elements lie between neighbours."""
    steps = tuple(step // self.array.itemsize for step in self.array.strides)
    return steps if dim is None else steps[dim]


@method()
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or one size."""
    return self.shape if dim is None else self.array.shape[wrap_dim(dim, self.array.ndim)]


@method("nelement")
def numel(self: Tensor) -> int:
    """How many elements."""
    return int(self.array.size)


@method("ndimension")
def dim(self: Tensor) -> int:
    """How many dimensions."""
    return self.array.ndim
