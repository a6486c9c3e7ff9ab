"""Distances between vectors, and the losses made of them."""

from __future__ import annotations

from typing import Any

from retainlint.autograd.face.operations.losses import reduction_of
from retainlint.autograd.face.tensor import Tensor


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """How far the order of each pair is from the wanted one."""
    return reduction_of((-target * (input1 - input2) + margin).clamp(min=0), reduction)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Any:  # noqa: A002
    """The input where the target is 1, how far it is below the margin where it is -1."""
    from retainlint.autograd.face.operations.selections import where

    return reduction_of(where(target == 1, input, (margin - input).clamp(min=0)), reduction)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors."""
    product = (x1 * x2).sum(dim)
    return product / (x1.norm(2, dim).clamp(min=eps) * x2.norm(2, dim).clamp(min=eps))


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The norm of each row's difference."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """1 - cosine where the target is 1, the cosine above the margin where it is -1."""
    from retainlint.autograd.face.operations.selections import where

    cosine = cosine_similarity(input1, input2)
    return reduction_of(where(target == 1, 1 - cosine, (cosine - margin).clamp(min=0)), reduction)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, reduction: str = "mean"
) -> Any:
    """How much nearer the positive should be than the negative."""
    near, far = pairwise_distance(anchor, positive, p), pairwise_distance(anchor, negative, p)
    return reduction_of((near - far + margin).clamp(min=0), reduction)
