"""Puts the core's names where `import torch` looks, in this process, for one run."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from retainlint.numeric import (
    autograd_function,
    backward_pass,
    creation,
    data,
    distributions,
    dtypes,
    extras,
    grad_mode,
    printing,
    random,
    random_tensors,
    transforms,
)
from retainlint.numeric.lacking import LackingModule, LackingName
from retainlint.numeric.layout import Size
from retainlint.numeric.nn import (
    attention,
    calling,
    containers,
    functional,
    init,
    layers,
    module,
    parametrizations,
    recurrent,
)
from retainlint.numeric.operations import (
    arithmetic,
    conversions,
    elementwise,
    images,
    indexing,
    losses,
    ordering,
    pieces,
    places,
    pooling,
    products,
    reductions,
    shapes,
)
from retainlint.numeric.operations import layers as layer_operations
from retainlint.numeric.operations.registry import Operation
from retainlint.numeric.optim import lbfgs, lr_scheduler, optimizers
from retainlint.numeric.tensor import Tensor

VERSION = "2.13.0"


class FaceModule(ModuleType):
    """A module of the face; what it lacks is named, with the line that wants it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise LackingName(f"{self.__name__}.{name}")


def _public(*sources: Any) -> dict[str, Any]:
    """What these modules define themselves, for scripts to see."""
    found = {}
    for source in sources:
        for name, value in vars(source).items():
            own = getattr(value, "__module__", None) == source.__name__ or isinstance(value, Operation)
            if own and not name.startswith("_") and not name.endswith("_"):
                found[name] = value
    return found


def _module(name: str, **contents: Any) -> FaceModule:
    made = FaceModule(name)
    made.__dict__["__path__"] = []
    made.__dict__.update(contents)
    return made


def _dtypes() -> dict[str, Any]:
    named: dict[str, Any] = {kind.name: kind for kind in dtypes.ALL} | dtypes.ALIASES
    named["bfloat16"] = dtypes.bfloat16
    named |= {f"{kind.legacy}Tensor": creation.LegacyType(kind) for kind in dtypes.ALL}
    return named


def _classes(*sources: Any) -> dict[str, Any]:
    return {name: value for name, value in _public(*sources).items() if isinstance(value, type)}


def _modules_of(source: Any) -> dict[str, Any]:
    """The modules a file defines, those that are made by a call too."""
    return {
        name: value
        for name, value in vars(source).items()
        if isinstance(value, type) and issubclass(value, module.Module) and not name.startswith("_")
    }


def _losses() -> dict[str, Any]:
    return {name: kind for name, kind in _modules_of(calling).items() if issubclass(kind, calling._Loss)}


def _nn() -> dict[str, FaceModule]:
    contents: dict[str, Any] = {"Module": module.Module, "Parameter": module.Parameter}
    for source in (calling, layers, containers, recurrent, attention):
        contents |= _modules_of(source)
    clipping = {name: getattr(extras, name) for name in ("clip_grad_norm_", "clip_grad_value_")}
    vectors = {name: getattr(extras, name) for name in ("parameters_to_vector", "vector_to_parameters")}
    recipes = {
        name: value for name, value in vars(init).items() if name.endswith("_") or name.startswith(("calc", "_calc"))
    }
    calls = _public(functional, losses, pooling, images)
    calls |= {"linear": products.linear, "bilinear": products.bilinear}
    calls |= {"layer_norm": layer_operations.layer_norm, "batch_norm": layer_operations.batch_norm}
    norms = {"spectral_norm": parametrizations.spectral_norm, "weight_norm": parametrizations.weight_norm}
    names = ("register_parametrization", "cached", "is_parametrized")
    parametrize = _module("torch.nn.utils.parametrize", **{name: getattr(parametrizations, name) for name in names})
    utils = {**clipping, **vectors, **norms}
    made = {
        "torch.nn.functional": _module("torch.nn.functional", **calls),
        "torch.nn.init": _module("torch.nn.init", **recipes),
        "torch.nn.parameter": _module("torch.nn.parameter", Parameter=module.Parameter),
        "torch.nn.modules": _module("torch.nn.modules", **contents),
        "torch.nn.modules.module": _module("torch.nn.modules.module", Module=module.Module),
        "torch.nn.modules.loss": _module(
            "torch.nn.modules.loss", Module=module.Module, _Loss=calling._Loss, **_losses()
        ),
        "torch.nn.utils": _module("torch.nn.utils", **utils),
        "torch.nn.utils.parametrize": parametrize,
        "torch.nn.utils.clip_grad": _module("torch.nn.utils.clip_grad", **clipping),
    }
    made["torch.nn"] = _module("torch.nn", **contents)
    return made


