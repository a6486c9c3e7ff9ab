"""Arithmetic on two tensors, or on a tensor and a number."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from retainlint.numeric.layout import check_broadcast
from retainlint.numeric.operations.registry import Operation, as_operand, define, promoted, result_dtype
from retainlint.numeric.tensor import Tensor, method


def same(g: Any, s: Any) -> Any:
    """The gradient as it came."""
    return g


def minus(g: Any, s: Any) -> Any:
    """The gradient with its sign changed."""
    return -g


def nothing(g: Any, s: Any) -> Any:
    """A gradient of zeros, which depends on nothing."""
    return Tensor.of(np.zeros_like(g.array))


def paired(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of two arrays, with torch's words where their shapes don't go together."""

    @wraps(function)
    def forward(left: Any, right: Any, **params: Any) -> Any:
        check_broadcast(left.shape, right.shape)
        with np.errstate(all="ignore"):
            return function(left, right, **params)

    return forward


def _subtract(left: Any, right: Any, alpha: Any = 1) -> Any:
    if left.dtype.kind == right.dtype.kind == "b":
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    return left - right if alpha == 1 else left - alpha * right


def _power(base: Any, exponent: Any) -> Any:
    exponent = np.asarray(exponent)
    if base.dtype.kind != "f" and exponent.dtype.kind != "f" and np.any(exponent < 0):
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    with np.errstate(all="ignore"):
        return np.power(base, exponent.astype(base.dtype))


def _share(one: Tensor, other: Tensor, wins: Callable[..., Any]) -> Tensor:
    """Which of two takes the gradient: all where it wins, half where they are equal."""
    a, b = one.array, other.array
    return Tensor.of(wins(a, b).astype(a.dtype) + (a == b).astype(a.dtype) / 2)


def _by_quotient(rounding: str, g: Any, s: Any) -> Any:
    return -g * div(s.self, s.other, rounding_mode=rounding)


