"""Choosing elements: square brackets, masks, gathering and scattering; and assigning to what was chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from retainlint.numeric import dtypes
from retainlint.numeric.layout import wrap_dim
from retainlint.numeric.operations.arithmetic import nothing
from retainlint.numeric.operations.pieces import select_, slice_
from retainlint.numeric.operations.places import added, index_, index_put, replaced, spread_at, without
from retainlint.numeric.operations.registry import Operation, define, promoted
from retainlint.numeric.tensor import Tensor, method, put_there


def _mask_values(x: Any, mask: Any, value: Any) -> Any:
    if mask.dtype.kind != "b":
        kind = dtypes.of_array(mask).name
        raise RuntimeError(f"masked_fill only supports boolean masks, but got mask with dtype {kind}")
    return np.where(mask, np.asarray(value, x.dtype), x)


index_select_ = define(
    "index_select",
    lambda x, index, dim: np.take(x, index, dim),
    self=lambda g, s: spread_at(g, s.shapes["self"], (slice(None),) * s.dim + (s.index.array,)),
)
where_: Operation = promoted(
    "where",
    lambda condition, x, y: np.where(condition, x, y),
    self=lambda g, s: where_(s.condition, g, 0.0),
    other=lambda g, s: where_(s.condition, 0.0, g),
)
masked_fill: Operation = define(
    "masked_fill",
    _mask_values,
    in_memory=lambda x, mask, value: np.copyto(x, value, where=mask),
    methods="masked_fill",
    changes="masked_fill_",
    self=lambda g, s: masked_fill(g, s.mask, 0),
    value=lambda g, s: where_(s.mask, g, 0.0),
)
masked_select = define(  # the elements where the mask holds, in one dimension
    "masked_select",
    lambda x, mask: x[np.broadcast_to(mask, x.shape)],
    methods="masked_select",
    self=lambda g, s: spread_at(g, s.shapes["self"], (np.broadcast_to(s.mask.array, s.shapes["self"]),)),
)
copy_back = define(
    "copy_", lambda x, src: np.broadcast_to(src, x.shape).astype(x.dtype), self=nothing, src=lambda g, s: g
)
fill_number = define("fill_", lambda x, value: np.full_like(x, value), self=nothing)
zero_back = define("zero_", np.zeros_like, self=nothing, changes="zero_")


@method()
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Take over the values of `src`; gradients flow to it from now on."""
    want, have = self.array.shape, src.array.shape
    for back in range(1, max(len(want), len(have)) + 1):
        size, give = (shape[-back] if back <= len(shape) else None for shape in (want, have))
        if give is not None and size is None:
            raise RuntimeError(
                f"output with shape {list(want)} doesn't match the broadcast shape {list(np.broadcast_shapes(want, have))}"
            )
        if give not in (None, 1, size):
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) must match the existing size ({give}) at non-singleton "
                f"dimension {len(want) - back}.  Target sizes: {list(want)}.  Tensor sizes: {list(have)}"
            )
    copy_back(self, src, into=self)
    return self


@method()
def fill_(self: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        copy_back(self, value, into=self, node="FillBackward3")
        return self
    fill_number(self, into=self, value=value)
    return self


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, else `other`; given the condition alone, its places."""
    if input is None:
        return tuple(Tensor.of(places) for places in np.nonzero(condition.array))
    return where_(condition if condition.dtype is dtypes.bool_ else condition.to(dtypes.bool_), input, other)


@method("where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Any:
    return where(condition, self, other)


@method()
def take(self: Tensor, index: Tensor) -> Any:
    """The elements with these numbers, counted through all dimensions."""
    size, numbers = self.array.size, index.array
    beyond = numbers[(numbers < -size) | (numbers >= size)]
    if beyond.size:
        raise IndexError(f"out of range: tried to access index {beyond.flat[0]} on a tensor of {size} elements.")
    if not self.array.ndim:
        return take(self.reshape(1), index)
    return index_(self, indices=np.unravel_index(numbers % max(size, 1), self.array.shape), node="TakeBackward0")


@method()
def nonzero(self: Tensor, *, as_tuple: bool = False) -> Any:
    found = np.nonzero(self.array)
    return tuple(Tensor.of(places) for places in found) if as_tuple else Tensor.of(np.stack(found, 1))


def _plain(item: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index as a tuple without tensors that are single integers, its Ellipsis filled in; IndexError beyond the end."""
    items = list(item) if isinstance(item, tuple) else [item]
    items = [_element(entry) for entry in items]
    used = sum(
        entry.ndim if isinstance(entry, np.ndarray) and entry.dtype.kind == "b" else 1
        for entry in items
        if entry is not None and entry is not Ellipsis and not isinstance(entry, bool)
    )
    if used > len(shape):
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
            if not shape
            else f"too many indices for tensor of dimension {len(shape)}"
        )
    if not any(entry is Ellipsis for entry in items):
        items.append(Ellipsis)
    at = next(i for i, entry in enumerate(items) if entry is Ellipsis)
    return (*items[:at], *[slice(None)] * (len(shape) - used), *items[at + 1 :])


