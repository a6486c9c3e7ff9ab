"""Functions of one tensor, element by element."""

from __future__ import annotations

import math
from functools import wraps
from typing import Any

import numpy as np

from retainlint.numeric import grad_mode
from retainlint.numeric.operations.arithmetic import maximum, minimum, nothing
from retainlint.numeric.operations.registry import Operation, define, promoted
from retainlint.numeric.tensor import Tensor, method

_erf = np.frompyfunc(math.erf, 1, 1)


def quiet(function: Any) -> Any:
    """Without numpy's warnings of what isn't a number."""

    @wraps(function)
    def forward(x: Any, *params: Any, **named: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(x, *params, **named)

    return forward


def unary(name: str, forward: Any, vjp: Any, casts: str = "float") -> Operation:
    """An operation that is a tensor's method too, and has an in-place form."""
    return define(name, quiet(forward), casts=casts, self=vjp, methods=name, changes=f"{name}_")


def mask(tensor: Tensor, kept: Any) -> Tensor:
    """1 where `kept` (an array of truth values), else 0, in the tensor's dtype."""
    return Tensor.of(np.asarray(kept).astype(tensor.array.dtype))


def erf_array(x: Any) -> Any:
    return np.asarray(_erf(x), dtype=x.dtype)


def sigmoid_array(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(x))
    return (np.where(x >= 0, 1, small) / (1 + small)).astype(x.dtype)


def _clamp_back(g: Any, s: Any) -> Any:
    x = s.self.array
    kept = np.ones(x.shape, dtype=bool)
    kept = kept if s.low is None else kept & (x >= s.low)
    return g * mask(g, kept if s.high is None else kept & (x <= s.high))


exp: Operation = unary("exp", np.exp, lambda g, s: g * s.result)
expm1: Operation = unary("expm1", np.expm1, lambda g, s: g * (s.result + 1))
log: Operation = unary("log", np.log, lambda g, s: g / s.self)
log2: Operation = unary("log2", np.log2, lambda g, s: g / (s.self * math.log(2)))
log10: Operation = unary("log10", np.log10, lambda g, s: g / (s.self * math.log(10)))
log1p: Operation = unary("log1p", np.log1p, lambda g, s: g / (s.self + 1))
sqrt: Operation = unary("sqrt", np.sqrt, lambda g, s: g / (s.result * 2))
rsqrt: Operation = unary("rsqrt", lambda x: (1 / np.sqrt(x)).astype(x.dtype), lambda g, s: g * s.result**3 * -0.5)
square: Operation = unary("square", np.square, lambda g, s: g * (s.self**1 * 2), casts="promote")
sin: Operation = unary("sin", np.sin, lambda g, s: g * cos(s.self))
cos: Operation = unary("cos", np.cos, lambda g, s: g * -sin(s.self))
tan: Operation = unary("tan", np.tan, lambda g, s: g * (s.result * s.result + 1))
abs: Operation = unary("abs", np.abs, lambda g, s: g * keeping(sign(s.self), s.self), casts="promote")
sigmoid: Operation = unary("sigmoid", sigmoid_array, lambda g, s: g * (1 - s.result) * s.result)
tanh: Operation = unary("tanh", np.tanh, lambda g, s: g * (1 - s.result * s.result))
erf: Operation = unary("erf", erf_array, lambda g, s: g * exp(-(s.self * s.self)) * (2 / math.sqrt(math.pi)))
sinh: Operation = unary("sinh", np.sinh, lambda g, s: g * cosh(s.self))
cosh: Operation = unary("cosh", np.cosh, lambda g, s: g * sinh(s.self))
asin: Operation = unary("asin", np.arcsin, lambda g, s: g * rsqrt(1 - s.self * s.self))
acos: Operation = unary("acos", np.arccos, lambda g, s: -g * rsqrt(1 - s.self * s.self))
atan: Operation = unary("atan", np.arctan, lambda g, s: g / (s.self * s.self + 1))
floor: Operation = unary("floor", np.floor, nothing, casts="promote")
ceil: Operation = unary("ceil", np.ceil, nothing, casts="promote")
trunc: Operation = unary("trunc", np.trunc, nothing, casts="promote")
round: Operation = unary("round", lambda x, decimals=0: np.round(x, decimals), nothing, casts="promote")
sign: Operation = unary("sign", np.sign, nothing, casts="promote")
relu: Operation = unary("relu", lambda x: np.maximum(x, 0), lambda g, s: passed(g, s.result), casts="promote")
clamp_between: Operation = promoted("clamp", lambda x, low, high: np.clip(x, low, high), self=_clamp_back)
threshold_backward: Operation = promoted(  # the second derivative at `self` is 0, but it is there
    "threshold_backward",
    lambda g, x, low, high: g.copy() if low is None else g * ((x > low) & (x < high)),
    grad=lambda g, s: threshold_backward(g, s.self, low=s.low, high=s.high),
    self=nothing,
)


def passed(g: Tensor, of: Tensor, low: float = 0.0, high: float = math.inf) -> Any:
    """The gradient where `of` lies between two numbers, 0 elsewhere."""
    return threshold_backward(g, of, low=low, high=high)


def keeping(value: Any, saved: Tensor) -> Any:
    """`value`, whose graph holds `saved` too, as the graphs of torch's own backward kernels hold their inputs."""
    return threshold_backward(value, saved, low=None, high=None) if grad_mode.is_grad_enabled() else value


log_sigmoid_ = promoted(
    "log_sigmoid", quiet(lambda x, below: np.minimum(x, 0) - np.log1p(below)), self=lambda g, s: _log_sigmoid_back(g, s)
)


def log_sigmoid(x: Tensor) -> Any:
    return log_sigmoid_(x, below=np.exp(-np.abs(x.array)))


def _log_sigmoid_back(g: Any, s: Any) -> Any:
    if grad_mode.is_grad_enabled():
        return keeping(g, s.self) * (1 - sigmoid(s.self))
    negative = s.self.array < 0  # torch keeps what the forward computed, whatever the input holds now
    return g * Tensor.of(negative - np.where(negative, 1, -1) * s.below / (1 + s.below))


@method("clip", changes="clamp_ clip_")
def clamp(self: Tensor, min: Any = None, max: Any = None, into: Tensor | None = None) -> Any:
    """The elements, at least `min` and at most `max`: numbers or tensors."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        found = self if min is None else maximum(self, min if isinstance(min, Tensor) else Tensor.of(np.array(min)))
        found = found if max is None else minimum(found, max)
        return found if into is None else into.copy_(found)
    floats = self.dtype.is_floating_point or isinstance(min, float) or isinstance(max, float)
    start = self if self.dtype.is_floating_point or not floats else self.float()
    return clamp_between(start, into=into, low=min, high=max)


@method(changes="clamp_min_")
def clamp_min(self: Tensor, min: Any, into: Tensor | None = None) -> Any:
    return clamp(self, min=min, into=into)


@method(changes="clamp_max_")
def clamp_max(self: Tensor, max: Any, into: Tensor | None = None) -> Any:
    return clamp(self, max=max, into=into)


for _name, _full in {"__abs__": abs, "absolute": abs, "arctan": atan, "arcsin": asin, "arccos": acos}.items():
    setattr(Tensor, _name, _full)
