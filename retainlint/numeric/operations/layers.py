"""What layers compute: softmax, dropout, normalization, embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from retainlint.numeric import grad_mode
from retainlint.numeric.operations.elementwise import keeping, quiet
from retainlint.numeric.operations.places import spread_at
from retainlint.numeric.operations.registry import define
from retainlint.numeric.tensor import Tensor


def _softmax(x: Any, dim: int) -> Any:
    if not x.ndim:
        return np.ones_like(x)
    powers = np.exp(x - x.max(axis=dim, keepdims=True))
    return powers / powers.sum(dim, keepdims=True)


def _log_softmax(x: Any, dim: int) -> Any:
    if not x.ndim:
        return np.zeros_like(x)
    below = x - x.max(axis=dim, keepdims=True)
    return below - np.log(np.exp(below).sum(dim, keepdims=True))


def _softmax_back(g: Any, s: Any) -> Any:
    scaled = g * s.result
    return scaled - s.result * scaled.sum(s.dim, keepdim=True)


softmax = define("softmax", quiet(_softmax), casts="float", extra="dtype", methods="softmax", self=_softmax_back)
log_softmax = define(
    "log_softmax",
    quiet(_log_softmax),
    casts="float",
    extra="dtype",
    methods="log_softmax",
    self=lambda g, s: g - s.result.exp() * g.sum(s.dim, keepdim=True),
)
dropout_ = define("dropout", lambda x, noise: x * noise, extra="inplace", self=lambda g, s: g * Tensor.of(s.noise))
embedding_ = define("embedding", lambda _, weight, at, skip: weight[at], weight=lambda g, s: _embedding_back(g, s))


def _embedding_back(g: Any, s: Any) -> Any:
    places = s.at
    if s.skip is not None:
        g = g * Tensor.of((places != s.skip).astype(g.array.dtype)[..., None])
    return spread_at(g, s.shapes["weight"], (places,))


def _axes(x: Any, count: int) -> tuple[int, ...]:
    return tuple(range(x.ndim - count, x.ndim))


def _standard(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    centred = x - x.mean(axis=axes, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=axes, keepdims=True) + eps)


def _layer_norm(x: Any, weight: Any, bias: Any, count: int, eps: float, stats: Any) -> Any:
    found = _standard(x, _axes(x, count), eps)
    found = found if weight is None else found * weight
    return found if bias is None else found + bias


def _moments(x: Any, dims: list[int], s: Any) -> tuple[Any, Any]:
    """x less its mean, and by what it is scaled: from the statistics of the forward, unless x is differentiated too."""
    if not grad_mode.is_grad_enabled() and s.stats:
        mean, scale = s.stats
        return x - Tensor.of(mean), Tensor.of(scale)
    centred = x - x.mean(dims, keepdim=True)
    return centred, ((centred * centred).mean(dims, keepdim=True) + s.eps).rsqrt()


def _standard_back(g: Any, x: Any, dims: list[int], s: Any) -> Any:
    """The gradient of x standardized over `dims`, in operations, so that it can be differentiated again."""
    centred, scale = _moments(x, dims, s)
    unit = centred * scale
    return scale * (g - g.mean(dims, keepdim=True) - unit * (g * unit).mean(dims, keepdim=True))


def _layer_norm_back(g: Any, s: Any) -> Any:
    dims = list(range(len(s.shapes["input"]) - s.count, len(s.shapes["input"])))
    g = keeping(g, s.input)
    return _standard_back(g if "weight" not in s.held else g * s.weight, s.input, dims, s)


def _unit(x: Any, dims: list[int], s: Any) -> Any:
    centred, scale = _moments(x, dims, s)
    return centred * scale


def _statistics(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    mean = x.mean(axis=axes, keepdims=True)
    return mean, 1 / np.sqrt(np.square(x - mean).mean(axis=axes, keepdims=True) + eps)


layer_norm_ = define(
    "layer_norm",
    _layer_norm,
    input=_layer_norm_back,
    weight=lambda g, s: (
        g * _unit(s.input, list(range(len(s.shapes["input"]) - s.count, len(s.shapes["input"]))), s)
    ).sum(list(range(len(s.shapes["input"]) - s.count))),
    bias=lambda g, s: g.sum(list(range(len(s.shapes["input"]) - s.count))),
)


def _by_channel(vector: Any, ndim: int) -> Any:
    return vector.reshape([-1 if i == 1 else 1 for i in range(ndim)])


def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float) -> Any:
    found = (x - _by_channel(mean, x.ndim)) / np.sqrt(_by_channel(var, x.ndim) + eps)
    found = found if weight is None else found * _by_channel(weight, x.ndim)
    return (found if bias is None else found + _by_channel(bias, x.ndim)).astype(x.dtype)


def _others(shape: tuple[int, ...]) -> list[int]:
    return [i for i in range(len(shape)) if i != 1]


def _batch_norm_back(g: Any, s: Any) -> Any:
    g = g if "weight" not in s.held else g * _by_channel(s.weight, len(s.shapes["input"]))
    if s.training:
        return _standard_back(g, s.input, _others(s.shapes["input"]), s)
    return g * Tensor.of(1 / np.sqrt(_by_channel(s.var, len(s.shapes["input"])) + s.eps))


def _batch_norm_weight(g: Any, s: Any) -> Any:
    dims = _others(s.shapes["input"])
    if s.training:
        return (g * _unit(s.input, dims, s)).sum(dims)
    mean, var = (_by_channel(v, len(s.shapes["input"])) for v in (s.mean, s.var))
    return (g * ((s.input - Tensor.of(mean)) * Tensor.of(1 / np.sqrt(var + s.eps)))).sum(dims)


batch_norm_ = define(
    "batch_norm",
    lambda x, _, __, weight, bias, mean, var, training, eps, stats: _batch_norm(x, weight, bias, mean, var, eps),
    input=_batch_norm_back,
    weight=_batch_norm_weight,
    bias=lambda g, s: g.sum(_others(s.shapes["input"])),
)


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Any:
    """Standardized over the last dimensions, then scaled and shifted."""
    shape = tuple(normalized_shape)
    if input.array.shape[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], but got "
            f"input of size{list(input.array.shape)}"
        )
    stats = _statistics(input.array, _axes(input.array, len(shape)), eps)
    return layer_norm_(input, weight, bias, count=len(shape), eps=eps, stats=stats)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Standardized over all but the channels, by the batch's own statistics or by the running ones."""
    x = input.array
    if training or running_mean is None or running_var is None:
        count = x.size // x.shape[1]
        if count <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
        axes = tuple(_others(x.shape))
        mean, var = x.mean(axis=axes), x.var(axis=axes)
        if running_mean is not None and running_var is not None:
            for running, found in ((running_mean, mean), (running_var, var * (count / (count - 1)))):
                running.array[...] = running.array * (1 - momentum) + found * momentum  # torch counts no version here
        operands = (input, running_mean, running_var, weight, bias)
        return batch_norm_(*operands, mean=mean, var=var, training=True, eps=eps, stats=_statistics(x, axes, eps))
    mean, var = running_mean.array.copy(), running_var.array.copy()
    operands = (input, running_mean, running_var, weight, bias)
    return batch_norm_(*operands, mean=mean, var=var, training=False, eps=eps, stats=None)
