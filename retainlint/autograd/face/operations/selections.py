"""Choosing elements: indexing, masks, gathering and scattering; and assigning to what was chosen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.autograd.face.operations.arithmetic import nothing
from retainlint.autograd.face.operations.registry import Operation, define
from retainlint.autograd.face.operations.sizes import wrap_dim
from retainlint.autograd.face.tensor import Tensor, method


def zeros_of(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Zeros in the dtype of `like`."""
    return Tensor.of(np.zeros(shape, dtype=like.array.dtype))


def _put(base: Any, values: Any, places: Any) -> Any:
    made = base.copy()
    made.reshape(-1)[places.ravel()] = np.broadcast_to(values, places.shape).ravel()
    return made


def added(base: Any, values: Any, index: Any) -> Any:
    made = base.copy()
    np.add.at(made, index, values)
    return made


take: Operation = define(
    "as_strided",
    lambda x, places: x.reshape(-1)[places],
    casts="same",
    self=lambda g, s: add_places(g, s.shapes["self"], s.places),
)
put: Operation = define(
    "as_strided_scatter",
    _put,
    casts="same",
    self=lambda g, s: put_places(g, zeros_of(s.places.shape, g), s.places),
    src=lambda g, s: take(g, places=s.places),
)
add_at: Operation = define(
    "index_put",
    lambda base, values, index: added(base, values, index),
    casts="same",
    self=lambda g, s: g,
    values=lambda g, s: index_(g, indices=s.index),
)
index_: Operation = define(
    "index",
    lambda x, indices: x[indices],
    casts="same",
    self=lambda g, s: add_at(zeros_of(s.shapes["self"], g), g, index=s.indices),
)
index_put: Operation = define(
    "index_put",
    lambda x, values, indices, accumulate: _index_put(x, values, indices, accumulate),
    casts="same",
    in_memory=lambda x, values, indices, accumulate: x.__setitem__(indices, values),
    self=lambda g, s: (
        g if s.accumulate else index_put(g, Tensor.of(np.zeros((), g.array.dtype)), indices=s.indices, accumulate=False)
    ),
    values=lambda g, s: index_(g, indices=s.indices),
)
index_select_: Operation = define(
    "index_select",
    lambda x, dim, index: np.take(x, index, dim),
    casts="same",
    self=lambda g, s: add_at(zeros_of(s.shapes["self"], g), g, index=(slice(None),) * s.dim + (s.index,)),
)
where_: Operation = define(
    "where",
    lambda x, y, condition: np.where(condition, x, y),
    self=lambda g, s: where_(g, 0.0, condition=s.condition),
    other=lambda g, s: where_(0.0, g, condition=s.condition),
)
masked_fill_: Operation = define(
    "masked_fill",
    lambda x, mask, value: np.where(mask, np.asarray(value, x.dtype), x),
    casts="same",
    in_memory=lambda x, mask, value: np.copyto(x, value, where=mask),
    self=lambda g, s: masked_fill_(g, mask=s.mask, value=0),
)
masked_select_: Operation = define(
    "masked_select",
    lambda x, mask: x[mask],
    casts="same",
    self=lambda g, s: add_at(zeros_of(s.shapes["self"], g), g, index=(s.mask,)),
)
copy_back: Operation = define(
    "copy_",
    lambda x, src: np.broadcast_to(src, x.shape).astype(x.dtype),
    casts="same",
    self=nothing,
    src=lambda g, s: g,
)
fill_number: Operation = define("fill_", lambda x, value: np.full_like(x, value), casts="same", self=nothing)
zero_back: Operation = define("zero_", np.zeros_like, casts="same", self=nothing, changes="zero_")


def add_places(g: Tensor, shape: tuple[int, ...], places: Any) -> Any:
    """Zeros of a shape, with `g` added at flat numbers, which may repeat."""
    flat = zeros_of((math.prod(shape),), g)
    return add_at(flat, g.reshape(-1), index=(places.ravel(),)).view(shape)


