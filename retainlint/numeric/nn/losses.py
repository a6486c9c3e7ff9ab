"""The losses as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retainlint.numeric.nn import functional as F
from retainlint.numeric.nn.module import Module
from retainlint.numeric.operations.losses import old_reduction
from retainlint.numeric.tensor import Tensor


class _Loss(Module):
    """A loss with its reduction; subclasses name the function, and the options that they pass on."""

    function: Callable[..., Any]
    options: tuple[tuple[str, Any], ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        names = [name for name, _ in self.options]
        given = {**dict(self.options), **dict(zip([*names, "size_average", "reduce", "reduction"], args)), **kwargs}
        self.reduction = old_reduction(
            given.pop("size_average", None), given.pop("reduce", None), given.pop("reduction", "mean")
        )
        for name, value in given.items():
            if name not in names:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument {name!r}")
            if isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *inputs: Tensor, **named: Tensor) -> Any:
        options = {name: getattr(self, name) for name, _ in self.options}
        return type(self).function(*inputs, **named, reduction=self.reduction, **options)


def _loss(name: str, function: Callable[..., Any], **options: Any) -> type[_Loss]:
    body = {"function": staticmethod(function), "options": tuple(options.items()), "__doc__": function.__doc__}
    return type(name, (_Loss,), body)


MSELoss = _loss("MSELoss", F.mse_loss)
L1Loss = _loss("L1Loss", F.l1_loss)
SmoothL1Loss = _loss("SmoothL1Loss", F.smooth_l1_loss, beta=1.0)
HuberLoss = _loss("HuberLoss", F.huber_loss, delta=1.0)
NLLLoss = _loss("NLLLoss", F.nll_loss, weight=None, ignore_index=-100)
CrossEntropyLoss = _loss("CrossEntropyLoss", F.cross_entropy, weight=None, ignore_index=-100, label_smoothing=0.0)
BCELoss = _loss("BCELoss", F.binary_cross_entropy, weight=None)
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, weight=None, pos_weight=None)
KLDivLoss = _loss("KLDivLoss", F.kl_div, log_target=False)
MarginRankingLoss = _loss("MarginRankingLoss", F.margin_ranking_loss, margin=0.0)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", F.hinge_embedding_loss, margin=1.0)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", F.cosine_embedding_loss, margin=0.0)
TripletMarginLoss = _loss("TripletMarginLoss", F.triplet_margin_loss, margin=1.0, p=2.0)
GaussianNLLLoss = _loss("GaussianNLLLoss", F.gaussian_nll_loss, full=False, eps=1e-6)
PoissonNLLLoss = _loss("PoissonNLLLoss", F.poisson_nll_loss, log_input=True, full=False, eps=1e-8)
