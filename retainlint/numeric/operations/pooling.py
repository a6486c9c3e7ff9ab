"""Windows of a picture: their sums and transposes, and what is made of them, padding and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retainlint.numeric.operations.registry import Operation, define
from retainlint.numeric.tensor import Tensor, called

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

    forward = define(row, lambda x, windows, scale, name: _scaled(_summed(x, windows), scale), self=backward)
    back = define(
        f"{row}_backward",
        lambda g, x, windows, scale, name: _spread(_scaled(g, scale), windows, x.shape),
        grad=lambda g, s: forward(g, windows=s.windows, scale=s.scale, name=s.name, node=f"{s.name}Backward0"),
        self=lambda g, s: Tensor.of(np.zeros_like(g.array)),
    )
    return forward


pad_reflect_: Operation = over_windows("pad_reflect")
constant_: Operation = define(
    "pad",
    lambda x, widths, value: _constant(x, widths, value),
    self=lambda g, s: constant_(g, widths=[(-before, -after) for before, after in s.widths], value=0),
)


def _constant(x: Any, widths: Sequence[tuple[int, int]], value: Any) -> Any:
    """Negative widths cut."""
    kept = tuple(slice(max(-before, 0), n + min(after, 0)) for n, (before, after) in zip(x.shape, widths))
    added = [(max(before, 0), max(after, 0)) for before, after in widths]
    return np.pad(x[kept], added, constant_values=value)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Any:
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


def _mirrored(input: Tensor, widths: list[tuple[int, int]], mode: str) -> Any:
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


def _circular(input: Tensor, widths: list[tuple[int, int]]) -> Any:
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


avg_pool_: Operation = over_windows("avg_pool")
adaptive_pool_: Operation = over_windows("adaptive_pool")


def _each(value: Any, count: int, call: str, argument: str) -> list[int]:
    given = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(given) not in (1, count):
        if count == 1:
            raise RuntimeError(f"{call}() argument '{argument}' should contain one int (got {len(given)})")
        how = {2: "two", 3: "three"}[count]
        raise RuntimeError(f"{call}: {argument} must either be a single int, or a tuple of {how} ints")
    return given * (count if len(given) == 1 else 1)


def _averaged(
    input: Tensor,
    count: int,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Any:
    """The sums of windows that may overlap, over how many elements each has."""
    for is_wrong, words in (
        (0 in stride, "stride should not be zero"),
        (min(kernel) <= 0, "kernel size should be greater than zero"),
        (min(stride) < 0, "stride should be greater than zero"),
        (divisor == 0, "divisor must be not zero"),
    ):
        if is_wrong:
            raise RuntimeError(words)
    windows, sizes = [], np.ones(())
    sides = input.array.shape[input.array.ndim - count :]
    _check_windows(sides, kernel, padding)
    made = [_windows(*each, ceil_mode) for each in zip(sides, kernel, stride, padding)]
    if min(made) < 1:
        planes = input.array.shape[-count - 1]
        shown = ["x".join(map(str, (planes, *lengths))) for lengths in (sides, made)]
        raise RuntimeError(
            f"Given input size: ({shown[0]}). Calculated output size: ({shown[1]}). Output size is too small"
        )
    for n, size, step, added, many in zip(sides, kernel, stride, padding, made):
        starts = np.arange(many) * step - added
        ends = np.minimum(starts + size, n + added)
        inside = np.maximum(starts, 0), np.minimum(ends, n)
        windows.append(inside)
        sizes = sizes[..., None] * (ends - starts if count_include_pad else inside[1] - inside[0])
    name = f"AvgPool{max(count, 2)}D"
    scale = 1 / sizes if divisor is None else np.float64(1 / divisor)
    return avg_pool_(input, windows=windows, scale=scale, name=name, node=f"{name}Backward0")


def _windows(n: int, size: int, step: int, added: int, ceil_mode: bool) -> int:
    """How many windows a side of n elements has."""
    made = (n + 2 * added - size + (step - 1 if ceil_mode else 0)) // step + 1
    if ceil_mode and (made - 1) * step >= n + added:
        made -= 1  # it would start in the padding behind
    return made


def _check_windows(sides: Sequence[int], kernel: list[int], padding: list[int]) -> None:
    for size, added in zip(kernel, padding):
        if added < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {added}")
        if added > size // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={added}, kernel_size={size} and "
                "dilation=1"
            )
    if len(sides) == 3 and any(n < size for n, size in zip(sides, kernel)):  # padded or not, as torch has it
        shown = ["T: {} H: {} W: {}".format(*sizes) for sizes in (sides, kernel)]
        raise RuntimeError(
            f"input image ({shown[0]}) smaller than kernel size (k{shown[1].replace(' ', ' k').replace(': k', ': ')})"
        )


def _pool(count: int) -> Any:
    """Means of windows, which may overlap; a line is in torch a picture of one row."""
    name = f"avg_pool{count}d"

    def avg_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        if count == 1:
            _check_line(input, name)
        size = _each(kernel_size, count, name, "kernel_size")
        step = size if stride in (None, ()) else _each(stride, count, name, "stride")
        around = _each(padding, count, name, "padding")
        rest = (ceil_mode, count_include_pad, divisor_override)
        if count == 1:
            return _averaged(input.unsqueeze(-2), 2, [1, *size], [1, *step], [0, *around], *rest).squeeze(-2)
        ndim = input.array.ndim
        if ndim not in (count + 1, count + 2):
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got -3)")
        return _averaged(input, count, size, step, around, *rest)

    return called(name, avg_pool)


avg_pool1d, avg_pool2d, avg_pool3d = map(_pool, (1, 2, 3))


def _check_line(input: Tensor, call: str) -> None:
    if input.array.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.array.ndim}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {call})"
        )


def _adaptive(count: int) -> Any:
    """Means of windows that together make a picture of the wanted size."""
    call = f"adaptive_avg_pool{count}d"

    def adaptive(input: Tensor, output_size: Any) -> Any:
        x = input.array
        given = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * count
        if isinstance(output_size, (tuple, list)) and x.ndim <= len(given):
            raise ValueError(f"Input dimension should be at least {len(given) + 1}")
        if len(given) != count:
            raise RuntimeError(f"{call}: output_size must be {count}")
        wanted = [n if size is None else size for n, size in zip(x.shape[x.ndim - count :], given)]
        if x.ndim not in (count + 1, count + 2):
            raise RuntimeError(f"{call}(): Expected {count + 1}D or {count + 2}D tensor, but got {list(x.shape)}")
        if min(wanted) < 0:
            received = ", ".join(map(str, wanted))
            raise RuntimeError(
                f"{call}: elements of output_size must be greater than or equal to 0 but received {{{received}}}"
            )
        if all(size == 1 for size in wanted):
            return input.mean(list(range(-count, 0)), keepdim=True)
        windows, sizes = [], np.ones(())
        for n, size in zip(x.shape[x.ndim - count :], wanted):
            at = np.arange(size)
            windows.append((at * n // max(size, 1), -(-(at + 1) * n // max(size, 1))))
            sizes = sizes[..., None] * (windows[-1][1] - windows[-1][0])
        name = f"AdaptiveAvgPool{count}D"
        return adaptive_pool_(input, windows=windows, scale=1 / sizes, name=name, node=f"{name}Backward0")

    return called(call, adaptive)


adaptive_avg_pool2d, adaptive_avg_pool3d = _adaptive(2), _adaptive(3)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Any:
    """Means of windows that together make a line of the wanted length."""
    _check_line(input, "adaptive_avg_pool1d")
    return adaptive_avg_pool2d(
        input.unsqueeze(-2), (1, *_each(output_size, 1, "adaptive_avg_pool1d", "output_size"))
    ).squeeze(-2)
