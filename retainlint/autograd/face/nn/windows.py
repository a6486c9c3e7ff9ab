"""Modules that pad pictures and lines, and that take means of their windows."""

from __future__ import annotations

from typing import Any

from retainlint.autograd.face.nn import functional as F  # noqa: N812
from retainlint.autograd.face.nn.module import Module
from retainlint.autograd.face.tensor import Tensor


class _Pad(Module):
    """Elements around the last `sides` dimensions; one number stands for all widths."""

    sides, mode = 1, "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = padding if isinstance(padding, tuple) else (padding,) * (2 * self.sides)

    def forward(self, input: Tensor) -> Any:  # noqa: A002 -- torch's name, here and below
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    """One value all around."""

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Any:  # noqa: A002
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


def _sized(base: type[_Pad], sides: int, mode: str, name: str) -> type[_Pad]:
    return type(f"{name}{sides}d", (base,), {"sides": sides, "mode": mode, "__doc__": f"{base.__doc__} ({mode})"})


ConstantPad1d, ConstantPad2d, ConstantPad3d = (_sized(_ConstantPad, n, "constant", "ConstantPad") for n in (1, 2, 3))
ZeroPad1d, ZeroPad2d, ZeroPad3d = (_sized(_Pad, n, "constant", "ZeroPad") for n in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (_sized(_Pad, n, "reflect", "ReflectionPad") for n in (1, 2, 3))
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (
    _sized(_Pad, n, "replicate", "ReplicationPad") for n in (1, 2, 3)
)
CircularPad1d, CircularPad2d, CircularPad3d = (_sized(_Pad, n, "circular", "CircularPad") for n in (1, 2, 3))


class AvgPool2d(Module):
    """Means of windows, which may overlap."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Any:  # noqa: A002
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool3d(AvgPool2d):
    """Means of windows with three sides."""

    def forward(self, input: Tensor) -> Any:  # noqa: A002
        return F.avg_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool1d(Module):
    """Means of windows of a line."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        given = (kernel_size, kernel_size if stride is None else stride, padding)
        self.kernel_size, self.stride, self.padding = (n if isinstance(n, tuple) else (n,) for n in given)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Any:  # noqa: A002
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool1d(Module):
    """Means of windows that together make a line of the wanted length."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:  # noqa: A002
        return F.adaptive_avg_pool1d(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """Means of windows that together make a picture of the wanted size."""

    def forward(self, input: Tensor) -> Any:  # noqa: A002
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(AdaptiveAvgPool1d):
    """Means of windows with three sides that together have the wanted size."""

    def forward(self, input: Tensor) -> Any:  # noqa: A002
        return F.adaptive_avg_pool3d(input, self.output_size)
