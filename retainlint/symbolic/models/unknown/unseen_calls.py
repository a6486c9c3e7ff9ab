"""How far a call that nobody sees is trusted: by what is called, and by its name."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeGuard

from retainlint.symbolic.models.unknown import conventions
from retainlint.symbolic.state import known_libraries, limits
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    GUESS,
    MODULES,
    Closure,
    Const,
    External,
    Instance,
    LayerObj,
    Method,
    Ref,
    UnknownObj,
    Value,
)


def level(machine: Machine, state: State, func: Value, args: Args) -> tuple[int, str]:
    """How sure we are that a call builds a graph that saves, and the words for it."""
    held = state.get(func)
    if all(isinstance(each, Const) for each in args.all) and not args.open:
        return GUESS, ""  # no network is given options alone
    if isinstance(held, UnknownObj) and (is_network(held) or _is_called_loss(held)):
        return CONVENTIONAL, conventions.NETWORK.says.format(name=held.name or "the module")
    if isinstance(held, UnknownObj) and is_of_losses(held):
        return CONVENTIONAL, conventions.LOSS_CLASS.says.format(name=held.name or held.made.text)
    if isinstance(held, UnknownObj) and conventions.FORWARD.takes(held.name) and held.notes.owner is not None:
        return CONVENTIONAL, conventions.FORWARD.says.format(name=held.name)
    if isinstance(func, External) and func.path in machine.graphs.modules:
        return CONVENTIONAL, conventions.NETWORK.says.format(name=name_of(state, func))
    if is_operation(func) and conventions.TORCH_FUNCTION.takes(func.path):
        return CONVENTIONAL, conventions.TORCH_FUNCTION.says.format(name=func.path)
    if isinstance(held, Instance | LayerObj):
        return CONVENTIONAL, "calling the module builds a graph and saves tensors for it"
    return GUESS, ""


def is_network(held: UnknownObj) -> bool:
    """Whether something was used as a module, or is called like one."""
    if held.hint in MODULES:
        return True
    return held.hint in ("", "instance") and _is_named_so(held.name)


def is_called_network(held: UnknownObj) -> bool:
    """Whether something is called like a network or a layer with parameters, or the class is that made it."""
    return _is_named_so(held.name) or makes_networks(held.made.text.partition("(")[0])


def makes_networks(cls: str) -> bool:
    """Whether a class is called like one of networks, of layers with parameters, or of losses."""
    rows = (conventions.NETWORK_CLASS, conventions.LAYER_CLASS, conventions.LOSS_CLASS)
    return any(row.takes(cls) for row in rows)


@lru_cache(maxsize=limits.REMEMBERED_NAMES)
def _is_named_so(name: str) -> bool:
    return conventions.NETWORK.takes(name)


def _is_called_loss(held: UnknownObj) -> bool:
    """Whether something that is called is called a loss; a method of that name may cut what it is given."""
    is_method = held.made.text.endswith(f".{held.name}") and not held.made.text.startswith("self.")
    return not (held.hint or is_method) and conventions.LOSS.takes(held.name)


def is_criterion(held: UnknownObj) -> bool:
    """Whether what is called computes a loss of what it is given, by convention without weights of its own."""
    return conventions.CRITERION.takes(held.name) or is_of_losses(held)


def is_of_losses(held: UnknownObj) -> bool:
    """Whether an object was made by a class that is called one of losses."""
    return held.hint == "instance" and conventions.LOSS_CLASS.takes(held.made.text.partition("(")[0])


def gives_data(state: State, func: Value) -> bool:
    """Whether a callee is a method of what holds data, by its name."""
    if isinstance(func, Method):
        receiver = state.get(func.obj)
        return isinstance(receiver, UnknownObj) and conventions.DATA_SOURCE.takes(receiver.name)
    held = state.get(func)
    if not isinstance(held, UnknownObj):
        return False
    whole, dot, name = held.made.text.rpartition(".")
    return bool(dot) and name == held.name and conventions.DATA_SOURCE.takes(whole.rpartition(".")[2])


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
    if not isinstance(func, Closure) and conventions.TELLS.takes(name_of(state, func)):
        return True
    if not isinstance(func, External) or func.path.startswith(known_libraries.NO_OPERATIONS):
        return False
    return known_libraries.known_for("reader", func.path)


def is_library(func: Value) -> bool:
    """Whether a callee surely keeps and walks nothing that it is given."""
    return isinstance(func, External) and known_libraries.known_for("harmless", func.path)
