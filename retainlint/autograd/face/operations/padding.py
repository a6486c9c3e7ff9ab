"""Padding: a constant around a picture, or the picture itself, mirrored, repeated, or from its other end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retainlint.autograd.face.operations.registry import Operation, define
from retainlint.autograd.face.operations.windows import over_windows
from retainlint.autograd.face.tensor import Tensor

pad_reflect_: Operation = over_windows("pad_reflect")
constant_: Operation = define(
    "pad",
    lambda x, widths, value: _constant(x, widths, value),
    casts="same",
    self=lambda g, s: constant_(g, widths=[(-before, -after) for before, after in s.widths], value=0),
)


def _constant(x: Any, widths: Sequence[tuple[int, int]], value: Any) -> Any:
    """Negative widths cut."""
    kept = tuple(slice(max(-before, 0), n + min(after, 0)) for n, (before, after) in zip(x.shape, widths))
    added = [(max(before, 0), max(after, 0)) for before, after in widths]
    return np.pad(x[kept], added, constant_values=value)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Any:  # noqa: A002 -- torch's
    """Elements put before and after, the last dimension first: a constant, mirrored, repeated, or from the other end."""
    pad = [int(width) for width in pad]
    x = input.array
    if mode not in ("constant", *_MODES):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * x.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {x.ndim}"
        )
    widths = [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    if mode == "constant":
        if any(n + before + after < 0 for n, (before, after) in zip(x.shape[x.ndim - len(widths) :], widths)):
            raise RuntimeError("narrow(): length must be non-negative.")
        filled = value.item() if isinstance(value, Tensor) else value or 0
        return constant_(input, widths=[(0, 0)] * (x.ndim - len(widths)) + widths, value=filled)
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if len(widths) not in (1, 2, 3) or x.ndim not in (len(widths) + 1, len(widths) + 2):
        raise NotImplementedError(f"Padding size {len(pad)} is not supported for {x.ndim}D input tensor.{_SUPPORTED}")
    return _circular(input, widths) if mode == "circular" else _mirrored(input, widths, mode)


_MODES = ("reflect", "replicate", "circular")
_SUPPORTED = """
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


def _mirrored(input: Tensor, widths: list[tuple[int, int]], mode: str) -> Any:  # noqa: A002
    x, count = input.array, len(widths)
    windows = []
    for number, (before, after) in enumerate(widths):
        axis = x.ndim - count + number
        n = x.shape[axis]
        if n + before + after < 1:
            raise RuntimeError(
                f"input (size: {n} at dimension {axis}) is too small. Calculated output size: {n + before + after}"
            )
        places = np.arange(-before, n + after)
        if mode == "reflect":
            if max(before, after) >= n:
                raise RuntimeError(
                    f"Argument #{4 + 2 * (count - 1 - number)}: Padding size should be less than the corresponding "
                    f"input dimension, but got: padding ({before}, {after}) at dimension {axis} of input {list(x.shape)}"
                )
            places = np.where(places < 0, -places, places)
            places = np.where(places >= n, 2 * (n - 1) - places, places)
        places = np.clip(places, 0, n - 1)
        windows.append((places, places + 1))
    name = f"{'Reflection' if mode == 'reflect' else 'Replication'}Pad{count}D"
    return pad_reflect_(input, windows=windows, scale=None, name=name, node=f"{name}Backward0")


def _circular(input: Tensor, widths: list[tuple[int, int]]) -> Any:  # noqa: A002
    """As torch does it: copied into new memory, whose ends are then copied to each other."""
    first = input.array.ndim - len(widths)
    shape = list(input.array.shape)
    for axis, (before, after) in enumerate(widths, first):
        if max(before, after) > shape[axis]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        shape[axis] += before + after
        if shape[axis] < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    out = Tensor.of(np.zeros(shape, input.array.dtype))
    inside, source = out, input
    for axis, (before, after) in enumerate(widths, first):
        inside = _part(inside, axis, max(before, 0), shape[axis] - max(after, 0))
        source = _part(source, axis, max(-before, 0), source.array.shape[axis] - max(-after, 0))
    inside.copy_(source)
    for axis, (before, after) in reversed(list(enumerate(widths, first))):
        left, right, n = max(before, 0), max(after, 0), shape[axis]
        if left:
            _part(out, axis, 0, left).copy_(_part(out, axis, n - right - left, n - right))
        if right:
            _part(out, axis, n - right, n).copy_(_part(out, axis, left, left + right))
    return out


def _part(tensor: Any, axis: int, start: int, end: int) -> Any:
    return tensor[(*(slice(None),) * axis, slice(start, end))]
