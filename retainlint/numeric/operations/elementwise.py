"""Functions of one tensor, element by element, and the activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.numeric import grad_mode
from retainlint.numeric.operations.arithmetic import maximum, minimum, nothing
from retainlint.numeric.operations.registry import Operation, define
from retainlint.numeric.tensor import Tensor, method

_erf = np.frompyfunc(math.erf, 1, 1)
_ROOT_TWO = math.sqrt(2.0)
_NORMAL = 1 / math.sqrt(2 * math.pi)
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def quiet(function: Any) -> Any:
    """Without numpy's warnings of what isn't a number."""

    def forward(x: Any, **params: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(x, **params)

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


def softplus_array(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    """log(1 + exp(beta x)) / beta; x itself beyond the threshold."""
    scaled = x * beta
    return np.where(scaled > threshold, x, np.log1p(np.exp(np.minimum(scaled, threshold))) / beta)


def _elu_array(x: Any, alpha: float = 1.0, scale: float = 1.0) -> Any:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)) * alpha) * scale


def _elu_back(g: Any, s: Any) -> Any:
    alpha, scale, x = s.get("alpha", 1.0), s.get("scale", 1.0), s.self
    return g * (mask(x, x.array > 0) + mask(x, x.array <= 0) * (clamp(x, max=0).exp() * alpha)) * scale


def _gelu_array(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return x * 0.5 * (1 + erf_array(x / _ROOT_TWO))


def _gelu_back(g: Any, s: Any) -> Any:
    x = s.self
    if s.get("approximate", "none") == "tanh":
        inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
        t = tanh(inner)
        return g * ((t + 1) * 0.5 + x * 0.5 * (1 - t * t) * (x * x * (3 * 0.044715) + 1) * math.sqrt(2 / math.pi))
    return g * ((erf(x / _ROOT_TWO) + 1) * 0.5 + x * (exp(x * x * -0.5) * _NORMAL))


def _silu_back(g: Any, s: Any) -> Any:
    p = sigmoid(s.self)
    return g * (p * (s.self * (1 - p) + 1))


def _softplus_back(g: Any, s: Any) -> Any:
    return softplus_backward(g, s.self, beta=s.get("beta", 1), threshold=s.get("threshold", 20))


def _softplus_slope(x: Any, beta: float, threshold: float) -> Any:
    return np.where(x * beta > threshold, 1, sigmoid_array(x * beta)).astype(x.dtype)


def _softplus_bend(g: Any, s: Any) -> Any:
    p = sigmoid(s.self * s.beta)
    return g * s.grad * (p * (1 - p)) * mask(s.self, s.self.array * s.beta <= s.threshold) * s.beta


def _clamp_array(x: Any, low: Any, high: Any) -> Any:
    return np.clip(x, low, high)


def _clamp_back(g: Any, s: Any) -> Any:
    x = s.self.array
    kept = np.ones(x.shape, dtype=bool)
    kept = kept if s.low is None else kept & (x >= s.low)
    return g * mask(g, kept if s.high is None else kept & (x <= s.high))


def _half_round(x: Any, decimals: int = 0) -> Any:
    return np.round(x, decimals)


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
round: Operation = unary("round", _half_round, nothing, casts="promote")
sign: Operation = unary("sign", np.sign, nothing, casts="promote")
relu: Operation = unary("relu", lambda x: np.maximum(x, 0), lambda g, s: passed(g, s.result), casts="promote")
log_sigmoid_: Operation = define(
    "log_sigmoid",
    quiet(lambda x, below: np.minimum(x, 0) - np.log1p(below)),
    self=lambda g, s: _log_sigmoid_back(g, s),
)
leaky_relu_: Operation = define(
    "leaky_relu",
    lambda x, slope: np.where(x > 0, x, x * slope).astype(x.dtype),
    self=lambda g, s: passed(g, s.self) * (1 - s.slope) + g * s.slope,
)
elu_: Operation = define("elu", quiet(_elu_array), self=_elu_back)
selu_: Operation = define("selu", quiet(_elu_array), self=_elu_back)
gelu_: Operation = define("gelu", quiet(_gelu_array), self=_gelu_back)
silu_: Operation = define("silu", quiet(lambda x: x * sigmoid_array(x)), self=_silu_back)
softplus_backward: Operation = define(
    "softplus_backward",
    lambda g, x, beta, threshold: g * _softplus_slope(x, beta, threshold),
    grad=lambda g, s: softplus_backward(g, s.self, beta=s.beta, threshold=s.threshold),
    self=_softplus_bend,
)
softplus_: Operation = define("softplus", quiet(softplus_array), self=_softplus_back)
hardtanh_: Operation = define(
    "hardtanh",
    lambda x, low, high: np.clip(x, low, high),
    self=lambda g, s: passed(g, s.self, s.low, s.high),
)
prelu_: Operation = define(
    "prelu",
    lambda x, w: np.where(x > 0, x, x * w).astype(x.dtype),
    self=lambda g, s: g * mask(g, s.self.array > 0) + g * mask(g, s.self.array <= 0) * s.weight,
    weight=lambda g, s: g * (mask(g, s.self.array <= 0) * s.self),
)
clamp_between: Operation = define("clamp", _clamp_array, self=_clamp_back)


def _log_sigmoid_back(g: Any, s: Any) -> Any:
    if grad_mode.is_grad_enabled():
        return keeping(g, s.self) * (1 - sigmoid(s.self))
    negative = s.self.array < 0  # torch keeps what the forward computed, whatever the input holds now
    return g * Tensor.of(negative - np.where(negative, 1, -1) * s.below / (1 + s.below))


def log_sigmoid(x: Tensor) -> Any:
    return log_sigmoid_(x, below=np.exp(-np.abs(x.array)))


threshold_backward: Operation = define(  # the second derivative at `self` is 0, but it is there
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


@method("clip")
def clamp(self: Tensor, min: Any = None, max: Any = None) -> Any:
    """The elements, at least `min` and at most `max`: numbers or tensors."""
    return _clamp(self, min, max, None)


@method("clip_")
def clamp_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    _clamp(self, min, max, self)
    return self


def _clamp(self: Tensor, low: Any, high: Any, into: Tensor | None) -> Any:
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        found = self if low is None else maximum(self, low if isinstance(low, Tensor) else Tensor.of(np.array(low)))
        found = found if high is None else minimum(found, high)
        return found if into is None else into.copy_(found)
    floats = self.dtype.is_floating_point or isinstance(low, float) or isinstance(high, float)
    start = self if self.dtype.is_floating_point or not floats else self.float()
    return clamp_between(start, into=into, low=low, high=high)


@method()
def clamp_min(self: Tensor, min: Any) -> Any:
    return clamp(self, min=min)


@method()
def clamp_max(self: Tensor, max: Any) -> Any:
    return clamp(self, max=max)


@method()
def clamp_min_(self: Tensor, min: Any) -> Tensor:
    _clamp(self, min, None, self)
    return self


for _name, _full in {"absolute": abs, "arctan": atan, "arcsin": asin, "arccos": acos}.items():
    setattr(Tensor, _name, _full)
Tensor.__abs__ = abs  # type: ignore[attr-defined]
