"""The losses, each with its reduction, and the distances that some are made of."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from retainlint.numeric.operations.arithmetic import paired
from retainlint.numeric.operations.elementwise import keeping, log_sigmoid, mask, sigmoid
from retainlint.numeric.operations.indexing import where
from retainlint.numeric.operations.pieces import broadcast_tensors
from retainlint.numeric.operations.places import spread_at
from retainlint.numeric.operations.registry import Formula, Operation, define, promoted
from retainlint.numeric.tensor import Tensor


def reduction_of(values: Any, reduction: str) -> Any:
    """The mean, the sum, or the values themselves."""
    if reduction == "none":
        return values
    if reduction not in ("mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return values.mean() if reduction == "mean" else values.sum()


def reduce_array(values: Any, reduction: str) -> Any:
    """The same of an array, in silence."""
    with np.errstate(all="ignore"):
        return np.asarray(reduction_of(values, reduction))


def pairwise(name: str, loss: Any, self: Formula, target: Formula | None = None) -> Operation:
    """A loss of each pair of elements; `self` and `target` are the derivatives of one element's loss."""

    def forward(x: Any, y: Any, reduction: str, **params: Any) -> Any:
        return reduce_array(paired(loss)(x, y, **params), reduction).astype(x.dtype)

    def scaled(slope: Formula) -> Formula:
        def back(g: Any, s: Any) -> Any:
            found = slope(s.self, s.target, s) * g
            return found / s.self.array.size if s.reduction == "mean" else found

        return back

    vjps: dict[str, Any] = {"self": scaled(self)} | ({"target": scaled(target)} if target is not None else {})
    return promoted(name, forward, **vjps)


def _smooth(x: Any, y: Any, beta: float) -> Any:
    size = np.abs(x - y)
    return np.where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta) if beta else size


def _huber(x: Any, y: Any, delta: float) -> Any:
    size = np.abs(x - y)
    return np.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))


def _smooth_slope(x: Any, y: Any, s: Any) -> Any:
    away, beta = x - y, s.beta
    near = mask(away, np.abs(away.array) < beta)
    return near * away / beta + (1 - near) * away.sign() if beta else away.sign()


def _huber_slope(x: Any, y: Any, s: Any) -> Any:
    away = x - y
    near = mask(away, np.abs(away.array) <= s.delta)
    return near * away + (1 - near) * away.sign() * s.delta


def _bce(x: Any, y: Any) -> Any:
    if ((x < 0) | (x > 1)).any():
        raise RuntimeError("all elements of input should be between 0 and 1")
    return -(y * np.maximum(np.log(x), -100) + (1 - y) * np.maximum(np.log(1 - x), -100))


def _logits(x: Any, y: Any) -> Any:
    return np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))


def _kept(slope: Formula) -> Formula:
    """A slope whose graph holds both inputs."""
    return lambda x, y, s: keeping(keeping(slope(x, y, s), x), y)


mse_: Operation = pairwise(
    "mse_loss", lambda x, y: (x - y) ** 2, _kept(lambda x, y, s: (x - y) * 2), _kept(lambda x, y, s: (x - y) * -2)
)
smooth_: Operation = pairwise(
    "smooth_l1_loss", _smooth, _kept(_smooth_slope), _kept(lambda x, y, s: -_smooth_slope(x, y, s))
)
huber_: Operation = pairwise("huber_loss", _huber, _kept(_huber_slope), _kept(lambda x, y, s: -_huber_slope(x, y, s)))
bce_: Operation = pairwise(
    "bce_loss",
    _bce,
    lambda x, y, s: (x - y) / ((1 - x) * x).clamp(min=1e-12),
    lambda x, y, s: (1 - x).log().clamp(min=-100) - x.log().clamp(min=-100),
)
logits_: Operation = pairwise("bce_logits_loss", _logits, lambda x, y, s: sigmoid(x) - y, lambda x, y, s: -x)


def _warn_sizes(input: Tensor, target: Tensor) -> None:
    if input.array.shape != target.array.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
            "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )


