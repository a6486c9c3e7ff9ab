"""torch.nn.functional: what layers compute, as functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.numeric.grad_mode import no_grad
from retainlint.numeric.operations.elementwise import (
    erf_array,
    log_sigmoid,
    mask,
    passed,
    quiet,
    sigmoid,
    sigmoid_array,
    tanh,
)
from retainlint.numeric.operations.layers import dropout_, embedding_, layer_norm
from retainlint.numeric.operations.registry import Operation, promoted
from retainlint.numeric.random import DEFAULT, exponential
from retainlint.numeric.tensor import Tensor


def _elu(x: Any, alpha: float, scale: float) -> Any:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)) * alpha) * scale


def _elu_back(g: Any, x: Tensor, alpha: float, scale: float) -> Any:
    return g * (mask(x, x.array > 0) + mask(x, x.array <= 0) * (x.clamp(max=0).exp() * alpha)) * scale


def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return x * 0.5 * (1 + erf_array(x / math.sqrt(2)))


def _gelu_back(g: Any, s: Any) -> Any:
    x = s.self
    if s.approximate == "tanh":
        t = tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi))
        return g * ((t + 1) * 0.5 + x * 0.5 * (1 - t * t) * (x * x * (3 * 0.044715) + 1) * math.sqrt(2 / math.pi))
    return g * (((x / math.sqrt(2)).erf() + 1) * 0.5 + x * ((x * x * -0.5).exp() * (1 / math.sqrt(2 * math.pi))))


def _silu_back(g: Any, s: Any) -> Any:
    p = sigmoid(s.self)
    return g * (p * (s.self * (1 - p) + 1))


def _softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    """log(1 + exp(beta x)) / beta; x itself beyond the threshold."""
    scaled = x * beta
    return np.where(scaled > threshold, x, np.log1p(np.exp(np.minimum(scaled, threshold))) / beta)


def _softplus_slope(g: Any, x: Any, beta: float, threshold: float) -> Any:
    return g * np.where(x * beta > threshold, 1, sigmoid_array(x * beta)).astype(x.dtype)


def _softplus_bend(g: Any, s: Any) -> Any:
    p = sigmoid(s.self * s.beta)
    return g * s.grad * (p * (1 - p)) * mask(s.self, s.self.array * s.beta <= s.threshold) * s.beta


_SELU = {"alpha": 1.6732632423543772848170429916717, "scale": 1.0507009873554804934193349852946}
hardtanh = promoted(
    "hardtanh",
    lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val),
    extra="inplace",
    self=lambda g, s: passed(g, s.self, s.min_val, s.max_val),
)
leaky_relu = promoted(
    "leaky_relu",
    lambda x, negative_slope=0.01: np.where(x > 0, x, x * negative_slope).astype(x.dtype),
    extra="inplace",
    self=lambda g, s: passed(g, s.self) * (1 - s.negative_slope) + g * s.negative_slope,
)
elu = promoted(
    "elu",
    quiet(lambda x, alpha=1.0: _elu(x, float(alpha), 1.0)),
    extra="inplace",
    self=lambda g, s: _elu_back(g, s.self, float(s.alpha), 1.0),
)
selu = promoted(
    "selu", quiet(lambda x: _elu(x, **_SELU)), extra="inplace", self=lambda g, s: _elu_back(g, s.self, **_SELU)
)
gelu = promoted("gelu", quiet(_gelu), self=_gelu_back)
silu = promoted("silu", quiet(lambda x: x * sigmoid_array(x)), extra="inplace", self=_silu_back)
softplus = promoted(
    "softplus", quiet(_softplus), self=lambda g, s: softplus_slope_(g, s.self, beta=s.beta, threshold=s.threshold)
)
softplus_slope_: Operation = promoted(
    "softplus_backward",
    _softplus_slope,
    grad=lambda g, s: softplus_slope_(g, s.self, beta=s.beta, threshold=s.threshold),
    self=_softplus_bend,
)
prelu_ = promoted(
    "prelu",
    lambda x, w: np.where(x > 0, x, x * w).astype(x.dtype),
    self=lambda g, s: g * mask(g, s.self.array > 0) + g * mask(g, s.self.array <= 0) * s.weight,
    weight=lambda g, s: g * (mask(g, s.self.array <= 0) * s.self),
)


def relu(input: Tensor, inplace: bool = False) -> Any:
    return input.relu_() if inplace else input.relu()


def relu6(input: Tensor, inplace: bool = False) -> Any:
    return hardtanh(input, 0.0, 6.0, inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Any:
    return elu(input / alpha) * alpha


def mish(input: Tensor, inplace: bool = False) -> Any:
    return input * softplus(input).tanh()


def softsign(input: Tensor) -> Any:
    return input / (input.abs() + 1)


def logsigmoid(input: Tensor) -> Any:
    return log_sigmoid(input)


def tanhshrink(input: Tensor) -> Any:
    return input - tanh(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Any:
    return relu6(input + 3) / 6


def hardswish(input: Tensor, inplace: bool = False) -> Any:
    return input * relu6(input + 3) / 6


def prelu(input: Tensor, weight: Tensor) -> Any:
    if weight.array.size > 1:
        weight = weight.reshape([-1 if i == 1 else 1 for i in range(input.array.ndim)])
    return prelu_(input, weight)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return input.softmax(_old_dim(dim, input), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return (-input).softmax(_old_dim(dim, input), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return input.log_softmax(_old_dim(dim, input), dtype)


def _old_dim(dim: int | None, input: Tensor) -> int:
    """The dimension torch chooses where none is given."""
    return dim if dim is not None else 0 if input.array.ndim in (0, 1, 3) else 1


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, dim: int = -1) -> Any:
    """A differentiable draw from classes."""
    drawn = exponential(logits.array.size, logits.array.dtype, DEFAULT).reshape(logits.array.shape)
    noise = Tensor.of(-np.log(drawn))
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.array.argmax(dim)
    one = np.moveaxis(np.eye(logits.array.shape[dim], dtype=logits.array.dtype)[index], -1, dim)
    return Tensor.of(one) - soft.detach() + soft


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Elements dropped at random, the others scaled up."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    kept = _in_memory_order(input.array, DEFAULT.uniform(input.array.size, np.float64)) < 1 - p
    noise = (kept / (1 - p if p < 1 else 1)).astype(input.array.dtype)
    return dropout_(input, noise, inplace)


def _in_memory_order(like: Any, drawn: Any) -> Any:
    """Draws in the shape of an array, given out as its elements lie in memory."""
    order = sorted(range(like.ndim), key=lambda i: -like.strides[i])
    back = [order.index(i) for i in range(like.ndim)]
    return drawn.reshape([like.shape[i] for i in order]).transpose(back)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Whole channels dropped at random."""
    if not training or p == 0:
        return input
    shape = (*input.array.shape[:2], *(1,) * (input.array.ndim - 2))
    kept = DEFAULT.uniform(int(np.prod(shape)), np.float64).reshape(shape) < 1 - p
    return dropout_(input, noise=(kept / (1 - p)).astype(input.array.dtype))


