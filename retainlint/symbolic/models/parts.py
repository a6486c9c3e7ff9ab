"""What a module is made of: its children, and theirs, by their names."""

from __future__ import annotations

from retainlint import ir
from retainlint.symbolic import between
from retainlint.symbolic.classes import find, is_module
from retainlint.symbolic.state import State
from retainlint.symbolic.values import (
    Closure,
    Const,
    DictObj,
    Instance,
    LayerObj,
    ListObj,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)

METHODS = ("children", "named_children", "modules", "named_modules")


def listed(state: State, obj: Value, method: str) -> Value:
    """What one of METHODS gives; an open list where some part is a module that nobody sees."""
    deep = method.endswith("modules")
    found: dict[Value, str] = {}
    sure = _gather(state, obj, "", found, deep)
    if deep:
        found = {obj: "", **found}
    pairs = [(Const(name), value) for value, name in found.items()]
    items: tuple[Value, ...] = tuple(map(Tuple, pairs)) if method.startswith("named") else tuple(found)
    return state.new(ListObj(items, not sure))


def below(state: State, obj: Value) -> tuple[Value, ...]:
    """The parts of a module that are seen, and theirs."""
    found: dict[Value, str] = {}
    _gather(state, obj, "", found, deep=True)
    return tuple(found)


def by_name(state: State, obj: Value) -> Value:
    """`module._modules`, as it is now."""
    found: dict[Value, str] = {}
    sure = _gather(state, obj, "", found, deep=False)
    return state.new(DictObj({Const(name): value for value, name in found.items()}, not sure, of=obj))


def _gather(state: State, obj: Value, prefix: str, found: dict[Value, str], deep: bool) -> bool:
    """Add the children of a module to `found`, each once, and say whether these are surely all."""
    held = state.get(obj)
    if not isinstance(held, LayerObj | Instance):
        return False
    sure = True
    for name, part in held.attrs.items():
        child = state.get(part)
        if isinstance(child, UnknownObj):
            sure &= child.plain or child.hint not in ("module", "submodule", "instance")
        is_part = isinstance(child, LayerObj) or (isinstance(child, Instance) and is_module(state, part))
        if not is_part or part in found:
            continue
        found[part] = f"{prefix}{name}"
        if deep:
            sure &= _gather(state, part, f"{prefix}{name}.", found, deep)
    return sure


def forget_set(state: State, obj: Value, method: ir.Code) -> None:
    """Forget what a method that isn't followed sets anew on its object; a network's `forward` calls those of its parts."""
    between.forget_set(state, obj, method)
    for part in below(state, obj) if method.name in ("forward", "__call__") else ():
        inner = find(state, part, method.name)
        if isinstance(inner, Closure):
            between.forget_set(state, part, inner.code)


def owned(state: State, value: Value) -> tuple[list[Value], bool]:
    """The parameters of a module, and whether these are surely all. A plain list hides its modules, as in torch."""
    named, sure = named_parameters(state, value, "", set())
    return list(named.values()), sure


def named_parameters(state: State, value: Value, prefix: str, seen: set[Value]) -> tuple[dict[str, Value], bool]:
    """The parameters of a module by their dotted names, and whether these are surely all."""
    if type(value) is not Ref or value in seen:
        return {}, True
    seen.add(value)
    held = state.heap[value.id]
    if isinstance(held, TensorObj):
        return ({prefix: value} if held.parameter else {}), True
    if isinstance(held, UnknownObj):
        return {}, held.hint not in ("module", "submodule")
    if not isinstance(held, (LayerObj, Instance)):
        return {}, True
    found: dict[str, Value] = {}
    sure = True
    for name, part in held.attrs.items():
        more, all_ = named_parameters(state, part, f"{prefix}.{name}" if prefix else name, seen)
        found |= more
        sure &= all_
    return found, sure


def is_frozen(state: State, value: Value) -> bool:
    """Whether something is a module of whose parameters we know some, and none needs a gradient."""
    named, sure = named_parameters(state, value, "", set())
    return sure and bool(named) and all(_needs_none(state, each) for each in named.values())


def _needs_none(state: State, parameter: Value) -> bool:
    held = state.get(parameter)
    return isinstance(held, TensorObj) and held.edge is None
