"""Pictures: enlarging them, rearranging and sampling their pixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.numeric.lacking import LackingUse
from retainlint.numeric.operations.places import spread_at
from retainlint.numeric.operations.products import matmul
from retainlint.numeric.operations.registry import Operation, define
from retainlint.numeric.operations.shapes import reshape
from retainlint.numeric.tensor import Tensor


def _shuffled(x: Any, by: int) -> Any:
    *lead, channels, height, width = x.shape
    apart = x.reshape(*lead, channels // by**2, by, by, height, width)
    count = len(lead)
    order = [*range(count), count, count + 3, count + 1, count + 4, count + 2]
    return apart.transpose(order).reshape(*lead, channels // by**2, height * by, width * by)


def _unshuffled(x: Any, by: int) -> Any:
    *lead, channels, height, width = x.shape
    apart = x.reshape(*lead, channels, height // by, by, width // by, by)
    count = len(lead)
    order = [*range(count), count, count + 2, count + 4, count + 1, count + 3]
    return apart.transpose(order).reshape(*lead, channels * by**2, height // by, width // by)


shuffle_: Operation = define("pixel_shuffle", _shuffled, self=lambda g, s: unshuffle_(g, by=s.by))
unshuffle_: Operation = define("pixel_shuffle", _unshuffled, self=lambda g, s: shuffle_(g, by=s.by))
nearest_: Operation = define(
    "interpolate",
    lambda x, rows, across: x[..., rows[:, None], across],
    self=lambda g, s: spread_at(g, s.shapes["self"], (..., s.rows[:, None], s.across)),
)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Any:
    return shuffle_(input, by=upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Any:
    return unshuffle_(input, by=downscale_factor, node="PixelUnshuffleBackward0")


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Any:
    """Pictures in another size, by the nearest pixel."""
    if mode != "nearest":
        raise LackingUse(f"torch.nn.functional.interpolate(mode={mode!r})")
    shape = input.array.shape[2:]
    if size is None:
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * len(shape)
        size = [math.floor(n * f) for n, f in zip(shape, factors)]
    wanted = list(size) if isinstance(size, (tuple, list)) else [size] * len(shape)
    places = [np.minimum(np.arange(want) * have // want, have - 1) for have, want in zip(shape, wanted)]
    if len(shape) == 1:
        return input.index_select(2, Tensor.of(places[0]))
    return nearest_(input, rows=places[0], across=places[1])


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Any:
    """Where each pixel of a picture lies after an affine change, from -1 to 1."""
    count, _, height, width = size
    rows, columns = (
        np.linspace(-1, 1, n) if align_corners else (np.arange(n) * 2 + 1) / n - 1 for n in (height, width)
    )
    base = np.ones((height, width, 3))
    base[..., 0], base[..., 1] = columns, rows[:, None]
    return affine_grid_(theta, base=base.reshape(-1, 3).astype(theta.array.dtype), shape=(count, height, width, 2))


affine_grid_: Operation = define(
    "affine_grid",
    lambda theta, base, shape: (base @ np.swapaxes(theta, 1, 2)).reshape(shape),
    theta=lambda g, s: matmul(reshape(g, len(g.array), -1, 2).transpose(1, 2), Tensor.of(s.base)),
)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """The picture at the places of a grid, between pixels by their mean; 0 outside."""
    if mode != "bilinear" or padding_mode != "zeros":
        raise LackingUse(f"torch.nn.functional.grid_sample(mode={mode!r}, padding_mode={padding_mode!r})")
    return sample_(input, grid, aligned=bool(align_corners))


def _corners(picture: Any, grid: Any, aligned: bool) -> tuple[Any, Any, list[tuple[Any, Any, Any]]]:
    """Pixel coordinates of a grid, and for each corner its rows and columns and whether it is inside."""
    height, width = picture.shape[2:]
    x, y = grid[..., 0], grid[..., 1]
    x = (x + 1) / 2 * (width - 1) if aligned else ((x + 1) * width - 1) / 2
    y = (y + 1) / 2 * (height - 1) if aligned else ((y + 1) * height - 1) / 2
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    found = []
    for dy in (0, 1):
        for dx in (0, 1):
            row, column = top + dy, left + dx
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            found.append((np.where(inside, row, 0), np.where(inside, column, 0), inside))
    return x - left, y - top, found


def _weights(x: Any, y: Any) -> list[Any]:
    return [(1 - y) * (1 - x), (1 - y) * x, y * (1 - x), y * x]


def _sample(picture: Any, grid: Any, aligned: bool) -> Any:
    x, y, corners = _corners(picture, grid, aligned)
    batch = np.arange(len(picture))[:, None, None]
    found: Any = 0
    for weight, (row, column, inside) in zip(_weights(x, y), corners):
        pixels = picture.transpose(0, 2, 3, 1)[batch, row, column]
        found = found + pixels * (weight * inside)[..., None]
    return found.transpose(0, 3, 1, 2).astype(picture.dtype)


def _sample_back_input(g: Any, s: Any) -> Any:
    x, y, corners = _corners(s.input.array, s.grid.array, s.aligned)
    made = np.zeros(s.shapes["input"], g.array.dtype).transpose(0, 2, 3, 1)
    batch = np.arange(len(made))[:, None, None]
    for weight, (row, column, inside) in zip(_weights(x, y), corners):
        np.add.at(made, (batch, row, column), g.array.transpose(0, 2, 3, 1) * (weight * inside)[..., None])
    return Tensor.of(made.transpose(0, 3, 1, 2))


def _sample_back_grid(g: Any, s: Any) -> Any:
    picture = s.input.array
    x, y, corners = _corners(picture, s.grid.array, s.aligned)
    batch = np.arange(len(picture))[:, None, None]
    slopes = [((y - 1), (x - 1)), ((1 - y), -x), (-y, (1 - x)), (y, x)]
    made = np.zeros(s.shapes["grid"], g.array.dtype)
    for (dx, dy), (row, column, inside) in zip(slopes, corners):
        pixels = (picture.transpose(0, 2, 3, 1)[batch, row, column] * g.array.transpose(0, 2, 3, 1)).sum(-1) * inside
        made[..., 0] += pixels * dx
        made[..., 1] += pixels * dy
    height, width = picture.shape[2:]
    off = 1 if s.aligned else 0
    return Tensor.of(made * np.array([(width - off) / 2, (height - off) / 2], made.dtype))


sample_: Operation = define("grid_sample", _sample, input=_sample_back_input, grid=_sample_back_grid)
