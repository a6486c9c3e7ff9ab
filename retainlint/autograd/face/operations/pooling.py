"""Average pooling: means of windows of a picture, of a given size or so many that they make a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retainlint.autograd.face.operations.registry import Operation
from retainlint.autograd.face.operations.windows import over_windows
from retainlint.autograd.face.tensor import Tensor

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
    input: Tensor,  # noqa: A002
    count: int,
    call: str,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Any:
    """The sums of windows that may overlap, over how many elements each has."""
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    if min(kernel) < 0 or 0 in kernel:
        raise RuntimeError("kernel size should be greater than zero")
    if min(stride) < 0:
        raise RuntimeError("stride should be greater than zero")
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
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


def avg_pool1d(
    input: Tensor,  # noqa: A002
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """Means of windows of a line: in torch a picture of one row."""
    _check_line(input, "avg_pool1d")
    size = _each(kernel_size, 1, "avg_pool1d", "kernel_size")
    step = size if stride in (None, ()) else _each(stride, 1, "avg_pool1d", "stride")
    around = _each(padding, 1, "avg_pool1d", "padding")
    picture = input.unsqueeze(-2)
    made = _averaged(picture, 2, "avg_pool1d", [1, *size], [1, *step], [0, *around], ceil_mode, count_include_pad, None)
    return made.squeeze(-2)


def _pool(count: int) -> Any:
    call = f"avg_pool{count}d"

    def avg_pool(
        input: Tensor,  # noqa: A002
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        size = _each(kernel_size, count, call, "kernel_size")
        step = size if stride in (None, ()) else _each(stride, count, call, "stride")
        around = _each(padding, count, call, "padding")
        ndim = input.array.ndim
        if ndim not in (count + 1, count + 2):
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got -3)")
        return _averaged(input, count, call, size, step, around, ceil_mode, count_include_pad, divisor_override)

    avg_pool.__name__ = avg_pool.__qualname__ = call
    avg_pool.__doc__ = "Means of windows, which may overlap."
    return avg_pool


avg_pool2d, avg_pool3d = _pool(2), _pool(3)


def _check_line(input: Tensor, call: str) -> None:  # noqa: A002
    if input.array.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.array.ndim}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {call})"
        )


def _adaptive(count: int) -> Any:
    call = f"adaptive_avg_pool{count}d"

    def adaptive(input: Tensor, output_size: Any) -> Any:  # noqa: A002
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

    adaptive.__name__ = adaptive.__qualname__ = call
    adaptive.__doc__ = "Means of windows that together make a picture of the wanted size."
    return adaptive


adaptive_avg_pool2d, adaptive_avg_pool3d = _adaptive(2), _adaptive(3)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Any:  # noqa: A002
    """Means of windows that together make a line of the wanted length."""
    _check_line(input, "adaptive_avg_pool1d")
    return adaptive_avg_pool2d(
        input.unsqueeze(-2), (1, *_each(output_size, 1, "adaptive_avg_pool1d", "output_size"))
    ).squeeze(-2)
