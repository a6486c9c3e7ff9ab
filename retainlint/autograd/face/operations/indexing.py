"""What square brackets mean: integers, slices, masks and tensors, read and assigned to."""

from __future__ import annotations

from typing import Any

import numpy as np

from retainlint.autograd.face.operations.pieces import select_, slice_
from retainlint.autograd.face.operations.selections import copy_, fill_, index_, index_put
from retainlint.autograd.face.tensor import Tensor, method


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
        return index_(self, indices=items)
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
    """Assign to what the index chooses."""
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