add: Operation = promoted(
    "add",
    paired(lambda x, y, alpha=1: x + y if alpha == 1 else x + alpha * y),
    self=same,
    other=lambda g, s: g if s.alpha == 1 else g * s.alpha,
    methods="add __add__ __radd__",
    changes="add_ __iadd__",
)
sub: Operation = promoted(
    "sub",
    paired(_subtract),
    self=same,
    other=lambda g, s: -g if s.alpha == 1 else -g * s.alpha,
    methods="sub subtract __sub__",
    changes="sub_ __isub__",
)
rsub: Operation = promoted("rsub", paired(lambda x, y: y - x), self=minus, other=same, methods="rsub __rsub__")
neg: Operation = promoted("neg", np.negative, self=minus, methods="neg negative __neg__", changes="neg_")
mul: Operation = promoted(
    "mul",
    paired(np.multiply),
    self=lambda g, s: g * s.other,
    other=lambda g, s: g * s.self,
    methods="mul multiply __mul__ __rmul__",
    changes="mul_ __imul__",
)
true_divide: Operation = promoted(
    "div",
    paired(np.divide),
    casts="float",
    self=lambda g, s: g / s.other,
    other=lambda g, s: -g * ((s.self / s.other) / s.other),
    methods="true_divide __truediv__",
    changes="__itruediv__",
)
reciprocal: Operation = promoted(
    "reciprocal",
    lambda x: np.divide(1, x).astype(x.dtype),
    casts="float",
    self=lambda g, s: -g * (s.result * s.result),
    methods="reciprocal",
    changes="reciprocal_",
)
pow_number: Operation = define(
    "pow",
    lambda x, _, power: _power(x, power),
    self=lambda g, s: nothing(g, s) if s.power == 0 else g * (s.power * s.self ** (s.power - 1)),
)
pow_tensor: Operation = promoted(
    "pow_tensor",
    paired(_power),
    self=lambda g, s: g * (s.exponent * s.self ** (s.exponent - 1)).masked_fill(s.exponent == 0, 0.0),
    exponent=lambda g, s: g * (s.result * s.self.log()).masked_fill((s.self == 0) & (s.exponent >= 0), 0.0),
)
pow_of_number: Operation = promoted(
    "rpow",
    lambda x, base: _power(np.asarray(base, x.dtype), x),
    exponent=lambda g, s: g * (s.result * float(np.log(s.base))) if s.base != 0 else nothing(g, s),
)
remainder = promoted(  # with the sign of `other`
    "remainder", paired(np.mod), self=same, other=partial(_by_quotient, "floor"), methods="remainder __mod__"
)
fmod = promoted("fmod", paired(np.fmod), self=same, other=partial(_by_quotient, "trunc"), methods="fmod")
lerp_number: Operation = promoted(
    "lerp",
    lambda x, end, weight: x + weight * (end - x),
    self=lambda g, s: g * (1 - s.weight),
    end=lambda g, s: g * s.weight,
)
lerp_tensor: Operation = promoted(
    "lerp_tensor",
    lambda x, end, weight: x + weight * (end - x),
    self=lambda g, s: g * (1 - s.weight),
    end=lambda g, s: g * s.weight,
    weight=lambda g, s: g * (s.end - s.self),
)
addcmul: Operation = promoted(
    "addcmul",
    lambda x, a, b, value=1: x + value * a * b,
    self=same,
    tensor1=lambda g, s: g * (s.tensor2 * s.value),
    tensor2=lambda g, s: g * (s.tensor1 * s.value),
    methods="addcmul",
    changes="addcmul_",
)
addcdiv: Operation = promoted(
    "addcdiv",
    lambda x, a, b, value=1: x + value * (a / b),
    self=same,
    tensor1=lambda g, s: g * (s.value / s.tensor2),
    tensor2=lambda g, s: -g * (s.value * s.tensor1 / (s.tensor2 * s.tensor2)),
    methods="addcdiv",
    changes="addcdiv_",
)
maximum: Operation = promoted(
    "maximum",
    paired(np.maximum),
    self=lambda g, s: g * _share(s.self, s.other, np.greater),
    other=lambda g, s: g * _share(s.other, s.self, np.greater),
    methods="maximum",
)
minimum: Operation = promoted(
    "minimum",
    paired(np.minimum),
    self=lambda g, s: g * _share(s.self, s.other, np.less),
    other=lambda g, s: g * _share(s.other, s.self, np.less),
    methods="minimum",
)
atan2: Operation = promoted(
    "atan2",
    paired(np.arctan2),
    casts="float",
    self=lambda g, s: g * (s.other / (s.self * s.self + s.other * s.other)),
    other=lambda g, s: g * (-s.self / (s.self * s.self + s.other * s.other)),
    methods="atan2 arctan2",
)


@method("divide", changes="div_")
def div(self: Any, other: Any, *, rounding_mode: str | None = None, into: Tensor | None = None) -> Any:
    """self / other; rounded by "floor" or "trunc" if asked."""
    if rounding_mode is None:
        return true_divide(self, other, into=into)
    kind = result_dtype([t for t in (as_operand(self), as_operand(other)) if t is not None])
    rounded = getattr(true_divide(self, other), rounding_mode)()
    found = rounded if kind.is_floating_point else rounded.to(kind)
    return found if into is None else into.copy_(found)


@method("__floordiv__")
def floor_divide(self: Any, other: Any) -> Any:
    return div(self, other, rounding_mode="floor")


@method("__pow__", changes="pow_ __ipow__")
def pow(self: Any, exponent: Any, into: Tensor | None = None) -> Any:
    """self ** exponent; at least one of them is a tensor."""
    if not isinstance(self, Tensor):
        return pow_of_number(exponent, base=self)
    if isinstance(exponent, Tensor):
        return pow_tensor(self, exponent, into=into)
    kind = result_dtype([t for t in (self, as_operand(exponent)) if t is not None])
    return pow_number(self if self.dtype is kind else self.to(kind), power=exponent, into=into)


@method(changes="lerp_")
def lerp(self: Tensor, end: Tensor, weight: Any, into: Tensor | None = None) -> Any:
    return (lerp_tensor if isinstance(weight, Tensor) else lerp_number)(self, end, weight, into=into)


@method("__pos__")
def positive(self: Tensor) -> Tensor:
    return self


for _name, _reflected in {
    "__rtruediv__": lambda self, other: reciprocal(self) * other,
    "__rfloordiv__": lambda self, other: floor_divide(other, self),
    "__rpow__": lambda self, other: pow(other, self),
}.items():
    setattr(Tensor, _name, _reflected)
