"""Sizes, dimensions and memory of arrays: what is counted, inferred and checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from retainlint.numeric.dtypes import Array


class Size(tuple[int, ...]):
    """A shape."""

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """How many elements a tensor of this shape has."""
        return int(np.prod(self, dtype=np.int64))

    def __getitem__(self, item: Any) -> Any:
        found = super().__getitem__(item)
        return Size(found) if isinstance(item, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple(self) + tuple(other))


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


def check_broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    """Raise torch's RuntimeError if the shapes can't be broadcast to one."""
    for back in range(1, min(len(left), len(right)) + 1):
        a, b = left[-back], right[-back]
        if a != b and 1 not in (a, b):
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                f"{max(len(left), len(right)) - back}"
            )


def overlaps(array: Array) -> bool:
    """Whether several elements share memory."""
    return any(step == 0 and size > 1 for size, step in zip(array.shape, array.strides, strict=True))


def element_numbers(base: Array, view: Array) -> Array:
    """For each element of `view`, in its shape, the flat number of the element of `base` that it is.

    If `base.data` was assigned since, each counts in memory of its own, as in torch.
    """
    offset = _start(view) - _start(base)
    wanted = _offsets(view) + offset
    own = _offsets(base).ravel()
    if base.flags.c_contiguous:
        numbers: Array = wanted // max(base.itemsize, 1)
        return numbers
    order = np.argsort(own, kind="stable")
    found: Array = order[np.searchsorted(own, wanted, sorter=order)]
    return found


def _start(array: Array) -> int:
    """How many bytes an array starts behind the memory that it is a view of."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    start: int = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return start


def _offsets(array: Array) -> Array:
    """The byte offset of each element from the first."""
    total = np.zeros((), dtype=np.int64)
    for length, stride in zip(array.shape, array.strides):
        total = total[..., None] + np.arange(length, dtype=np.int64) * stride
    made: Array = total.reshape(array.shape)
    return made


def same_data(written: Array, read: Array) -> bool:
    """Whether two arrays are one view of the same memory."""
    a, b = (x.__array_interface__["data"][0] for x in (written, read))
    return bool(a == b and (written.shape, written.strides, written.dtype) == (read.shape, read.strides, read.dtype))


def partly_shared(written: Array, read: Array) -> bool:
    """Whether memory that is written is read through another shape; only told of tensors without gaps, as in torch."""
    if not _dense(written) or not _dense(read):
        return False
    a, b = (x.__array_interface__["data"][0] for x in (written, read))
    if a == b and written.nbytes == read.nbytes:
        return _steps(written) != _steps(read)
    return bool(a < b + read.nbytes and b < a + written.nbytes)


def _steps(array: Array) -> list[int]:
    return [step for size, step in zip(array.shape, array.strides) if size != 1]


def _dense(array: Array) -> bool:
    """Whether the elements fill their memory without gaps or overlaps."""
    expected = array.itemsize
    for size, step in sorted(((n, s) for n, s in zip(array.shape, array.strides) if n != 1), key=lambda pair: pair[1]):
        if step != expected:
            return False
        expected *= size
    return bool(array.size)


def by_columns(names: Sequence[str], arrays: Sequence[Array | None]) -> frozenset[str]:
    """The matrices that lie column by column in memory, as a transposed weight does."""
    return frozenset(
        name
        for name, array in zip(names, arrays)
        if array is not None and array.ndim == 2 and array.strides == (array.itemsize, array.itemsize * array.shape[0])
    )