def _autograd() -> dict[str, FaceModule]:
    blocks = _classes(grad_mode)
    contents = {
        "backward": backward_pass.backward,
        "grad": backward_pass.grad,
        "Function": autograd_function.Function,
        **blocks,
    }
    contents |= {"Variable": variable, "set_detect_anomaly": extras.Ignored, "detect_anomaly": extras.Ignored}
    function = {"Function": autograd_function.Function, "once_differentiable": autograd_function.once_differentiable}
    return {
        "torch.autograd": _module("torch.autograd", **contents),
        "torch.autograd.function": _module("torch.autograd.function", **function),
        "torch.autograd.functional": _module(
            "torch.autograd.functional", jacobian=transforms.jacobian, hessian=transforms.hessian
        ),
        "torch.autograd.variable": _module("torch.autograd.variable", Variable=variable),
        "torch.autograd.grad_mode": _module("torch.autograd.grad_mode", **blocks),
    }


class _TensorLike(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class variable(metaclass=_TensorLike):  # noqa: N801
    """torch.autograd.Variable: a tensor, by its name of long ago."""

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        made = data.view_as(data) if data.requires_grad else data.detach()
        if requires_grad:
            made.requires_grad = True
        return made


class _Finfo:
    """What a floating dtype can hold."""

    def __init__(self, kind: Any = None) -> None:
        import numpy as np

        found = np.finfo((kind or dtypes.default()).numpy)
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.tiny)
        self.bits = found.bits


def _seed_both(seed: int) -> Any:
    return random.manual_seed(seed)


def _elsewhere() -> dict[str, FaceModule]:
    """Other devices: there are none."""
    no = lambda *args, **kwargs: False  # noqa: E731
    nothing = lambda *args, **kwargs: None  # noqa: E731
    amp = {"GradScaler": extras.GradScaler, "autocast": extras.Ignored}
    quiet = {"manual_seed": nothing, "manual_seed_all": nothing, "empty_cache": nothing, "synchronize": nothing}
    cuda_amp = _module("torch.cuda.amp", **amp)
    cuda = _module("torch.cuda", is_available=no, device_count=lambda: 0, amp=cuda_amp, **quiet)
    mps = _module("torch.backends.mps", is_available=no, is_built=no)
    cudnn = _module("torch.backends.cudnn", deterministic=False, benchmark=False, enabled=False)
    return {
        "torch.amp": _module("torch.amp", **amp),
        "torch.cuda": cuda,
        "torch.cuda.amp": cuda_amp,
        "torch.mps": _module("torch.mps", is_available=no, **quiet),
        "torch.backends": _module("torch.backends"),
        "torch.backends.mps": mps,
        "torch.backends.cudnn": cudnn,
    }


def _optim() -> dict[str, FaceModule]:
    rules = {**_classes(optimizers, lbfgs), "Optimizer": optimizers.Optimizer}
    schedules = {**_classes(lr_scheduler), "_LRScheduler": lr_scheduler.LRScheduler}
    made = {
        "torch.optim.lr_scheduler": _module("torch.optim.lr_scheduler", **schedules),
        "torch.optim.optimizer": _module("torch.optim.optimizer", Optimizer=optimizers.Optimizer),
    }
    for name in ("SGD", "Adam", "AdamW", "RMSprop"):
        made[f"torch.optim.{name.lower()}"] = _module(f"torch.optim.{name.lower()}", **{name: rules[name]})
    return {"torch.optim": _module("torch.optim", **rules), **made}


def _linear_algebra() -> dict[str, Any]:
    names = ("cholesky", "solve", "solve_triangular", "det", "inverse", "logdet", "cholesky_solve")
    return {name: getattr(products, name) for name in names} | {"inv": products.inverse}


def _others() -> dict[str, FaceModule]:
    parts: dict[str, dict[str, Any]] = {
        "torch.distributions.normal": {"Normal": distributions.Normal},
        "torch.distributions.categorical": {"Categorical": distributions.Categorical},
        "torch.distributions.bernoulli": {"Bernoulli": distributions.Bernoulli},
        "torch.utils": {"__doc__": None},
        "torch.utils.data": _public(data),
        "torch.utils.data.dataset": _public(data),
        "torch.utils.data.dataloader": _public(data),
        "torch.utils.checkpoint": {"checkpoint": extras.checkpoint},
        "torch.linalg": {**_linear_algebra(), "vector_norm": reductions.vector_norm, "norm": reductions.vector_norm},
        "torch.func": _public(transforms),
        "torch.random": _public(random),
        "torch.special": {"expit": elementwise.sigmoid, "logsumexp": reductions.logsumexp},
        "torch.functional": {"einsum": products.einsum},
    }
    made = {name: _module(name, **contents) for name, contents in parts.items()}
    made["torch.distributions"] = _module("torch.distributions", **_classes(distributions))
    made["torch.distributions"].__dict__["kl_divergence"] = distributions.kl_divergence
    made["torch.distributions.kl"] = _module("torch.distributions.kl", kl_divergence=distributions.kl_divergence)
    return made


