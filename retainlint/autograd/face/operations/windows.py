"""Sums over windows of a picture's rows and columns, and their transposes: what padding and pooling are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from retainlint.autograd.face.operations.registry import Operation, define
from retainlint.autograd.face.tensor import Tensor

Windows = "list[tuple[Any, Any]]"
"""For each of the last dimensions, where each window starts and ends: integers, one for each element of the result."""


def _summed(x: Any, windows: Any) -> Any:
    """The sum of each window, one dimension after the other."""
    for axis, (starts, ends) in zip(range(x.ndim - len(windows), x.ndim), windows):
        total: Any = np.zeros((*x.shape[:axis], len(starts), *x.shape[axis + 1 :]), x.dtype)
        for step in range(int((ends - starts).max(initial=0))):
            inside = starts + step < ends
            total[_at(axis, inside)] += x[_at(axis, (starts + step)[inside])]
        x = total
    return x


def _spread(g: Any, windows: Any, shape: tuple[int, ...]) -> Any:
    """The transpose of `_summed`: each element added to all of its window, in a picture of this shape."""
    for axis, (starts, ends) in zip(range(g.ndim - len(windows), g.ndim), windows):
        made = np.zeros((*g.shape[:axis], shape[axis], *g.shape[axis + 1 :]), g.dtype)
        for step in range(int((ends - starts).max(initial=0))):
            inside = starts + step < ends
            np.add.at(made, _at(axis, (starts + step)[inside]), g[_at(axis, inside)])
        g = made
    return g


def _at(axis: int, places: Any) -> tuple[Any, ...]:
    return (*(slice(None),) * axis, places)


def _scaled(x: Any, scale: Any) -> Any:
    return x if scale is None else (x * scale).astype(x.dtype)


def over_windows(row: str) -> Operation:
    """An operation over windows and its gradient; each is linear, so each is made of the other's formula.

    The gradient has an edge to the input too, by which zeros flow, as in torch.
    """

    def backward(g: Any, s: Any) -> Any:
        return back(g, s.self, windows=s.windows, scale=s.scale, name=s.name, node=f"{s.name}BackwardBackward0")

    forward = define(
        row, lambda x, windows, scale, name: _scaled(_summed(x, windows), scale), casts="same", self=backward
    )
    back = define(
        f"{row}_backward",
        lambda g, x, windows, scale, name: _spread(_scaled(g, scale), windows, x.shape),
        casts="same",
        grad=lambda g, s: forward(g, windows=s.windows, scale=s.scale, name=s.name, node=f"{s.name}Backward0"),
        self=lambda g, s: Tensor.of(np.zeros_like(g.array)),
    )
    return forward