def old_reduction(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction meant by the flags of long ago."""
    if size_average is None and reduce is None:
        return reduction
    return "none" if reduce is False else "sum" if size_average is False else "mean"


def _reducing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loss that takes those flags too, by name or where torch has them: before `reduction`, the first perhaps earlier."""
    plain = inspect.signature(function)
    places = list(plain.parameters.values())
    at = list(plain.parameters).index("reduction")
    for name, place in (("reduce", at), ("size_average", at - (places[at - 1].name in ("ignore_index", "eps")))):
        places.insert(place, inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None))
    whole = plain.replace(parameters=places)

    @wraps(function)
    def loss(*args: Any, **named: Any) -> Any:
        try:
            given = whole.bind(*args, **named).arguments
        except TypeError as error:
            raise TypeError(f"{function.__name__}() {error}") from None
        flags = given.pop("size_average", None), given.pop("reduce", None)
        return function(**{**given, "reduction": old_reduction(*flags, given.get("reduction", "mean"))})

    return loss


@_reducing
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Any = None) -> Any:
    _warn_sizes(input, target)
    wide = broadcast_tensors(input, target) if input.array.shape != target.array.shape else (input, target)
    return mse_(*wide, reduction=reduction)


@_reducing
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Any:
    _warn_sizes(input, target)
    return reduction_of((input - target).abs(), reduction)


@_reducing
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Any:
    """Squared near 0, absolute beyond `beta`."""
    _warn_sizes(input, target)
    return smooth_(*broadcast_tensors(input, target), reduction=reduction, beta=beta)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Squared near 0, absolute beyond `delta`."""
    _warn_sizes(input, target)
    return huber_(*broadcast_tensors(input, target), reduction=reduction, delta=delta)


@_reducing
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Any = None, reduction: str = "mean") -> Any:
    """Minus the log likelihood of probabilities."""
    if input.array.shape != target.array.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if input.dtype is not target.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.legacy} but expected {input.dtype.legacy}")
    if weight is not None:
        return reduction_of(bce_(input, target, reduction="none") * weight, reduction)
    return bce_(input, target, reduction=reduction)


@_reducing
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """Minus the log likelihood of logits."""
    if input.array.shape != target.array.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if weight is None and pos_weight is None:
        return logits_(input, target, reduction=reduction)
    positive = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    values = (1 - target) * input - positive * log_sigmoid(input)
    return reduction_of(values if weight is None else values * weight, reduction)


@_reducing
def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Any:
    """The Kullback-Leibler divergence; `input` holds log probabilities."""
    if log_target:
        values = target.exp() * (target - input)
    else:
        values = (target * target.log()).masked_fill(target == 0, 0.0) - target * input
    if reduction == "batchmean":
        return values.sum() / input.array.shape[0]
    return reduction_of(values, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Minus the log likelihood of a normal distribution."""
    safe = var.clone()
    safe.data = var.data.clamp(min=eps)
    found = (safe.log() + (input - target) ** 2 / safe) * 0.5
    return reduction_of(found + 0.5 * float(np.log(2 * np.pi)) if full else found, reduction)


@_reducing
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    """Minus the log likelihood of counts."""
    found = input.exp() - target * input if log_input else input - target * (input + eps).log()
    return reduction_of(found, reduction)


nll_: Operation = define(
    "nll_loss",
    lambda x, _, picked, weights, reduction, total: _nll(x, picked, weights, reduction, total),
    self=lambda g, s: _nll_back(g, s),
)


def _nll(x: Any, picked: Any, weights: Any, reduction: str, total: float) -> Any:
    values = -x[picked] * weights
    if reduction == "none":
        return values
    with np.errstate(all="ignore"):
        return np.asarray(values.sum() / (total if reduction == "mean" else 1), dtype=x.dtype)


def _nll_back(g: Any, s: Any) -> Any:
    scale = Tensor.of(np.asarray(-s.weights / (s.total if s.reduction == "mean" else 1), dtype=g.array.dtype))
    return spread_at(g * scale, s.shapes["self"], s.picked)


