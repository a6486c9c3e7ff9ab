"""Parts of a module that take the place of others: `layers[2] = Linear(4, 2)`, `net._modules["head"] = head`."""

from __future__ import annotations

from retainlint.records import replace
from retainlint.source import Span
from retainlint.symbolic import heirs
from retainlint.symbolic.state import State
from retainlint.symbolic.values import Const, Instance, LayerObj, Ref, Slice, UnknownObj, Value

_NUMBERED = ("Sequential", "ModuleList")
_LISTING = (*_NUMBERED, "ModuleDict")
"""Layers that run, or list, whatever is set on them."""


def put(state: State, obj: Value, name: str, part: Value) -> None:
    """A part of a module, or any attribute of a layer, under a name that may have been another's."""
    held = state.get(obj)
    if not isinstance(obj, Ref) or not isinstance(held, LayerObj | Instance):
        return
    if isinstance(held, LayerObj):
        names, children = _names(held), held.children
        if name in names:
            children = tuple(part if name == each else child for each, child in zip(names, children, strict=True))
        elif held.kind in _LISTING and heirs.is_part(state, part):
            children = (*children, part)
        held = replace(held, children=children)
    state.set(obj, replace(held, attrs={**held.attrs, name: part}))


def at(state: State, obj: Ref, index: Value, part: Value, span: Span) -> None:
    """`obj[index] = part`, where that lists modules; it is nobody knows which network, if the index isn't known."""
    held = state.get(heirs.layer(state, obj) or obj)
    if not isinstance(held, LayerObj):
        return
    names = _names(held)
    if isinstance(index, Const) and isinstance(index.value, str):
        put(state, obj, index.value, part)
    elif isinstance(index, Const) and isinstance(index.value, int) and -len(names) <= index.value < len(names):
        put(state, obj, names[index.value], part)
    elif isinstance(state.get(obj), LayerObj):
        state.set(obj, UnknownObj(span, hint="module"))


def insert(state: State, obj: Ref, index: Value, part: Value) -> None:
    """`obj.insert(index, part)`, of what lists modules by their numbers."""
    held = state.get(heirs.layer(state, obj) or obj)
    if isinstance(held, LayerObj) and isinstance(index, Const) and isinstance(index.value, int):
        parts = list(held.children)
        parts.insert(index.value, part)
        _number(state, obj, held, parts)


def remove(state: State, obj: Ref, index: Value) -> None:
    """`del obj[index]`: those behind it move up."""
    held = state.get(heirs.layer(state, obj) or obj)
    if not isinstance(held, LayerObj) or held.kind not in _NUMBERED:
        return
    parts = list(held.children)
    bounds = index.parts if isinstance(index, Slice) else (index,)
    numbers = [bound.value for bound in bounds if isinstance(bound, Const)]
    known = [each if isinstance(each, int) else None for each in numbers if isinstance(each, int | None)]
    if len(known) < len(bounds):
        return
    if isinstance(index, Slice):
        del parts[slice(*known)]
    elif known[0] is not None and -len(parts) <= known[0] < len(parts):
        del parts[known[0]]
    _number(state, obj, held, parts)


def forget(state: State, obj: Value, span: Span) -> None:
    """Somebody may have put other modules in the place of these."""
    held = state.get(obj)
    if isinstance(obj, Ref) and isinstance(held, LayerObj | Instance):
        names = [name for name, part in held.attrs.items() if heirs.is_part(state, part)]
        for name in names:
            put(state, obj, name, state.new(UnknownObj(span, hint="submodule", name=name)))


def _number(state: State, obj: Ref, held: LayerObj, parts: list[Value]) -> None:
    """Give a layer these parts, under their numbers."""
    owner = state.heap[obj.id]
    assert isinstance(owner, LayerObj | Instance)
    gone = set(_names(held))
    attrs = {name: value for name, value in owner.attrs.items() if name not in gone}
    attrs |= {str(number): part for number, part in enumerate(parts)}
    owner = replace(owner, children=tuple(parts)) if isinstance(owner, LayerObj) else owner
    state.set(obj, replace(owner, attrs=attrs))


def _names(held: LayerObj) -> list[str]:
    """Under which name each child of a layer stands."""
    found = [name for name, value in held.attrs.items() if value in held.children]
    count = len(held.children)
    return found if len(found) == count else [str(number) for number in range(count)]
