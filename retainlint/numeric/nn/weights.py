"""torch.nn.utils: gradients clipped, weights as one vector, and weights computed of others: parametrizations and norms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from retainlint.numeric.grad_mode import no_grad
from retainlint.numeric.nn import functional as F
from retainlint.numeric.nn.containers import ModuleDict, ModuleList
from retainlint.numeric.nn.module import Module, Parameter
from retainlint.numeric.operations.pieces import cat, stack
from retainlint.numeric.tensor import Tensor

_CACHES: list[dict[tuple[int, str], Any]] = []


def _listed(parameters: Any) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """Scale all gradients down, so that together they have at most this norm; the norm they had."""
    with no_grad():
        grads = [p.grad_ for p in _listed(parameters) if p.grad_ is not None]
        if not grads:
            return Tensor.of(np.zeros((), np.float32))
        total: Tensor = stack([g.norm(norm_type) for g in grads]).norm(norm_type)
        if error_if_nonfinite and not math.isfinite(total.item()):
            raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite")
        scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for g in grads:
            g.mul_(scale)
    return total


def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Cut off each gradient's elements at both ends."""
    with no_grad():
        for p in _listed(parameters):
            if p.grad_ is not None:
                p.grad_.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Any:
    """All parameters in one vector, with its graph."""
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Put a vector's parts into parameters."""
    offset = 0
    for p in parameters:
        p.data = vec[offset : offset + p.array.size].view_as(p).data
        offset += p.array.size


class ParametrizationList(ModuleList):
    """The functions through which one weight goes, and the weight they start from."""

    def __init__(self, modules: list[Module], original: Parameter) -> None:
        super().__init__(modules)
        self.original = original

    def forward(self) -> Any:
        found: Any = self.original
        for module in self:
            found = module(found)
        return found


@contextmanager
def cached() -> Iterator[None]:
    """Within this block each derived weight is computed once."""
    _CACHES.append({})
    try:
        yield
    finally:
        _CACHES.pop()


def _derived(name: str) -> property:
    def get(self: Module) -> Any:
        chain = self.parametrizations[name]
        if not _CACHES:
            return chain()
        key = (id(self), name)
        if key not in _CACHES[-1]:
            _CACHES[-1][key] = chain()
        return _CACHES[-1][key]

    def put(self: Module, value: Tensor) -> None:
        with no_grad():
            self.parametrizations[name].original.copy_(value)

    return property(get, put)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a weight be computed by `parametrization`, at each use, from what it is now."""
    if "parametrizations" not in module._modules:
        module.parametrizations = ModuleDict()
        kind = type(module)
        module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), {"__module__": kind.__module__})
    if tensor_name in module.parametrizations:
        module.parametrizations[tensor_name].append(parametrization)
        return module
    original = module._parameters.pop(tensor_name)
    assert original is not None
    module.parametrizations[tensor_name] = ParametrizationList([parametrization], original)
    setattr(type(module), tensor_name, _derived(tensor_name))
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a weight is computed so."""
    known = module._modules.get("parametrizations")
    return isinstance(known, ModuleDict) and (tensor_name is None or tensor_name in known)


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12) -> Module:
    """Divide a weight by its largest singular value, estimated anew in each forward."""
    weight = module._parameters.pop(name)
    assert weight is not None
    height, width = weight.array.shape[0], weight.array.size // weight.array.shape[0]
    module.register_parameter(f"{name}_orig", weight)
    for side, size in (("u", height), ("v", width)):
        start = F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)
        module.register_buffer(f"{name}_{side}", start)
    object.__setattr__(module, name, weight.data)

    def compute(owner: Module, inputs: Any) -> None:
        matrix = getattr(owner, f"{name}_orig").reshape(height, -1)
        u, v = getattr(owner, f"{name}_u"), getattr(owner, f"{name}_v")
        if owner.training:
            with no_grad():
                for _ in range(n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=eps))
            u, v = u.clone(), v.clone()
        sigma = u.dot(matrix.mv(v))
        object.__setattr__(owner, name, getattr(owner, f"{name}_orig") / sigma)

    module.register_forward_pre_hook(compute)
    return module


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Split a weight into its direction and its length; it is put together in each forward."""
    weight = module._parameters.pop(name)
    assert weight is not None
    others = [i for i in range(weight.array.ndim) if i != dim]
    module.register_parameter(f"{name}_g", Parameter(weight.detach().norm(2, others, keepdim=True)))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))

    def compute(owner: Module, inputs: Any) -> None:
        length, direction = getattr(owner, f"{name}_g"), getattr(owner, f"{name}_v")
        object.__setattr__(owner, name, direction * (length / direction.norm(2, others, keepdim=True)))

    compute(module, None)
    module.register_forward_pre_hook(compute)
    return module
