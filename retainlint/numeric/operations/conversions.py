"""From one dtype to another, from tensors to Python; comparisons and logic, through which no gradient passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retainlint.numeric import dtypes
from retainlint.numeric.dtypes import device
from retainlint.numeric.layout import check_broadcast
from retainlint.numeric.operations.registry import as_operand, result_dtype
from retainlint.numeric.operations.shapes import to_
from retainlint.numeric.tensor import Tensor, method, put_there


@method()
def to(
    self: Tensor, *wanted: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False
) -> Any:
    """In another dtype; the same tensor if it has it already."""
    kind = dtype
    for entry in wanted:
        if isinstance(entry, Tensor):
            kind = entry.dtype
        elif isinstance(entry, dtypes.dtype):
            kind = entry
        elif entry is not None and not isinstance(entry, bool):
            _device(entry)
    if device is not None:
        _device(device)
    if kind is None or kind is self.dtype:
        return self.clone() if copy else self
    return to_(self, kind=kind.numpy)


def _device(name: Any) -> device:
    return name if isinstance(name, device) else device(name)


@method()
def type_as(self: Tensor, other: Tensor) -> Any:
    return to(self, other.dtype)


@method("type")
def type_(self: Tensor, kind: Any = None) -> Any:
    """In another dtype; or the name of the one it has."""
    if kind is None:
        return f"torch.{self.dtype.legacy}Tensor"
    if isinstance(kind, str):
        kind = next(k for k in dtypes.ALL if f"torch.{k.legacy}Tensor" == kind)
    return to(self, getattr(kind, "kind", kind))


for _name, _kind in {**dtypes.ALIASES, "bool": dtypes.bool_, "byte": dtypes.uint8, "char": dtypes.int8}.items():
    setattr(Tensor, _name, lambda self, memory_format=None, kind=_kind: to(self, kind))


def _compared(function: Any, methods: str) -> Callable[..., Any]:
    """A comparison of elements, also as the tensors' `methods` (names, with blanks between)."""

    def compare(self: Any, other: Any) -> Any:
        try:
            left, right = as_operand(self), as_operand(other)
        except TypeError:
            return NotImplemented
        if left is None or right is None:
            return NotImplemented
        check_broadcast(left.array.shape, right.array.shape)
        kind = result_dtype([left, right]).numpy
        return Tensor.of(function(left.array.astype(kind, copy=False), right.array.astype(kind, copy=False)))

    put_there(compare, methods, "")
    return compare


def _tested(function: Any, methods: str) -> Callable[..., Tensor]:
    """A test of the elements of one tensor, or of those of two, as they are."""

    def test(*tensors: Tensor) -> Tensor:
        return Tensor.of(np.asarray(function(*(each.array for each in tensors))))

    put_there(test, methods, "")
    return test


eq = _compared(np.equal, "__eq__ eq")
ne = _compared(np.not_equal, "__ne__ ne not_equal")
lt = _compared(np.less, "__lt__ lt less")
le = _compared(np.less_equal, "__le__ le less_equal")
gt = _compared(np.greater, "__gt__ gt greater")
ge = _compared(np.greater_equal, "__ge__ ge greater_equal")
bitwise_and = _compared(np.bitwise_and, "__and__ __rand__ bitwise_and")
bitwise_or = _compared(np.bitwise_or, "__or__ __ror__ bitwise_or")
bitwise_xor = _compared(np.bitwise_xor, "__xor__ __rxor__ bitwise_xor")
logical_and, logical_or = _tested(np.logical_and, "logical_and"), _tested(np.logical_or, "logical_or")
logical_xor, logical_not = _tested(np.logical_xor, "logical_xor"), _tested(np.logical_not, "logical_not")
isnan, isinf, isfinite = _tested(np.isnan, "isnan"), _tested(np.isinf, "isinf"), _tested(np.isfinite, "isfinite")
_tested(np.invert, "__invert__ bitwise_not")


@method()
def equal(self: Tensor, other: Tensor) -> bool:
    same: bool = np.array_equal(self.array, other.array)
    return same


@method()
def allclose(self: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return bool(np.allclose(self.array, other.array, rtol, atol, equal_nan))


@method()
def isclose(self: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    return Tensor.of(np.isclose(self.array, other.array, rtol, atol, equal_nan))
