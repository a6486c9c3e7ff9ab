"""Elements read, replaced and added at their places: what the gradients of views, slices and choices are made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.numeric.operations.registry import Operation, define
from retainlint.numeric.tensor import Tensor, method


def zeros_of(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Zeros in the dtype of `like`."""
    return Tensor.of(np.zeros(shape, dtype=like.array.dtype))


def added(base: Any, values: Any, index: Any) -> Any:
    made = base.copy()
    np.add.at(made, index, values)
    return made


def replaced(base: Any, values: Any, index: Any) -> Any:
    made = base.copy()
    made[index] = values
    return made


def _put(base: Any, values: Any, places: Any) -> Any:
    made = base.copy()
    made.reshape(-1)[places.ravel()] = np.broadcast_to(values, places.shape).ravel()
    return made


# Flat numbers of elements, one for each element of the result: what a view, or a change of one, comes down to.

take: Operation = define(
    "as_strided", lambda x, places: x.reshape(-1)[places], self=lambda g, s: g._at_numbers(s.shapes["self"], s.places)
)
put: Operation = define(
    "as_strided_scatter",
    _put,
    self=lambda g, s: put(g, zeros_of(s.places.shape, g), places=s.places),
    src=lambda g, s: take(g, places=s.places),
)

# Indices as numpy has them.

add_at: Operation = define("index_put", added, self=lambda g, s: g, values=lambda g, s: index_(g, indices=s.index))
index_: Operation = define(
    "index", lambda x, _, indices: x[indices], self=lambda g, s: spread_at(g, s.shapes["self"], s.indices)
)
index_put: Operation = define(
    "index_put",
    lambda x, values, indices, accumulate: (added if accumulate else replaced)(x, values, indices),
    in_memory=lambda x, values, indices, accumulate: x.__setitem__(indices, values),
    self=lambda g, s: g if s.accumulate else without(g, s.indices),
    values=lambda g, s: index_(g, indices=s.indices),
)


def spread_at(g: Tensor, shape: tuple[int, ...], index: Any) -> Any:
    """Zeros of a shape, with `g` added at an index, which may name an element several times."""
    return add_at(zeros_of(shape, g), g, index=index)


def without(g: Tensor, index: Any) -> Any:
    """`g` with zeros at an index."""
    return index_put(g, zeros_of((), g), indices=index, accumulate=False)


@method()
def _at_numbers(self: Tensor, shape: tuple[int, ...], places: Any) -> Any:
    """Zeros of a shape, with `self` added at flat numbers, which may repeat."""
    return spread_at(self.reshape(-1), (math.prod(shape),), (places.ravel(),)).view(shape)


@method()
def _numbered(self: Tensor, places: Any) -> Any:
    """The elements at flat numbers."""
    return take(self, places=places)


@method()
def _renumbered(self: Tensor, values: Any, places: Any) -> Any:
    """`self` with the elements at flat numbers replaced; by zeros, if `values` is None."""
    return put(self, zeros_of(places.shape, self) if values is None else values, places=places)