@_reducing
def nll_loss(
    input: Tensor, target: Tensor, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    """Minus the log probabilities of the targets; classes lie along dimension 1 (0 of a vector)."""
    labels, x = target.array, input.array
    axis = 0 if x.ndim == 1 else 1
    batch = x.shape[:axis] + x.shape[axis + 1 :]
    if labels.shape != batch:
        if labels.shape[:1] != batch[:1]:
            raise ValueError(
                f"Expected input batch_size ({batch[0] if batch else 1}) to match target batch_size "
                f"({labels.shape[0] if labels.ndim else 1})."
            )
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if labels.dtype.kind == "f":
        raise RuntimeError(
            f'"nll_loss_forward_reduce_cuda_kernel_2d_index" not implemented for {target.dtype.legacy!r}'
        )
    used = labels != ignore_index
    beyond = labels[used & ((labels < 0) | (labels >= x.shape[axis]))]
    if beyond.size:
        raise IndexError(f"Target {beyond.flat[0]} is out of bounds.")
    safe = np.where(used, labels, 0)
    places: list[Any] = list(np.indices(labels.shape, sparse=True))
    places.insert(axis, safe)
    weights = used.astype(x.dtype) if weight is None else weight.array[safe] * used
    return nll_(input, target, picked=tuple(places), weights=weights, reduction=reduction, total=weights.sum())


@_reducing
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Minus the log probabilities of the targets, from logits; targets are classes, or probabilities of all."""
    axis = 0 if input.array.ndim == 1 else 1
    if target.dtype.is_floating_point and target.array.shape == input.array.shape:
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing, axis)
    if target.dtype.is_floating_point:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.legacy}")
    logs = input.log_softmax(axis)
    hard = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return hard
    used = Tensor.of((target.array != ignore_index).astype(input.array.dtype))
    classes = input.array.shape[axis]
    scaled = (
        logs if weight is None else logs * weight.reshape([-1 if i == axis else 1 for i in range(input.array.ndim)])
    )
    smooth = -scaled.sum(axis) * used
    if reduction == "mean":
        total = used.sum() if weight is None else (weight[target.clamp(min=0)] * used).sum()
        smooth = smooth.sum() / total
    elif reduction == "sum":
        smooth = smooth.sum()
    return hard * (1 - label_smoothing) + smooth * (label_smoothing / classes)


def _soft_cross_entropy(input: Tensor, target: Tensor, weight: Any, reduction: str, smoothing: float, axis: int) -> Any:
    logs = input.log_softmax(axis)
    if smoothing:
        target = target * (1 - smoothing) + smoothing / input.array.shape[axis]
    values = -(logs * target)
    if weight is not None:
        values = values * weight.reshape([-1 if i == axis else 1 for i in range(input.array.ndim)])
    if reduction == "none":
        return values.sum(axis)
    batch = input.array.size // input.array.shape[axis]
    return values.sum() / batch if reduction == "mean" else values.sum()


@_reducing
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """How far the order of each pair is from the wanted one."""
    return reduction_of((-target * (input1 - input2) + margin).clamp(min=0), reduction)


@_reducing
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Any:
    """The input where the target is 1, how far it is below the margin where it is -1."""
    return reduction_of(where(target == 1, input, (margin - input).clamp(min=0)), reduction)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Any:
    product = (x1 * x2).sum(dim)
    return product / (x1.norm(2, dim).clamp(min=eps) * x2.norm(2, dim).clamp(min=eps))


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    return (x1 - x2 + eps).norm(p, -1, keepdim)


@_reducing
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """1 - cosine where the target is 1, the cosine above the margin where it is -1."""
    cosine = cosine_similarity(input1, input2)
    return reduction_of(where(target == 1, 1 - cosine, (cosine - margin).clamp(min=0)), reduction)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, reduction: str = "mean"
) -> Any:
    """How much nearer the positive should be than the negative."""
    near, far = pairwise_distance(anchor, positive, p), pairwise_distance(anchor, negative, p)
    return reduction_of((near - far + margin).clamp(min=0), reduction)
