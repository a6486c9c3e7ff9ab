"""Objects whose class derives from a layer of torch.nn: the layer in them, with the parameters and parts that both have."""

from __future__ import annotations

from retainlint.records import replace
from retainlint.symbolic.classes import is_module, layer_of
from retainlint.symbolic.state import State
from retainlint.symbolic.values import FALSE, Instance, LayerObj, Ref, Tuple, UnknownObj, Value

LAYER = "(layer)"
"""Under this name an object holds its layer, in a tuple: the layer is no part of it."""
_GROWING = ("Sequential", "ModuleList", "ModuleDict")


def begin(state: State, obj: Ref, made: Value) -> None:
    """`super().__init__(...)`: what the layer has, the object has."""
    held, layer = state.heap[obj.id], state.get(made)
    if isinstance(held, Instance) and isinstance(layer, LayerObj):
        own = {name: value for name, value in layer.attrs.items() if not name.startswith("_")}
        state.set(obj, replace(held, attrs={**held.attrs, **own, LAYER: Tuple((made,))}))


def layer(state: State, obj: Value) -> Ref | None:
    """The layer in an object, as the object is now; None if there is none."""
    held = state.get(obj)
    kept = held.attrs.get(LAYER) if isinstance(held, Instance) else None
    if not isinstance(held, Instance) or not isinstance(kept, Tuple):
        return None
    ref = kept.items[0]
    inner = state.get(ref)
    assert isinstance(ref, Ref) and isinstance(inner, LayerObj)
    training = held.attrs.get("training") != FALSE
    if inner.kind in _GROWING:
        parts = {name: value for name, value in held.attrs.items() if is_part(state, value)}
        now = replace(inner, attrs=parts, children=tuple(parts.values()), training=training)
    else:
        shared = {name: held.attrs.get(name, value) for name, value in inner.attrs.items()}
        now = replace(inner, attrs=shared, training=training)
    if now != inner:
        state.set(ref, now)
    return ref


def children(state: State, obj: Value) -> tuple[Value, ...]:
    """The modules in an object that is a Sequential or a ModuleList."""
    inner = state.get(layer(state, obj) or obj)
    return inner.children if isinstance(inner, LayerObj) else ()


def derives(state: State, obj: Value) -> bool:
    """Whether an object's class derives from a layer."""
    return layer_of(state, obj) is not None


def is_part(state: State, value: Value) -> bool:
    """Whether a value is a module, and so a part of what it is set on."""
    held = state.get(value)
    if isinstance(held, UnknownObj):
        return held.hint in ("module", "submodule")
    return isinstance(held, LayerObj) or (isinstance(held, Instance) and is_module(state, value))
