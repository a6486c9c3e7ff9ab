"""torch.nn.functional: what layers compute, as functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from retainlint.numeric.lacking import LackingUse
from retainlint.numeric.operations import elementwise as _f
from retainlint.numeric.operations.layers import dropout_, embedding_, layer_norm
from retainlint.numeric.random import DEFAULT, exponential
from retainlint.numeric.tensor import Tensor


def relu(input: Tensor, inplace: bool = False) -> Any:
    return input.relu_() if inplace else _f.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Any:
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    return _f.hardtanh_(input, into=input if inplace else None, low=min_val, high=max_val)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    return _f.leaky_relu_(input, into=input if inplace else None, slope=negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Any:
    return _f.elu_(input, into=input if inplace else None, alpha=float(alpha), scale=1.0)


def selu(input: Tensor, inplace: bool = False) -> Any:
    return _f.selu_(input, into=input if inplace else None, alpha=_f.SELU_ALPHA, scale=_f.SELU_SCALE)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Any:
    return _f.elu_(input / alpha, alpha=1.0, scale=1.0) * alpha


def gelu(input: Tensor, approximate: str = "none") -> Any:
    return _f.gelu_(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Any:
    return _f.silu_(input, into=input if inplace else None)


def mish(input: Tensor, inplace: bool = False) -> Any:
    return input * _f.tanh(softplus(input))


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Any:
    return _f.softplus_(input, beta=beta, threshold=threshold)


def softsign(input: Tensor) -> Any:
    return input / (input.abs() + 1)


def logsigmoid(input: Tensor) -> Any:
    return _f.log_sigmoid(input)


def tanhshrink(input: Tensor) -> Any:
    return input - input.tanh()


def hardsigmoid(input: Tensor, inplace: bool = False) -> Any:
    return relu6(input + 3) / 6


def hardswish(input: Tensor, inplace: bool = False) -> Any:
    return input * relu6(input + 3) / 6


def prelu(input: Tensor, weight: Tensor) -> Any:
    if weight.array.size > 1:
        weight = weight.reshape([-1 if i == 1 else 1 for i in range(input.array.ndim)])
    return _f.prelu_(input, weight)


def sigmoid(input: Tensor) -> Any:
    return _f.sigmoid(input)


def tanh(input: Tensor) -> Any:
    return _f.tanh(input)


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
    noise = Tensor.of(-np.log(_exponential(logits)))
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.array.argmax(dim)
    one = np.moveaxis(np.eye(logits.array.shape[dim], dtype=logits.array.dtype)[index], -1, dim)
    return Tensor.of(one) - soft.detach() + soft


def _exponential(like: Tensor) -> Any:
    return exponential(like.array.size, like.array.dtype, DEFAULT).reshape(like.array.shape)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Elements dropped at random, the others scaled up."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    kept = _in_memory_order(input.array, DEFAULT.uniform(input.array.size, np.float64)) < 1 - p
    noise = (kept / (1 - p if p < 1 else 1)).astype(input.array.dtype)
    found = dropout_(input, into=input if inplace else None, noise=noise)
    return input if inplace else found


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
    if max_norm is not None:
        raise LackingUse("torch.nn.functional.embedding(max_norm=...)")
    beyond = (input.array < 0) | (input.array >= weight.array.shape[0])
    if beyond.any():
        raise IndexError("index out of range in self")
    return embedding_(weight, input, at=input.array, skip=padding_idx)


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
