"""How far a call that nobody sees is trusted: by what is called, and by its name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeGuard

from retainlint.startup.lazy_patterns import pattern
from retainlint.symbolic.models.unknown import weights
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    GUESS,
    Closure,
    External,
    Instance,
    LayerObj,
    Method,
    Ref,
    UnknownObj,
    Value,
)

_MODULE_NAME = pattern(
    r"(^|_)(model|net|network|generator|discriminator|encoder|decoder|critic|actor|policy|criterion"
    r"|loss_?f(?:n|un|unc|ct|unction)?|objective|mll)(\d*|_[a-z\d]{1,2})$|^(net|model)[A-Z]?\w?$|_loss$|_criterion$|^criterion",
    re.IGNORECASE,
)
_CRITERION = pattern(r"^(loss|crit|loss_(layer|module|obj))$")
"""Names of what, if it is called, computes a loss."""
_FORWARD = pattern(r"(^|_)forward(_(once|one|train\w*|features?|head|loss|impl))?$")
"""Methods of networks that do what a call does."""
_LOSS = pattern(r"(^|_)(criterion|crit|objective|loss(_?f(n|un|unc|ct|unction)?|_(layer|module|obj))?)$", re.IGNORECASE)
"""Names of criteria."""
_NO_OPERATIONS = ("torch.distributed.", "torch.multiprocessing.", "torch.utils.data.", "torch.utils.tensorboard.")
_READERS = frozenset(
    """builtins torch numpy math logging torchvision matplotlib tqdm json random time os sys pprint PIL cv2 sklearn scipy
    pandas warnings wandb tensorboardX tensorboard_logger visdom mlflow loguru absl""".split()
)
"""Libraries that only look at what they are given."""
LOOKS = frozenset(
    """add_scalar add_scalars add_histogram add_image add_images add_figure add_text set_postfix set_postfix_str
    set_description set_description_str info debug warning error critical log log_dict print""".split()
)
"""Methods of writers, bars, loggers and Lightning's modules, which tell what they are given and keep nothing of it."""


def level(machine: Machine, state: State, func: Value, args: Args) -> tuple[int, str]:
    """How sure we are that a call builds a graph that saves, and the words for it."""
    held = state.get(func)
    if not args.pos and not args.named and not args.open:
        return GUESS, ""
    if isinstance(held, UnknownObj) and (is_network(held) or _is_called_loss(held)):
        return CONVENTIONAL, f"calling `{held.name or 'the module'}` builds a graph and saves tensors for it"
    if isinstance(held, UnknownObj) and _FORWARD.search(held.name) and weights.OWNER in held.attrs:
        return CONVENTIONAL, f"`{held.name}` of a network builds a graph and saves tensors for it"
    if isinstance(func, External) and func.path in machine.graphs.modules:
        return CONVENTIONAL, f"calling `{name_of(state, func)}` builds a graph and saves tensors for it"
    if is_operation(func) and not func.path.startswith(_NO_OPERATIONS):
        return CONVENTIONAL, f"`{func.path}` saves tensors for its backward"
    if isinstance(held, Instance | LayerObj):
        return CONVENTIONAL, "calling the module builds a graph and saves tensors for it"
    return GUESS, ""


def is_network(held: UnknownObj) -> bool:
    """Whether something was used as a module, or is called like one."""
    if held.hint in ("module", "submodule"):
        return True
    return held.hint in ("", "instance") and _is_named_so(held.name)


@lru_cache(maxsize=limits.REMEMBERED_NAMES)
def _is_named_so(name: str) -> bool:
    return _MODULE_NAME.search(name) is not None


def _is_called_loss(held: UnknownObj) -> bool:
    """Whether something that is called is called a loss; a method of that name may cut what it is given."""
    is_method = held.made.text.endswith(f".{held.name}") and not held.made.text.startswith("self.")
    return not (held.hint or is_method) and _CRITERION.search(held.name) is not None


def is_criterion(held: UnknownObj) -> bool:
    """Whether what is called computes a loss of what it is given, by convention without weights of its own."""
    return _LOSS.search(held.name) is not None


def is_operation(func: Value) -> TypeGuard[External]:
    """Whether a callee is a function of torch's."""
    return isinstance(func, External) and func.path.startswith("torch.")


def name_of(state: State, func: Value) -> str:
    """What a callee is called."""
    held = state.get(func)
    match func:
        case Ref() if isinstance(held, UnknownObj):
            return held.name
        case Method(name=name):
            return name
        case External(path=path):
            return path.rpartition(".")[2]
        case Closure(code=code):
            return code.name
    return ""


def keeps_nothing(state: State, func: Value) -> bool:
    """Whether a callee surely keeps no graph that it is given, walks none, and zeroes no gradients."""
    if not isinstance(func, Closure) and name_of(state, func) in LOOKS:
        return True
    if not isinstance(func, External) or func.path.startswith(_NO_OPERATIONS):
        return False
    return func.path.partition(".")[0] in _READERS


def is_library(func: Value) -> bool:
    """Whether a callee surely keeps and walks nothing that it is given."""
    return isinstance(func, External) and func.path.partition(".")[0] in (
        "builtins", "torch", "numpy", "math", "logging",
    )  # fmt: skip