IN_PLACE = ("relu_", "sigmoid_", "tanh_", "exp_", "sqrt_", "clamp_", "zero_", "detach_", "abs_", "neg_")


def _top() -> dict[str, Any]:
    contents = _public(
        arithmetic,
        elementwise,
        reductions,
        ordering,
        products,
        indexing,
        places,
        shapes,
        pieces,
        creation,
        random_tensors,
        conversions,
    )
    contents |= _linear_algebra() | _public(layer_operations) | _classes(grad_mode) | _dtypes() | _public(random)
    contents |= {name: getattr(arithmetic, name) for name in ("pow", "div", "add", "sub", "mul")}
    contents |= {"dropout": functional.dropout, "prelu": functional.prelu, "selu": functional.selu}
    contents |= {"cosine_similarity": losses.cosine_similarity, "layer_norm": layer_operations.layer_norm}
    contents |= {"Tensor": Tensor, "Size": Size, "dtype": dtypes.dtype, "device": dtypes.device, "finfo": _Finfo}
    contents |= {"Generator": random.Generator, "default_generator": random.DEFAULT, "manual_seed": _seed_both}
    contents |= {
        "is_grad_enabled": grad_mode.is_grad_enabled,
        "is_inference_mode_enabled": grad_mode.is_inference_mode_enabled,
    }
    contents |= {"set_printoptions": printing.set_printoptions, "set_default_dtype": dtypes.set_default}
    contents |= {"get_default_dtype": dtypes.default, "is_tensor": lambda value: isinstance(value, Tensor)}
    questions = ("numel", "is_floating_point", "is_complex", "is_inference", "get_device")
    contents |= {name: getattr(Tensor, name) for name in (*questions, *IN_PLACE)}
    contents |= {"set_num_threads": lambda count: None, "get_num_threads": lambda: 1, "autocast": extras.Ignored}
    contents |= {"use_deterministic_algorithms": lambda *args, **kwargs: None, "strided": "torch.strided"}
    contents |= {name: getattr(pooling, name) for name in ("avg_pool1d", "adaptive_avg_pool1d")}
    contents |= {"vmap": transforms.vmap, "pixel_shuffle": images.pixel_shuffle}
    contents |= {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}
    contents |= {"clip": elementwise.clamp, "multiply": arithmetic.mul, "true_divide": arithmetic.true_divide}
    contents |= {"subtract": arithmetic.sub, "divide": arithmetic.div, "absolute": elementwise.abs}
    contents |= {"concat": pieces.cat, "concatenate": pieces.cat, "negative": arithmetic.neg}
    contents |= {"result_type": lambda a, b: dtypes.promote(a.dtype, b.dtype), "__version__": VERSION}
    contents |= {"contiguous_format": "torch.contiguous_format", "preserve_format": "torch.preserve_format"}
    return contents


def build() -> dict[str, FaceModule]:
    """All modules by their dotted names, `torch` among them, tied to each other as attributes."""
    top = _module("torch", **_top())
    made = {"torch": top, **_nn(), **_autograd(), **_elsewhere(), **_optim(), **_others()}
    for name, child in made.items():
        parent, _, own = name.rpartition(".")
        if parent:
            made[parent].__dict__[own] = child
    top.__dict__["enable_grad"] = grad_mode.enable_grad
    _rename()
    return made


def _rename() -> None:
    """Classes say that they are torch's, as scripts print them."""
    for kind, home in ((Tensor, "torch"), (Size, "torch"), (module.Parameter, "torch.nn.parameter")):
        kind.__module__ = home
    for kind in (_modules_of(layers) | _modules_of(calling)).values():
        kind.__module__ = "torch.nn.modules"


class _Finder(importlib.abc.MetaPathFinder):
    """Answers for every module below `torch` that isn't there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "torch" or fullname.startswith("torch."):
            raise LackingModule(fullname)
        return None


@contextmanager
def installed() -> Iterator[ModuleType]:
    """Within this block, `import torch` gives the face; afterwards all is as it was."""
    made = build()
    finder = _Finder()
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "torch" or name.startswith("torch.")}
    sys.modules.update(made)
    sys.meta_path.insert(0, finder)
    try:
        yield made["torch"]
    finally:
        sys.meta_path.remove(finder)
        for name in made:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