dropout2d = dropout1d


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    beyond = (input.array < 0) | (input.array >= weight.array.shape[0])
    if beyond.any():
        raise IndexError("index out of range in self")
    if max_norm is not None:
        _shorten(weight, np.unique(input.array), max_norm, norm_type)
    return embedding_(input, weight, at=input.array, skip=padding_idx)


def _shorten(weight: Tensor, rows: Any, most: float, norm_type: float) -> None:
    """Scale the rows that are longer to that norm, in place, as torch's `embedding_renorm_` does."""
    norms = np.linalg.norm(weight.array[rows], ord=norm_type, axis=1)
    scaled, longer = weight.array.copy(), norms > most
    scaled[rows[longer]] *= (most / (norms[longer] + 1e-7))[:, None]
    with no_grad():
        weight.copy_(Tensor.of(scaled))


def one_hot(tensor: Tensor, num_classes: int = -1) -> Any:
    count = int(tensor.array.max()) + 1 if num_classes == -1 else num_classes
    return Tensor.of(np.eye(count, dtype=np.int64)[tensor.array])


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


def group_norm(input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Standardized in groups of channels."""
    shape = input.array.shape
    grouped = input.reshape(shape[0], num_groups, -1)
    found = layer_norm(grouped, (grouped.array.shape[-1],), None, None, eps).reshape(shape)
    wide = [-1 if i == 1 else 1 for i in range(len(shape))]
    found = found if weight is None else found * weight.reshape(wide)
    return found if bias is None else found + bias.reshape(wide)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """softmax(query @ key.T / sqrt(d)) @ value."""
    by = 1 / float(np.sqrt(query.array.shape[-1])) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * by
    if is_causal:
        attn_mask = Tensor.of(np.tril(np.ones(scores.array.shape[-2:], dtype=bool)))
    if attn_mask is not None:
        if attn_mask.array.dtype.kind == "b":
            scores = scores.masked_fill(Tensor.of(~attn_mask.array), -float("inf"))
        else:
            scores = scores + attn_mask
    return dropout(scores.softmax(-1), dropout_p) @ value
