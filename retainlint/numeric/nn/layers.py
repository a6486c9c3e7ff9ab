"""Modules with one computation: linear, embedding, normalization, dropout, activations, shapes, padding and pooling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from retainlint.numeric.creation import empty, ones, tensor, zeros
from retainlint.numeric.nn import functional as F
from retainlint.numeric.nn import init
from retainlint.numeric.nn.module import Module, Parameter
from retainlint.numeric.tensor import Tensor


class PReLU(Module):
    """The elements, those below 0 times a learned weight."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(Tensor.of(np.full(num_parameters, init, np.float32)))

    def forward(self, input: Tensor) -> Any:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


def _written(value: Any) -> str:
    return repr(value)


def activation(name: str, function: Callable[..., Any], shown: str = "", **defaults: Any) -> type[Module]:
    """A module that calls `function` with its arguments; `shown` are those that its repr has even at their defaults."""
    names = list(defaults)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        unknown = set(kwargs) - set(names)
        if unknown or len(args) > len(names):
            raise TypeError(f"{name}.__init__() got an unexpected keyword argument {next(iter(unknown), '')!r}")
        for key, value in {**defaults, **dict(zip(names, args)), **kwargs}.items():
            setattr(self, key, value)

    def forward(self: Any, input: Tensor) -> Any:
        return function(input, **{key: getattr(self, key) for key in names})

    def extra_repr(self: Any) -> str:
        parts = [f"{key}={_written(getattr(self, key))}" for key in shown.split()]
        return ", ".join(parts + (["inplace=True"] if getattr(self, "inplace", False) else []))

    body = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__doc__": function.__doc__}
    return type(name, (Module,), body)


ReLU = activation("ReLU", F.relu, inplace=False)


ReLU6 = activation("ReLU6", F.relu6, inplace=False)

LeakyReLU = activation("LeakyReLU", F.leaky_relu, "negative_slope", negative_slope=0.01, inplace=False)


ELU = activation("ELU", F.elu, "alpha", alpha=1.0, inplace=False)


CELU = activation("CELU", F.celu, "alpha", alpha=1.0, inplace=False)


SELU = activation("SELU", F.selu, inplace=False)


GELU = activation("GELU", F.gelu, "approximate", approximate="none")


SiLU = activation("SiLU", F.silu, inplace=False)


Mish = activation("Mish", F.mish, inplace=False)


Sigmoid = activation("Sigmoid", F.sigmoid)


Tanh = activation("Tanh", F.tanh)


Softplus = activation("Softplus", F.softplus, "beta threshold", beta=1.0, threshold=20.0)


Softsign = activation("Softsign", F.softsign)


LogSigmoid = activation("LogSigmoid", F.logsigmoid)


Tanhshrink = activation("Tanhshrink", F.tanhshrink)


Hardtanh = activation("Hardtanh", F.hardtanh, "min_val max_val", min_val=-1.0, max_val=1.0, inplace=False)


Hardsigmoid = activation("Hardsigmoid", F.hardsigmoid)


Hardswish = activation("Hardswish", F.hardswish)


Softmax = activation("Softmax", F.softmax, "dim", dim=None)


LogSoftmax = activation("LogSoftmax", F.log_softmax, "dim", dim=None)


Softmin = activation("Softmin", F.softmin, "dim", dim=None)


class Identity(Module):
    """What goes in comes out."""

    def forward(self, input: Tensor) -> Any:
        return input


