"""Which class a value is of, exactly (`type(x)`), and whether two classes are one."""

from __future__ import annotations

import re

from retainlint.symbolic.state import State
from retainlint.symbolic.values import ClassObj, Const, External, Instance, LayerObj, Ref, Value

SCALARS = {"int": int, "float": float, "str": str, "bool": bool, "bytes": bytes}


_CLASSES = (External, Ref)
_HEIRS = {"_BatchNorm": r"(Sync)?BatchNorm(\dd)?", "_ConvNd": r"Conv(Transpose)?\dd", "RNNBase": "RNN|LSTM|GRU"}
"""The layers that derive from a base of torch's own."""


def kind(state: State, value: Value) -> Value | None:
    """`type(value)`; None for what may be of many kinds."""
    held = state.get(value)
    if isinstance(held, Instance):
        return held.cls
    if isinstance(held, LayerObj):
        return External(f"torch.nn.{held.kind}")
    if isinstance(value, Const) and (name := type(value.value).__name__) in SCALARS:
        return External(f"builtins.{name}")
    return None


def layer_named(path: str) -> str | None:
    """Which layer of torch's a class is that others don't derive from, but for the base of all."""
    name = path.rpartition(".")[2]
    is_base = name.startswith("_") or name.endswith("Base")
    return name if path.startswith("torch.nn.") and name[:1].isupper() and not is_base else None


def is_layer(kind: str, path: str) -> bool | None:
    """Whether a layer of this kind is one of a class of torch's; None for bases that nobody here knows."""
    name = path.rpartition(".")[2]
    if name in _HEIRS:
        return re.fullmatch(_HEIRS[name], kind) is not None
    layer = layer_named(path)
    return None if layer is None else layer in ("Module", kind)


def same(state: State, left: Value, right: Value) -> bool | None:
    """Whether two classes are one; None where they may not be classes, or nobody knows."""
    if type(left) not in _CLASSES or type(right) not in _CLASSES:
        return None
    known = [_known_as(state, each) for each in (left, right)]
    return None if None in known else known[0] == known[1]


def _known_as(state: State, value: Value) -> Value | str | None:
    """What tells a class from all others, if it is one."""
    if isinstance(state.get(value), ClassObj):
        return value
    if not isinstance(value, External):
        return None
    name = value.path.removeprefix("builtins.")
    return name if name in SCALARS else layer_named(value.path)
