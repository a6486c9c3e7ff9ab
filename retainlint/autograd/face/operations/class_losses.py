"""The losses whose targets are classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from retainlint.autograd.face.operations.layers import log_softmax
from retainlint.autograd.face.operations.losses import old_reduction
from retainlint.autograd.face.operations.registry import Operation, define
from retainlint.autograd.face.tensor import Tensor

nll_: Operation = define(
    "nll_loss",
    lambda x, _, picked, weights, reduction, total: _nll(x, picked, weights, reduction, total),
    casts="same",
    self=lambda g, s: _nll_back(g, s),
)


def _nll(x: Any, picked: Any, weights: Any, reduction: str, total: float) -> Any:
    values = -x[picked] * weights
    if reduction == "none":
        return values
    with np.errstate(all="ignore"):
        return np.asarray(values.sum() / (total if reduction == "mean" else 1), dtype=x.dtype)


def _nll_back(g: Any, s: Any) -> Any:
    from retainlint.autograd.face.operations.selections import add_at, zeros_of

    scale = Tensor.of(np.asarray(-s.weights / (s.total if s.reduction == "mean" else 1), dtype=g.array.dtype))
    return add_at(zeros_of(s.shapes["self"], g), g * scale, index=s.picked)


def nll_loss(
    input: Tensor,  # noqa: A002
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
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
    reduction = old_reduction(size_average, reduce, reduction)
    return nll_(input, target, picked=tuple(places), weights=weights, reduction=reduction, total=weights.sum())


def cross_entropy(
    input: Tensor,  # noqa: A002
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Minus the log probabilities of the targets, from logits; targets are classes, or probabilities of all."""
    reduction = old_reduction(size_average, reduce, reduction)
    axis = 0 if input.array.ndim == 1 else 1
    if target.dtype.is_floating_point and target.array.shape == input.array.shape:
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing, axis)
    if target.dtype.is_floating_point:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.legacy}")
    logs = log_softmax(input, axis)
    hard = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
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


def _soft_cross_entropy(
    input: Tensor,  # noqa: A002
    target: Tensor,
    weight: Any,
    reduction: str,
    smoothing: float,
    axis: int,
) -> Any:
    logs = log_softmax(input, axis)
    if smoothing:
        target = target * (1 - smoothing) + smoothing / input.array.shape[axis]
    values = -(logs * target)
    if weight is not None:
        values = values * weight.reshape([-1 if i == axis else 1 for i in range(input.array.ndim)])
    if reduction == "none":
        return values.sum(axis)
    batch = input.array.size // input.array.shape[axis]
    return values.sum() / batch if reduction == "mean" else values.sum()
