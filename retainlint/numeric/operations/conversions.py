"""From one dtype to another, from tensors to Python; comparisons and logic, through which no gradient passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retainlint.numeric import dtypes
from retainlint.numeric.dtypes import device, dtype
from retainlint.numeric.layout import check_broadcast
from retainlint.numeric.operations.registry import as_operand, result_dtype
from retainlint.numeric.operations.shapes import to_
from retainlint.numeric.tensor import Tensor, method


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


def _caster(kind: dtype) -> Callable[[Tensor], Any]:
    def cast(self: Tensor, memory_format: Any = None) -> Any:
        return to(self, kind)

    return cast


for _name, _kind in {**dtypes.ALIASES, "bool": dtypes.bool_, "byte": dtypes.uint8, "char": dtypes.int8}.items():
    setattr(Tensor, _name, _caster(_kind))


def _compared(function: Any) -> Callable[..., Any]:
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

    return compare


eq, ne = _compared(np.equal), _compared(np.not_equal)
lt, le, gt, ge = _compared(np.less), _compared(np.less_equal), _compared(np.greater), _compared(np.greater_equal)


bitwise_and, bitwise_or, bitwise_xor = map(_compared, (np.bitwise_and, np.bitwise_or, np.bitwise_xor))


def _logical(function: Any) -> Callable[[Any, Any], Tensor]:
    return lambda self, other: Tensor.of(function(self.array, other.array))


logical_and, logical_or, logical_xor = _logical(np.logical_and), _logical(np.logical_or), _logical(np.logical_xor)


def _tested(function: Any) -> Callable[[Tensor], Tensor]:
    return lambda self: Tensor.of(np.asarray(function(self.array)))


isnan, isinf, isfinite, logical_not = map(_tested, (np.isnan, np.isinf, np.isfinite, np.logical_not))


for _names, _function in {
    "__eq__ eq": eq,
    "__ne__ ne not_equal": ne,
    "__lt__ lt less": lt,
    "__le__ le less_equal": le,
    "__gt__ gt greater": gt,
    "__ge__ ge greater_equal": ge,
    "__and__ __rand__ bitwise_and": bitwise_and,
    "__or__ __ror__ bitwise_or": bitwise_or,
    "__xor__ __rxor__ bitwise_xor": bitwise_xor,
    "logical_and": logical_and,
    "logical_or": logical_or,
    "logical_xor": logical_xor,
    "logical_not": logical_not,
    "__invert__ bitwise_not": _tested(np.invert),
    "isnan": isnan,
    "isinf": isinf,
    "isfinite": isfinite,
}.items():
    for _name in _names.split():
        setattr(Tensor, _name, _function)


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
