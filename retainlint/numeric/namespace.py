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
    checkpoint,
    creation,
    data,
    distributions,
    dtypes,
    grad_mode,
    printing,
    random,
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
    recurrent,
    weights,
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
    pooling,
    products,
    reductions,
    shapes,
)
from retainlint.numeric.operations import layers as layer_operations
from retainlint.numeric.operations.registry import Operation
from retainlint.numeric.optim import grad_scaler, lbfgs, lr_scheduler, optimizers
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


def _of(source: Any, names: str) -> dict[str, Any]:
    """Some names of a module, or a class."""
    return {name: getattr(source, name) for name in names.split()}


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
    clipping = _of(weights, "clip_grad_norm_ clip_grad_value_")
    recipes = {
        name: value for name, value in vars(init).items() if name.endswith("_") or name.startswith(("calc", "_calc"))
    }
    calls = _public(functional, losses, pooling, images)
    calls |= _of(products, "linear bilinear") | _of(layer_operations, "layer_norm batch_norm")
    utils = clipping | _of(weights, "parameters_to_vector vector_to_parameters spectral_norm weight_norm")
    parametrize = _of(weights, "register_parametrization cached is_parametrized")
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
        "torch.nn.utils.parametrize": _module("torch.nn.utils.parametrize", **parametrize),
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
    contents |= {"Variable": variable, "set_detect_anomaly": Ignored, "detect_anomaly": Ignored}
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


class Ignored:
    """A block and decorator without effect, whatever it is given: autocast, anomaly detection, profilers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> Ignored:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        return function


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


def _elsewhere() -> dict[str, FaceModule]:
    """Other devices: there are none."""
    no = lambda *args, **kwargs: False  # noqa: E731
    nothing = lambda *args, **kwargs: None  # noqa: E731
    amp = {"GradScaler": grad_scaler.GradScaler, "autocast": Ignored}
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
    names = "cholesky solve solve_triangular det inverse logdet cholesky_solve"
    return _of(products, names) | {"inv": products.inverse}


def _others() -> dict[str, FaceModule]:
    parts: dict[str, dict[str, Any]] = {
        "torch.distributions.normal": {"Normal": distributions.Normal},
        "torch.distributions.categorical": {"Categorical": distributions.Categorical},
        "torch.distributions.bernoulli": {"Bernoulli": distributions.Bernoulli},
        "torch.utils": {"__doc__": None},
        "torch.utils.data": _public(data),
        "torch.utils.data.dataset": _public(data),
        "torch.utils.data.dataloader": _public(data),
        "torch.utils.checkpoint": {"checkpoint": checkpoint.checkpoint},
        "torch.linalg": {**_linear_algebra(), "vector_norm": reductions.vector_norm, "norm": reductions.vector_norm},
        "torch.func": _public(transforms),
        "torch.random": _of(random, "Generator manual_seed seed initial_seed get_rng_state set_rng_state"),
        "torch.special": {"expit": elementwise.sigmoid, "logsumexp": reductions.logsumexp},
        "torch.functional": {"einsum": products.einsum},
    }
    made = {name: _module(name, **contents) for name, contents in parts.items()}
    made["torch.distributions"] = _module("torch.distributions", **_classes(distributions))
    made["torch.distributions"].__dict__["kl_divergence"] = distributions.kl_divergence
    made["torch.distributions.kl"] = _module("torch.distributions.kl", kl_divergence=distributions.kl_divergence)
    return made


def _top() -> dict[str, Any]:
    operations = (arithmetic, elementwise, reductions, ordering, products, pieces, indexing, shapes, conversions)
    contents = _public(*operations, layer_operations, creation, random)
    contents |= _linear_algebra() | _classes(grad_mode) | _dtypes()
    contents |= _of(Tensor, "relu_ sigmoid_ tanh_ exp_ sqrt_ clamp_ zero_ detach_ abs_ neg_")
    contents |= _of(Tensor, "numel is_floating_point is_complex is_inference get_device")
    contents |= _of(arithmetic, "pow div add sub mul") | _of(functional, "dropout prelu selu")
    contents |= _of(losses, "cosine_similarity") | _of(pooling, "avg_pool1d adaptive_avg_pool1d")
    contents |= _of(grad_mode, "is_grad_enabled is_inference_mode_enabled") | _of(printing, "set_printoptions")
    contents |= _of(images, "pixel_shuffle") | _of(transforms, "vmap") | _of(math, "pi e inf nan")
    contents |= {
        "__version__": VERSION,
        "Size": Size,
        "Tensor": Tensor,
        "absolute": elementwise.abs,
        "autocast": Ignored,
        "clip": elementwise.clamp,
        "concat": pieces.cat,
        "concatenate": pieces.cat,
        "contiguous_format": "torch.contiguous_format",
        "default_generator": random.DEFAULT,
        "device": dtypes.device,
        "divide": arithmetic.div,
        "dtype": dtypes.dtype,
        "finfo": _Finfo,
        "get_default_dtype": dtypes.default,
        "get_num_threads": lambda: 1,
        "is_tensor": lambda value: isinstance(value, Tensor),
        "multiply": arithmetic.mul,
        "negative": arithmetic.neg,
        "newaxis": None,
        "preserve_format": "torch.preserve_format",
        "result_type": lambda a, b: dtypes.promote(a.dtype, b.dtype),
        "set_default_dtype": dtypes.set_default,
        "set_num_threads": lambda count: None,
        "strided": "torch.strided",
        "subtract": arithmetic.sub,
        "true_divide": arithmetic.true_divide,
        "use_deterministic_algorithms": lambda *args, **kwargs: None,
    }
    return contents


def build() -> dict[str, FaceModule]:
    """All modules by their dotted names, `torch` among them, tied to each other as attributes."""
    top = _module("torch", **_top())
    made = {"torch": top, **_nn(), **_autograd(), **_elsewhere(), **_optim(), **_others()}
    for name, child in made.items():
        parent, _, own = name.rpartition(".")
        if parent:
            made[parent].__dict__[own] = child
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
