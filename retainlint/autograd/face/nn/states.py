"""Loading a state into a module: by path, in place, or by putting the tensors there."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

from retainlint.autograd.face.modes import no_grad
from retainlint.autograd.face.nn.parameter import Parameter
from retainlint.autograd.face.tensor import Tensor

_Keys = namedtuple("_Keys", ["missing_keys", "unexpected_keys"])


class IncompatibleKeys(_Keys):
    """What a state dict lacked, and what it had too much."""

    def __repr__(self) -> str:
        return "<All keys matched successfully>" if not self[0] and not self[1] else super().__repr__()

    __str__ = __repr__


def load(module: Any, state: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """What `module.load_state_dict` does; RuntimeError, with all that doesn't fit, after the rest was copied."""
    own = module.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state]
    unexpected = [name for name in state if name not in own]
    problems = []
    if strict and unexpected:
        problems.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
    if strict and missing:
        problems.append(f"Missing key(s) in state_dict: {_quoted(missing)}. ")
    with no_grad():
        for name in (name for name in own if name in state):
            value = state[name]
            if value.shape != own[name].shape:
                problems.append(
                    f"size mismatch for {name}: copying a param with shape {value.shape} from checkpoint, the shape in "
                    f"current model is {own[name].shape}."
                )
            elif assign:
                _put_there(module, name, value)
            else:
                own[name].copy_(value)
    if problems:
        raise RuntimeError(
            "Error(s) in loading state_dict for {}:\n\t{}".format(type(module).__name__, "\n\t".join(problems))
        )
    return IncompatibleKeys(missing, unexpected)


def _put_there(module: Any, path: str, value: Tensor) -> None:
    parent, _, name = path.rpartition(".")
    module = module.get_submodule(parent)
    if name in module._parameters:
        known = module._parameters[name]
        module._parameters[name] = Parameter(value, requires_grad=known is None or known.requires_grad)
    else:
        module._buffers[name] = value


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
