"""Puts the core's names where `import torch` looks, in this process, for one run: which module offers which names."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

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
from retainlint.numeric.nn import attention, calling, containers, functional, init, layers, module, recurrent, weights
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


INNER = frozenset(
    (
        "DEFAULT Found LegacyType T alias chosen clamp_between contiguous copy_back erf_array expand exponential fill_number "
        "finish getitem inv keeping lerp_number lerp_tensor linear log_sigmoid mask max_all max_dim median_all min_all "
        "min_dim minus new new_tensor nothing old_reduction over_windows paired pairwise passed pow_number pow_of_number "
        "pow_tensor quiet reduce_array reduced reduction_of repeat same setitem solve_triangular sigmoid_array softplus_array "
        "softplus_backward spread summable threshold_backward to type_as unary unsafe_view vector_norm view zero_back"
    ).split()
)
"""What the core's modules define for each other, and methods that torch doesn't offer as functions."""


def _public(*sources: Any) -> dict[str, Any]:
    """What these modules define themselves, for scripts to see."""
    found = {}
    for source in sources:
        for name, value in vars(source).items():
            own = getattr(value, "__module__", None) == source.__name__ or isinstance(value, Operation)
            if own and name not in INNER and not name.startswith("_") and not name.endswith("_"):
                found[name] = value
    return found


def _of(source: Any, names: str) -> dict[str, Any]:
    """Some names of a module, or a class."""
    return {name: getattr(source, name) for name in names.split()}


def _classes(*sources: Any) -> dict[str, Any]:
    return {name: value for name, value in _public(*sources).items() if isinstance(value, type)}


def _modules_of(*sources: Any) -> dict[str, Any]:
    """The modules that files define, those that are made by a call too."""
    return {
        name: value
        for source in sources
        for name, value in vars(source).items()
        if isinstance(value, type) and issubclass(value, module.Module) and not name.startswith("_")
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
        found = np.finfo((kind or dtypes.default()).numpy)
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.tiny)
        self.bits = found.bits


def _dtypes() -> dict[str, Any]:
    named: dict[str, Any] = {kind.name: kind for kind in dtypes.ALL} | dtypes.ALIASES
    named["bfloat16"] = dtypes.bfloat16
    named |= {f"{kind.legacy}Tensor": creation.LegacyType(kind) for kind in dtypes.ALL}
    return named


Contents: TypeAlias = dict[str, dict[str, Any]]
"""Modules by their dotted names, each with what it offers."""


def _nn() -> Contents:
    contents = _of(module, "Module Parameter") | _modules_of(calling, layers, containers, recurrent, attention)
    losses_ = {name: kind for name, kind in contents.items() if issubclass(kind, calling._Loss)}
    clipping = _of(weights, "clip_grad_norm_ clip_grad_value_")
    calls = _public(functional, losses, pooling, images)
    calls |= _of(products, "linear bilinear") | _of(layer_operations, "layer_norm batch_norm")
    return {
        "torch.nn": contents,
        "torch.nn.functional": calls,
        "torch.nn.init": {n: v for n, v in vars(init).items() if n.endswith("_") or n.startswith(("calc", "_calc"))},
        "torch.nn.parameter": _of(module, "Parameter"),
        "torch.nn.modules": contents,
        "torch.nn.modules.module": _of(module, "Module"),
        "torch.nn.modules.loss": losses_ | _of(module, "Module") | _of(calling, "_Loss"),
        "torch.nn.utils": clipping
        | _of(weights, "parameters_to_vector vector_to_parameters spectral_norm weight_norm"),
        "torch.nn.utils.parametrize": _of(weights, "register_parametrization cached is_parametrized"),
        "torch.nn.utils.clip_grad": clipping,
    }


def _autograd() -> Contents:
    blocks = _classes(grad_mode)
    ignored = {"set_detect_anomaly": Ignored, "detect_anomaly": Ignored}
    return {
        "torch.autograd": _of(backward_pass, "backward grad")
        | _of(autograd_function, "Function")
        | blocks
        | {"Variable": variable, **ignored},
        "torch.autograd.function": _of(autograd_function, "Function once_differentiable"),
        "torch.autograd.functional": _of(transforms, "jacobian hessian"),
        "torch.autograd.variable": {"Variable": variable},
        "torch.autograd.grad_mode": blocks,
    }


def _no(*args: Any, **kwargs: Any) -> bool:
    return False


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _elsewhere() -> Contents:
    """Other devices: there are none."""
    amp = {"GradScaler": grad_scaler.GradScaler, "autocast": Ignored}
    absent = {"is_available": _no, "manual_seed": _nothing, "empty_cache": _nothing, "synchronize": _nothing}
    return {
        "torch.amp": amp,
        "torch.cuda": {**absent, "manual_seed_all": _nothing, "device_count": lambda: 0},
        "torch.cuda.amp": amp,
        "torch.mps": absent,
        "torch.backends": {},
        "torch.backends.mps": {"is_available": _no, "is_built": _no},
        "torch.backends.cudnn": {"deterministic": False, "benchmark": False, "enabled": False},
    }


def _optim() -> Contents:
    one_each = {f"torch.optim.{name.lower()}": _of(optimizers, name) for name in ("SGD", "Adam", "AdamW", "RMSprop")}
    return {
        "torch.optim": _classes(optimizers) | _of(lbfgs, "LBFGS"),
        "torch.optim.lr_scheduler": _classes(lr_scheduler) | _of(lr_scheduler, "_LRScheduler"),
        "torch.optim.optimizer": _of(
            optimizers, "Optimizer register_optimizer_step_pre_hook register_optimizer_step_post_hook"
        ),
        **one_each,
    }


_LINEAR_ALGEBRA = "cholesky solve solve_triangular det inverse logdet cholesky_solve"


def _others() -> Contents:
    norms = {"vector_norm": reductions.vector_norm, "norm": reductions.vector_norm}
    return {
        "torch.distributions": _classes(distributions) | _of(distributions, "kl_divergence"),
        "torch.distributions.normal": _of(distributions, "Normal"),
        "torch.distributions.categorical": _of(distributions, "Categorical"),
        "torch.distributions.bernoulli": _of(distributions, "Bernoulli"),
        "torch.distributions.kl": _of(distributions, "kl_divergence"),
        "torch.utils": {},
        "torch.utils.data": _public(data),
        "torch.utils.data.dataset": _public(data),
        "torch.utils.data.dataloader": _public(data),
        "torch.utils.checkpoint": _of(checkpoint, "checkpoint"),
        "torch.linalg": {**_of(products, _LINEAR_ALGEBRA), "inv": products.inverse, **norms},
        "torch.func": _public(transforms),
        "torch.random": _of(random, "Generator manual_seed seed initial_seed get_rng_state set_rng_state"),
        "torch.special": {"expit": elementwise.sigmoid, "logsumexp": reductions.logsumexp},
        "torch.functional": _of(products, "einsum"),
    }


def _top() -> dict[str, Any]:
    operations = (arithmetic, elementwise, reductions, ordering, products, pieces, indexing, shapes, conversions)
    contents = _public(*operations, layer_operations, creation, random)
    contents |= _classes(grad_mode) | _dtypes()
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
        "autocast": Ignored,
        "contiguous_format": "torch.contiguous_format",
        "default_generator": random.DEFAULT,
        "device": dtypes.device,
        "dtype": dtypes.dtype,
        "finfo": _Finfo,
        "get_default_dtype": dtypes.default,
        "get_num_threads": lambda: 1,
        "is_tensor": lambda value: isinstance(value, Tensor),
        "newaxis": None,
        "preserve_format": "torch.preserve_format",
        "result_type": lambda a, b: dtypes.promote(a.dtype, b.dtype),
        "set_default_dtype": dtypes.set_default,
        "set_num_threads": lambda count: None,
        "strided": "torch.strided",
        "use_deterministic_algorithms": _nothing,
    }
    return contents | {other: contents[name] for other, name in _OTHER_NAMES.items()}


_OTHER_NAMES = dict(
    pair.split("=")
    for pair in "absolute=abs clip=clamp concat=cat concatenate=cat divide=div multiply=mul negative=neg subtract=sub".split()
)
"""Of functions that torch has twice."""


def build() -> dict[str, FaceModule]:
    """All modules by their dotted names, `torch` among them, tied to each other as attributes."""
    made = {}
    for name, offered in {"torch": _top(), **_nn(), **_autograd(), **_elsewhere(), **_optim(), **_others()}.items():
        made[name] = FaceModule(name)
        made[name].__dict__.update(offered, __path__=[])
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
    for kind in _modules_of(layers, calling).values():
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