def take_places(base: Tensor, places: Any, shape: tuple[int, ...]) -> Any:
    """The elements of `base` at flat numbers."""
    return take(base, places=places.reshape(shape))


def put_places(base: Tensor, values: Tensor, places: Any) -> Any:
    """`base` with the elements at flat numbers replaced."""
    return put(base, values, places=places)


def put_key(g: Tensor, key: Any) -> Any:
    """`g` with zeros at an index."""
    zero = Tensor.of(np.zeros((), g.array.dtype))
    return index_put(g, zero, indices=key, accumulate=False)


def _index_put(x: Any, values: Any, indices: Any, accumulate: bool) -> Any:
    if accumulate:
        return added(x, values, indices)
    made = x.copy()
    made[indices] = values
    return made


@method()
def alias(self: Tensor) -> Any:
    """A view of all."""
    from retainlint.autograd.face.operations.shapes import alias_

    return alias_(self)


@method()
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Take over the values of `src`; gradients flow to it from now on."""
    try:
        np.broadcast_shapes(src.array.shape, self.array.shape)
        fits = np.broadcast_shapes(src.array.shape, self.array.shape) == self.array.shape
    except ValueError:
        fits = False
    if not fits:
        for back in range(1, max(self.array.ndim, src.array.ndim) + 1):
            have = self.array.shape[-back] if back <= self.array.ndim else None
            give = src.array.shape[-back] if back <= src.array.ndim else 1
            if have is None or give not in (1, have):
                if have is None:
                    raise RuntimeError(
                        f"output with shape {list(self.array.shape)} doesn't match the broadcast shape "
                        f"{list(np.broadcast_shapes(src.array.shape, self.array.shape))}"
                    )
                raise RuntimeError(
                    f"The expanded size of the tensor ({have}) must match the existing size ({give}) at non-singleton "
                    f"dimension {self.array.ndim - back}.  Target sizes: {list(self.array.shape)}.  Tensor sizes: "
                    f"{list(src.array.shape)}"
                )
    copy_back(self, src, into=self)
    return self


@method()
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element."""
    if isinstance(value, Tensor):
        copy_back(self, value, into=self, node="FillBackward3")
        return self
    fill_number(self, into=self, value=value)
    return self


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:  # noqa: A002 -- torch's names
    """`input` where the condition holds, else `other`; given the condition alone, its places."""
    if input is None:
        return tuple(Tensor.of(places) for places in np.nonzero(condition.array))
    return where_(input, other, condition=condition.array.astype(bool))


@method("where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Any:
    return where(condition, self, other)


@method()
def masked_fill(self: Tensor, mask: Any, value: Any) -> Any:
    """`value` where the mask holds."""
    return masked_fill_(self, mask=_mask(mask), value=value.item() if isinstance(value, Tensor) else value)


def _mask(mask: Any) -> Any:
    if mask.array.dtype.kind != "b":
        raise RuntimeError("masked_fill only supports boolean masks, but got mask with dtype " + repr(mask.dtype)[6:])
    return mask.array


@method("masked_fill_")
def _masked_fill_in_place(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    value = value.item() if isinstance(value, Tensor) else value
    masked_fill_(self, into=self, mask=_mask(mask), value=value)
    return self


@method()
def masked_select(self: Tensor, mask: Tensor) -> Any:
    """The elements where the mask holds, in one dimension."""
    return masked_select_(self, mask=np.broadcast_to(mask.array, self.array.shape))


@method()
def index_select(self: Tensor, dim: int, index: Tensor) -> Any:
    """The slices with these numbers."""
    return index_select_(self, dim=wrap_dim(dim, self.array.ndim), index=index.array)


@method()
def nonzero(self: Tensor, *, as_tuple: bool = False) -> Any:
    """The places of all elements that aren't 0."""
    found = np.nonzero(self.array)
    return tuple(Tensor.of(places) for places in found) if as_tuple else Tensor.of(np.stack(found, 1))
