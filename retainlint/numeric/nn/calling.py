"""Modules that only call a function with the options they were made with: activations, losses, shapes, padding, pooling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from retainlint.numeric.arguments import REQUIRED, bound, row
from retainlint.numeric.nn import functional as F
from retainlint.numeric.nn.module import Module
from retainlint.numeric.operations import losses, pooling
from retainlint.numeric.operations.elementwise import sigmoid, tanh
from retainlint.numeric.operations.shapes import flatten
from retainlint.numeric.tensor import Tensor

Options = dict[str, Any]


class _Calling(Module):
    """A function and its options; `shown` are those that the repr has even at their defaults."""

    function: Callable[..., Any]
    options: Mapping[str, Any] = row()
    shown: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        for name, value in self.completed(bound(type(self).__name__, self.options, args, kwargs)).items():
            if isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def completed(self, given: Options) -> Options:
        """What becomes of the options that were given."""
        return given

    def forward(self, *inputs: Any, **named: Any) -> Any:
        options = {name: getattr(self, name) for name in self.options}
        return type(self).function(*inputs, **named, **options)

    def extra_repr(self) -> str:
        parts = [f"{name}={getattr(self, name)!r}" for name in self.shown]
        return ", ".join(parts + (["inplace=True"] if getattr(self, "inplace", False) else []))


def _calling(
    name: str, function: Callable[..., Any], shown: str = "", base: type[_Calling] = _Calling, **options: Any
) -> type[_Calling]:
    body = {"function": staticmethod(function), "options": options, "shown": tuple(shown.split())}
    return type(name, (base,), {**body, "__doc__": function.__doc__})


def _unflattened(input: Tensor, dim: int, unflattened_size: Any) -> Any:
    """One dimension made several."""
    return input.unflatten(dim, unflattened_size)


ReLU = _calling("ReLU", F.relu, inplace=False)
ReLU6 = _calling("ReLU6", F.relu6, inplace=False)
LeakyReLU = _calling("LeakyReLU", F.leaky_relu, "negative_slope", negative_slope=0.01, inplace=False)
ELU = _calling("ELU", F.elu, "alpha", alpha=1.0, inplace=False)
CELU = _calling("CELU", F.celu, "alpha", alpha=1.0, inplace=False)
SELU = _calling("SELU", F.selu, inplace=False)
GELU = _calling("GELU", F.gelu, "approximate", approximate="none")
SiLU = _calling("SiLU", F.silu, inplace=False)
Mish = _calling("Mish", F.mish, inplace=False)
Sigmoid = _calling("Sigmoid", sigmoid)
Tanh = _calling("Tanh", tanh)
Softplus = _calling("Softplus", F.softplus, "beta threshold", beta=1.0, threshold=20.0)
Softsign = _calling("Softsign", F.softsign)
LogSigmoid = _calling("LogSigmoid", F.logsigmoid)
Tanhshrink = _calling("Tanhshrink", F.tanhshrink)
Hardtanh = _calling("Hardtanh", F.hardtanh, "min_val max_val", min_val=-1.0, max_val=1.0, inplace=False)
Hardsigmoid = _calling("Hardsigmoid", F.hardsigmoid)
Hardswish = _calling("Hardswish", F.hardswish)
Softmax = _calling("Softmax", F.softmax, "dim", dim=None)
LogSoftmax = _calling("LogSoftmax", F.log_softmax, "dim", dim=None)
Softmin = _calling("Softmin", F.softmin, "dim", dim=None)
Flatten = _calling("Flatten", flatten, "start_dim end_dim", start_dim=1, end_dim=-1)
Unflatten = _calling("Unflatten", _unflattened, "dim unflattened_size", dim=REQUIRED, unflattened_size=REQUIRED)
CosineSimilarity = _calling("CosineSimilarity", losses.cosine_similarity, dim=1, eps=1e-8)


class Identity(Module):
    """What goes in comes out."""

    def forward(self, input: Tensor) -> Any:
        return input


class _Loss(_Calling):
    """A loss with its reduction, which may be given by the flags of long ago."""

    reduction: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        old = {"size_average": None, "reduce": None, "reduction": "mean"}
        given = bound(type(self).__name__, {**self.options, **old}, args, kwargs)
        flags = [given.pop(name) for name in old]
        super().__init__(**given)
        self.reduction = losses.old_reduction(*flags)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return super().forward(*inputs, **named, reduction=self.reduction)


def _loss(name: str, function: Callable[..., Any], **options: Any) -> type[_Calling]:
    return _calling(name, function, base=_Loss, **options)


MSELoss = _loss("MSELoss", losses.mse_loss)
L1Loss = _loss("L1Loss", losses.l1_loss)
SmoothL1Loss = _loss("SmoothL1Loss", losses.smooth_l1_loss, beta=1.0)
HuberLoss = _loss("HuberLoss", losses.huber_loss, delta=1.0)
NLLLoss = _loss("NLLLoss", losses.nll_loss, weight=None, ignore_index=-100)
CrossEntropyLoss = _loss("CrossEntropyLoss", losses.cross_entropy, weight=None, ignore_index=-100, label_smoothing=0.0)
BCELoss = _loss("BCELoss", losses.binary_cross_entropy, weight=None)
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", losses.binary_cross_entropy_with_logits, weight=None, pos_weight=None)
KLDivLoss = _loss("KLDivLoss", losses.kl_div, log_target=False)
MarginRankingLoss = _loss("MarginRankingLoss", losses.margin_ranking_loss, margin=0.0)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", losses.hinge_embedding_loss, margin=1.0)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", losses.cosine_embedding_loss, margin=0.0)
TripletMarginLoss = _loss("TripletMarginLoss", losses.triplet_margin_loss, margin=1.0, p=2.0)
GaussianNLLLoss = _loss("GaussianNLLLoss", losses.gaussian_nll_loss, full=False, eps=1e-6)
PoissonNLLLoss = _loss("PoissonNLLLoss", losses.poisson_nll_loss, log_input=True, full=False, eps=1e-8)


class _Pad(Module):
    """Elements around the last `sides` dimensions; one number stands for all widths."""

    sides, mode = 1, "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = padding if isinstance(padding, tuple) else (padding,) * (2 * self.sides)

    def forward(self, input: Tensor) -> Any:
        return pooling.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    """One value all around."""

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Any:
        return pooling.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


def _sized(base: type[_Pad], sides: int, mode: str, name: str) -> type[_Pad]:
    return type(f"{name}{sides}d", (base,), {"sides": sides, "mode": mode, "__doc__": f"{base.__doc__} ({mode})"})


ConstantPad1d, ConstantPad2d, ConstantPad3d = (_sized(_ConstantPad, n, "constant", "ConstantPad") for n in (1, 2, 3))
ZeroPad1d, ZeroPad2d, ZeroPad3d = (_sized(_Pad, n, "constant", "ZeroPad") for n in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (_sized(_Pad, n, "reflect", "ReflectionPad") for n in (1, 2, 3))
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (
    _sized(_Pad, n, "replicate", "ReplicationPad") for n in (1, 2, 3)
)
CircularPad1d, CircularPad2d, CircularPad3d = (_sized(_Pad, n, "circular", "CircularPad") for n in (1, 2, 3))


class _AvgPool(_Calling):
    """Means of windows, one as far from the next as it is long unless told otherwise."""

    def completed(self, given: Options) -> Options:
        return {**given, "stride": given["kernel_size"] if given["stride"] is None else given["stride"]}


class _LinePool(_AvgPool):
    """Means of windows of a line; lengths are shown as tuples."""

    def completed(self, given: Options) -> Options:
        made = super().completed(given)
        lengths = {name: made[name] for name in self.shown}
        return made | {name: n if isinstance(n, tuple) else (n,) for name, n in lengths.items()}


_WINDOWS: Options = {
    "kernel_size": REQUIRED,
    "stride": None,
    "padding": 0,
    "ceil_mode": False,
    "count_include_pad": True,
}
_LENGTHS = "kernel_size stride padding"
AvgPool1d = _calling("AvgPool1d", pooling.avg_pool1d, _LENGTHS, _LinePool, **_WINDOWS)
AvgPool2d = _calling("AvgPool2d", pooling.avg_pool2d, _LENGTHS, _AvgPool, **_WINDOWS, divisor_override=None)
AvgPool3d = _calling("AvgPool3d", pooling.avg_pool3d, _LENGTHS, _AvgPool, **_WINDOWS, divisor_override=None)
AdaptiveAvgPool1d = _calling("AdaptiveAvgPool1d", pooling.adaptive_avg_pool1d, "output_size", output_size=REQUIRED)
AdaptiveAvgPool2d = _calling("AdaptiveAvgPool2d", pooling.adaptive_avg_pool2d, "output_size", output_size=REQUIRED)
AdaptiveAvgPool3d = _calling("AdaptiveAvgPool3d", pooling.adaptive_avg_pool3d, "output_size", output_size=REQUIRED)
