"""Making tensors: from data, filled with one number, counted up in steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.numeric import dtypes
from retainlint.numeric.dtypes import Array
from retainlint.numeric.dtypes import device as _Device
from retainlint.numeric.layout import sizes
from retainlint.numeric.tensor import Tensor, array_of, legacy_tensor, method


def finish(array: Any, options: dict[str, Any]) -> Tensor:
    """A leaf over `array`, with the options that every factory takes; TypeError for an unknown one."""
    made = Tensor.of(array)
    place = options.pop("device", None)
    if place is not None and not isinstance(place, _Device):
        _Device(place)
    for ignored in ("layout", "pin_memory", "out", "memory_format"):
        options.pop(ignored, None)
    if options.pop("requires_grad", False):
        made.requires_grad = True
    if options:
        raise TypeError(f"got an unexpected keyword argument {next(iter(options))!r}")
    return made


def tensor(data: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    return finish(array_of(data, dtype), options)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """`data` as a tensor: itself if it is one, over the same memory if it is an array."""
    if isinstance(data, Tensor):
        return data.to(dtype) if dtype is not None else data
    if isinstance(data, np.ndarray) and (dtype is None or dtype.numpy == data.dtype):
        return Tensor.of(data)
    return tensor(data, dtype=dtype)


def from_numpy(array: Array) -> Tensor:
    dtypes.of_array(array)
    return Tensor.of(array)


class LegacyType:
    """torch.FloatTensor and its like: makes tensors of one dtype; isinstance asks for the dtype."""

    def __init__(self, kind: dtypes.dtype) -> None:
        self.kind = kind

    def __call__(self, *args: Any) -> Tensor:
        return legacy_tensor(Tensor, *args, kind=self.kind)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is self.kind


def _filled(shape: Any, value: Any, kind: Any, options: dict[str, Any]) -> Tensor:
    if "size" in options:
        shape = (options.pop("size"),)
    return finish(np.full(sizes(shape), value, (kind or dtypes.default()).numpy), options)


def full(size: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    return _filled((size,), value, dtype or dtypes.of_scalar(value), options)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    return _filled(input.array.shape, fill_value, dtype or input.dtype, options)


def _filling(value: float) -> tuple[Any, Any]:
    """The factories of tensors filled with one number: by sizes, and in the shape of another tensor."""

    def make(*size: Any, dtype: Any = None, **options: Any) -> Tensor:
        return _filled(size, value, dtype, options)

    def make_like(input: Tensor, *, dtype: Any = None, **options: Any) -> Tensor:
        return full_like(input, value, dtype=dtype, **options)

    return make, make_like


zeros, zeros_like = _filling(0)
ones, ones_like = _filling(1)
empty, empty_like = _filling(0)  # what they hold is not to be relied on


def eye(n: int, m: int | None = None, *, dtype: Any = None, **options: Any) -> Tensor:
    return finish(np.eye(n, m, dtype=(dtype or dtypes.default()).numpy), options)


def arange(*bounds: Any, dtype: Any = None, **options: Any) -> Tensor:
    """start, end, step, as `range` has them; for real numbers too."""
    named = [options.pop(name) for name in ("start", "end", "step") if name in options]
    plain = [b.item() if isinstance(b, Tensor) else b for b in (*bounds, *named)]
    start, end, step = (0, plain[0], 1) if len(plain) == 1 else (*plain, 1)[:3]
    kind = dtype or (dtypes.default() if any(isinstance(b, float) for b in plain) else dtypes.int64)
    count = max(0, math.ceil((end - start) / step))
    return finish((start + np.arange(count) * step).astype(kind.numpy), options)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, **options: Any) -> Tensor:
    """`steps` numbers at equal distances."""
    return finish(np.linspace(float(start), float(end), steps).astype((dtype or dtypes.default()).numpy), options)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, **options: Any) -> Tensor:
    """Powers of `base` at equal distances."""
    return finish(
        (base ** np.linspace(float(start), float(end), steps)).astype((dtype or dtypes.default()).numpy), options
    )


def _new(make: Any) -> Any:
    def new(self: Tensor, *size: Any, dtype: Any = None, **options: Any) -> Tensor:
        made: Tensor = make(*size, dtype=dtype or self.dtype, **options)
        return made

    return new


for _name, _make in {"new_zeros": zeros, "new_ones": ones, "new_empty": empty, "new_full": full}.items():
    setattr(Tensor, _name, _new(_make))


@method()
def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    """A leaf with a copy of `data`, in the dtype of `self`."""
    return tensor(data, dtype=dtype or self.dtype, **options)


@method()
def new(self: Tensor, *args: Any) -> Tensor:
    """torch.Tensor(...) in the dtype of `self`."""
    return legacy_tensor(Tensor, *args, kind=self.dtype)