def _element(entry: Any) -> Any:
    if isinstance(entry, Tensor):
        if not entry.array.ndim and entry.array.dtype.kind in "iu":
            return int(entry.array)
        if entry.array.dtype.kind == "f":
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return entry.array.astype(bool) if entry.array.dtype.kind == "u" else entry.array
    if isinstance(entry, (list, range)):
        found = np.asarray([_element(e) if isinstance(e, Tensor) else e for e in entry])
        return found.astype(np.int64) if not found.size else found
    if isinstance(entry, slice):
        return slice(*(e.item() if isinstance(e, Tensor) else e for e in (entry.start, entry.stop, entry.step)))
    return entry


def _simple(items: tuple[Any, ...]) -> bool:
    return not any(isinstance(entry, (np.ndarray, bool)) for entry in items)


def _check_bounds(items: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    dim = 0
    for entry in items:
        if entry is None or isinstance(entry, bool):
            continue
        if isinstance(entry, np.ndarray):
            if entry.dtype.kind == "b":
                if entry.shape != shape[dim : dim + entry.ndim]:
                    at = next(i for i, n in enumerate(entry.shape) if n != shape[dim + i])
                    raise IndexError(
                        f"The shape of the mask {list(entry.shape)} at index {at} does not match the shape of the "
                        f"indexed tensor {list(shape)} at index {dim + at}"
                    )
                dim += entry.ndim
                continue
            beyond = entry[(entry < -shape[dim]) | (entry >= shape[dim])]
            if beyond.size:
                raise IndexError(f"index {beyond.flat[0]} is out of bounds for dimension {dim} with size {shape[dim]}")
        elif isinstance(entry, (int, np.integer)) and not -shape[dim] <= entry < shape[dim]:
            raise IndexError(f"index {entry} is out of bounds for dimension {dim} with size {shape[dim]}")
        elif isinstance(entry, slice) and entry.step is not None and entry.step < 1:
            raise ValueError("step must be greater than zero")
        dim += 1


@method("__getitem__")
def getitem(self: Tensor, item: Any) -> Any:
    """Integers, slices, None and Ellipsis give views; tensors, lists and masks give copies."""
    shape = self.array.shape
    items = _plain(item, shape)
    _check_bounds(items, shape)
    if not _simple(items):
        return index_(self, _key(item), indices=items)
    found: Any = self
    dim = 0
    for entry in items:  # one node an index, as torch has it
        here = (slice(None),) * dim
        if entry is None:
            found = found.unsqueeze(dim)
        elif isinstance(entry, slice):
            if entry.indices(found.array.shape[dim]) != (0, found.array.shape[dim], 1) or isinstance(item, slice):
                found = slice_(found, key=(*here, entry))
        else:
            found = select_(found, key=(*here, int(entry), ...))
            continue
        dim += 1
    return found if found is not self else self.alias()


@method("__setitem__")
def setitem(self: Tensor, item: Any, value: Any) -> None:
    shape = self.array.shape
    items = _plain(item, shape)
    _check_bounds(items, shape)
    source = value if isinstance(value, Tensor) else Tensor.of(np.asarray(value, self.array.dtype))
    if _simple(items):
        chosen = self if item is Ellipsis else getitem(self, item)
        lead = source.array.ndim - chosen.array.ndim
        if lead > 0 and all(n == 1 for n in source.array.shape[:lead]):
            source = source.reshape(source.array.shape[lead:])
        if not source.array.ndim and chosen.array.ndim:
            fill_(chosen, source)
        else:
            copy_(chosen, source)
        return
    index_put(self, source.to(self.dtype), into=self, indices=items, accumulate=False)


def _key(item: Any) -> Tensor | None:
    """The tensor among the indices, whose version counts; the first, if there are several."""
    parts = item if isinstance(item, tuple) else (item,)
    return next((part for part in parts if isinstance(part, Tensor) and part.array.ndim), None)


gather_: Operation = define("gather", lambda x, _, key: x[key], self=lambda g, s: spread_at(g, s.shapes["self"], s.key))
scatter_ = define(
    "scatter",
    lambda base, _, values, key: replaced(base, values, key),
    self=lambda g, s: without(g, s.key),
    src=lambda g, s: gather_(g, s.index, key=s.key),
)
scatter_add_ = define(
    "scatter_add",
    lambda base, _, values, key: added(base, values, key),
    self=lambda g, s: g,
    src=lambda g, s: gather_(g, s.index, key=s.key),
)


@method()
def index_select(self: Tensor, dim: int, index: Tensor) -> Any:
    """Along `dim`, the elements with these numbers."""
    return index_select_(self, index, dim=dim)


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
    return gather_(self, index, key=_along(index.array, dim))


def _scattering(operation: Operation) -> Any:
    def scattered(
        self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, into: Tensor | None = None
    ) -> Any:
        src = value if src is None else src
        key = _along(index.array, wrap_dim(dim, self.array.ndim))
        if isinstance(src, Tensor):
            source = src if src.array.shape == index.array.shape else src[tuple(slice(n) for n in index.array.shape)]
        else:
            source = Tensor.of(np.full(index.array.shape, src, self.array.dtype))
        return operation(self, index, source, key=key, into=into)

    put_there(scattered, operation.name, f"{operation.name}_")
    return scattered


scatter, scatter_add = map(_scattering, (scatter_, scatter_add_))


@method("index_add_")
def _index_add(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    key = (slice(None),) * wrap_dim(dim, self.array.ndim) + (index.array,)
    index_put(self, source * alpha if alpha != 1 else source, into=self, indices=key, accumulate=True)
    return self


@method()
def take_along_dim(self: Tensor, indices: Tensor, dim: int) -> Any:
    return gather(self, dim, indices)
