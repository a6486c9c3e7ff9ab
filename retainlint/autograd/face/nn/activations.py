"""Modules that bend each number: ReLU and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retainlint.autograd.face.nn import functional as F  # noqa: N812
from retainlint.autograd.face.nn.module import Module
from retainlint.autograd.face.nn.parameter import Parameter
from retainlint.autograd.face.tensor import Tensor


class PReLU(Module):
    """The elements, those below 0 times a learned weight."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(Tensor.of(np.full(num_parameters, init, np.float32)))

    def forward(self, input: Tensor) -> Any:  # noqa: A002
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


def _written(value: Any) -> str:
    return repr(value)


def activation(name: str, function: Callable[..., Any], shown: str = "", **defaults: Any) -> type[Module]:
    """A module that calls `function` with its arguments; `shown` are those that its repr has even at their defaults."""
    names = list(defaults)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        Module.__init__(self)
        unknown = set(kwargs) - set(names)
        if unknown or len(args) > len(names):
            raise TypeError(f"{name}.__init__() got an unexpected keyword argument {next(iter(unknown), '')!r}")
        for key, value in {**defaults, **dict(zip(names, args)), **kwargs}.items():
            setattr(self, key, value)

    def forward(self: Any, input: Tensor) -> Any:  # noqa: A002
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
