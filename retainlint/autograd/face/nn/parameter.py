"""The tensors that a module learns."""

from __future__ import annotations

from typing import Any

from retainlint.autograd.face.factories import zeros
from retainlint.autograd.face.tensor import Tensor


class Parameter(Tensor):
    """A leaf that a module finds among its attributes."""

    is_parameter = True

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        source = zeros(0) if data is None else data
        made = cls.of(source.array, source.storage)
        made.leaf_needs = requires_grad
        if requires_grad and not made.dtype.is_floating_point:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (Parameter, (self.detach(), self.leaf_needs))
