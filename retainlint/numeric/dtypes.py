"""The kinds of number that a tensor can hold, what kind an operation on several of them gives, and the one device there is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from retainlint.numeric.lacking import LackingUse


class device:  # noqa: N801 -- torch's name
    """The CPU; asking for another is an error that names it."""

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        name = str(type)
        kind, _, number = name.partition(":")
        if kind != "cpu":
            raise LackingUse(f"device {name!r}")
        self.type = kind
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


CPU = device()


Array: TypeAlias = npt.NDArray[Any]


class dtype:  # noqa: N801 -- torch's name
    """One kind of number. There is one object for each; compare with `is` or `==`."""

    def __init__(self, name: str, array: Any, legacy: str) -> None:
        self.name, self.numpy, self.legacy = name, np.dtype(array), legacy
        self.is_floating_point: bool = self.numpy.kind == "f"
        self.is_complex = False
        self.itemsize = self.numpy.itemsize

    @property
    def category(self) -> int:
        """bool, integer, floating: a higher one wins over a lower one."""
        return "biuf".index(self.numpy.kind) if self.numpy.kind != "u" else 1

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return f"{self.name}_" if self.name == "bool" else self.name


float64 = dtype("float64", "f8", "Double")
float32 = dtype("float32", "f4", "Float")
float16 = dtype("float16", "f2", "Half")
int64 = dtype("int64", "i8", "Long")
int32 = dtype("int32", "i4", "Int")
int16 = dtype("int16", "i2", "Short")
int8 = dtype("int8", "i1", "Char")
uint8 = dtype("uint8", "u1", "Byte")
bool_ = dtype("bool", "?", "Bool")


class _Bfloat16(dtype):
    """Named, so that it can be asked for; numpy has no such numbers."""

    def __init__(self) -> None:
        self.name, self.legacy, self.itemsize = "bfloat16", "BFloat16", 2
        self.is_floating_point, self.is_complex = True, False

    @property
    def numpy(self) -> Any:
        raise LackingUse("dtype torch.bfloat16")


bfloat16 = _Bfloat16()
ALL = (float64, float32, float16, int64, int32, int16, int8, uint8, bool_)
ALIASES = {"float": float32, "double": float64, "half": float16, "long": int64, "int": int32, "short": int16}
_OF_ARRAY = {kind.numpy: kind for kind in ALL}
_DEFAULT = [float32]


def of_array(array: Array) -> dtype:
    """The kind of a numpy array; TypeError for one that torch doesn't hold."""
    found = _OF_ARRAY.get(array.dtype)
    if found is None:
        raise TypeError(f"can't convert np.ndarray of type numpy.{array.dtype}")
    return found


def default() -> dtype:
    return _DEFAULT[0]


def set_default(kind: dtype) -> None:
    _DEFAULT[0] = kind


def of_scalar(value: bool | int | float) -> dtype:
    """The kind that torch gives a Python number."""
    if isinstance(value, (bool, np.bool_)):
        return bool_
    return int64 if isinstance(value, (int, np.integer)) else default()


def promote(left: dtype, right: dtype) -> dtype:
    """The smallest kind that holds both."""
    if left is right:
        return left
    if left.category != right.category:
        return left if left.category > right.category else right
    return _OF_ARRAY[np.promote_types(left.numpy, right.numpy)]


def result(dimensioned: Iterable[dtype], zero_dim: Iterable[dtype], numbers: Iterable[dtype]) -> dtype:
    """What an operation on these gives: tensors with dimensions first, then those without, then Python numbers.

    Source: the type promotion rules in torch's documentation of tensor attributes.
    """
    found: dtype | None = None
    for group in (dimensioned, zero_dim, numbers):
        within: dtype | None = None
        for kind in group:
            within = kind if within is None else promote(within, kind)
        if within is not None and (found is None or within.category > found.category):
            found = within if found is None else promote(found, within)
    assert found is not None
    return found