class Linear(Module):
    """input @ weight.T + bias."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Any:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """input1 @ weight[k] @ input2 for each k, plus bias."""

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = Parameter(empty(out_features, in1_features, in2_features))
        bound = 1 / math.sqrt(in1_features)
        init.uniform_(self.weight, -bound, bound)
        self.bias = Parameter(empty(out_features)) if bias else None
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Any:
        return F.bilinear(input1, input2, self.weight, self.bias)


class Embedding(Module):
    """Rows of a table by their numbers."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: Any = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.max_norm = num_embeddings, embedding_dim, max_norm
        self.padding_idx = padding_idx if padding_idx is None else padding_idx % num_embeddings
        if _weight is None:
            self.weight = Parameter(empty(num_embeddings, embedding_dim))
            init.normal_(self.weight)
            if self.padding_idx is not None:
                self.weight.array[self.padding_idx] = 0
        else:
            self.weight = Parameter(_weight)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """A table with these rows."""
        count, width = embeddings.array.shape
        made = cls(count, width, padding_idx, _weight=embeddings)
        made.weight.requires_grad = not freeze
        return made

    def forward(self, input: Tensor) -> Any:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm)

    def extra_repr(self) -> str:
        extra = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{extra}"


class LayerNorm(Module):
    """Standardized over the last dimensions."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", Parameter(ones(self.normalized_shape)) if elementwise_affine else None)
        affine = elementwise_affine and bias
        self.register_parameter("bias", Parameter(zeros(self.normalized_shape)) if affine else None)

    def forward(self, input: Tensor) -> Any:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Standardized in groups of channels."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__()
        self.num_groups, self.eps = num_groups, eps
        self.register_parameter("weight", Parameter(ones(num_channels)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_channels)) if affine else None)

    def forward(self, input: Tensor) -> Any:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class BatchNorm1d(Module):
    """Standardized over the batch while training, by running statistics later."""

    dimensions: tuple[int, ...] = (2, 3)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.register_parameter("weight", Parameter(ones(num_features)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_features)) if affine else None)
        for name, made in (
            ("running_mean", zeros(num_features)),
            ("running_var", ones(num_features)),
            ("num_batches_tracked", tensor(0)),
        ):
            self.register_buffer(name, made if track_running_stats else None)

    def forward(self, input: Tensor) -> Any:
        if input.array.ndim not in self.dimensions:
            wanted = " or ".join(f"{n}D" for n in self.dimensions)
            raise ValueError(f"expected {wanted} input (got {input.array.ndim}D input)")
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        training = self.training or self.running_mean is None
        kept = (self.running_mean, self.running_var)
        return F.batch_norm(input, *kept, self.weight, self.bias, training, self.momentum, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm2d(BatchNorm1d):
    """Standardized over the batch and the picture."""

    dimensions = (4,)


class Dropout(Module):
    """Elements dropped at random while training."""

    drop: Callable[..., Any] = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Any:
        return self.drop(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """Channels dropped at random while training."""

    drop = staticmethod(F.dropout1d)


class Dropout2d(Dropout1d):
    """Channels dropped at random while training."""


class Flatten(Module):
    """Several dimensions made one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Any:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension made several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Any:
        return input.unflatten(self.dim, self.unflattened_size)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Any:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class _Pad(Module):
    """Elements around the last `sides` dimensions; one number stands for all widths."""

    sides, mode = 1, "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = padding if isinstance(padding, tuple) else (padding,) * (2 * self.sides)

    def forward(self, input: Tensor) -> Any:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    """One value all around."""

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Any:
        return F.pad(input, self.padding, "constant", self.value)

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


class AvgPool2d(Module):
    """Means of windows, which may overlap."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Any:
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool3d(AvgPool2d):
    """Means of windows with three sides."""

    def forward(self, input: Tensor) -> Any:
        return F.avg_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool1d(Module):
    """Means of windows of a line."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        given = (kernel_size, kernel_size if stride is None else stride, padding)
        self.kernel_size, self.stride, self.padding = (n if isinstance(n, tuple) else (n,) for n in given)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Any:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool1d(Module):
    """Means of windows that together make a line of the wanted length."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_avg_pool1d(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """Means of windows that together make a picture of the wanted size."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(AdaptiveAvgPool1d):
    """Means of windows with three sides that together have the wanted size."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_avg_pool3d(input, self.output_size)
