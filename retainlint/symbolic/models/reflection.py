"""isinstance, hasattr, getattr and setattr."""

from __future__ import annotations

from retainlint.source import Span
from retainlint.symbolic import classes
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import State
from retainlint.symbolic.values import (
    NONE,
    ClassObj,
    Const,
    DictObj,
    External,
    Instance,
    LayerObj,
    ListObj,
    OptimizerObj,
    Ref,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)

_KINDS = {
    "list": ListObj, "dict": DictObj, "torch.Tensor": TensorObj, "torch.nn.Parameter": TensorObj,
    "torch.optim.Optimizer": OptimizerObj,
}  # fmt: skip


_SCALARS = {"int": int, "float": float, "str": str, "bool": bool, "bytes": bytes}


def isinstance_(state: State, args: Args) -> Value:
    """Whether an object is of a class, where both are known."""
    value, kinds = args.get(0, "obj"), args.get(1, "class")
    answers = [_is_of(state, value, k) for k in (kinds.items if isinstance(kinds, Tuple) else (kinds,))]
    if any(answer is True for answer in answers):
        return Const(True)
    if all(answer is False for answer in answers):
        return Const(False)
    return Term("isinstance", (value, kinds))


def _is_of(state: State, value: Value, kind: Value) -> bool | None:
    held = state.get(value)
    name = kind.path.removeprefix("builtins.") if isinstance(kind, External) else ""
    if isinstance(held, UnknownObj) or isinstance(value, Term):
        return None
    if isinstance(held, Instance):
        if any(base == kind for base in classes.ancestry(state, held.cls)):
            return True
        return False if isinstance(state.get(kind), ClassObj) and not classes.is_open(state, held.cls) else None
    if name == "tuple":
        return isinstance(value, Tuple)
    if name in _KINDS:
        return isinstance(held, _KINDS[name])
    if isinstance(value, Const) and name in _SCALARS:
        return isinstance(value.value, _SCALARS[name])
    if isinstance(held, LayerObj) and name.startswith("torch.nn."):
        return name in ("torch.nn.Module", f"torch.nn.{held.kind}")
    if name in _SCALARS and isinstance(held, ListObj | DictObj | TensorObj | LayerObj):
        return False
    return None


def hasattr_(state: State, args: Args) -> Value:
    obj, name = args.get(0, "obj"), args.get(1, "name")
    held = state.get(obj)
    if isinstance(held, Instance) and isinstance(name, Const):
        key = str(name.value)
        if key in held.attrs or classes.find(state, obj, key) is not None:
            return Const(True)
        if not classes.is_open(state, held.cls):
            return Const(False)
    return Term("hasattr", (obj, name))


def getattr_(machine: Machine, state: State, args: Args, span: Span) -> Results:
    obj, name = args.get(0, "obj"), args.get(1, "name")
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return [(state, unknown.fresh(state, span))]
    if len(args.pos) > 2 and hasattr_(state, args) == Const(False):
        return [(state, args.pos[2])]
    return machine.attribute(state, obj, name.value, span)


def setattr_(machine: Machine, state: State, args: Args, span: Span) -> Results:
    obj, name, value = args.get(0, "obj"), args.get(1, "name"), args.get(2, "value")
    if isinstance(name, Const) and isinstance(name.value, str):
        return [(each, NONE) for each in machine.set_attribute(state, obj, name.value, value, span)]
    unknown.forget(machine, state, obj) if isinstance(obj, Ref) else None
    return [(state, NONE)]
