"""What a module is made of: its children and theirs by their names, and parts that take the place of others."""

from __future__ import annotations

from collections.abc import Iterator

from retainlint import ir
from retainlint.startup.records import replace
from retainlint.symbolic.state import classes, havoc
from retainlint.symbolic.state.classes import find, is_module
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    MODULES,
    Closure,
    Const,
    DictObj,
    Instance,
    LayerObj,
    ListObj,
    Notes,
    Ref,
    Slice,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span


def listed(state: State, obj: Value, method: str) -> Value:
    """What `children`, `modules` and the like give; an open list where some part is a module that nobody sees."""
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


REGISTERED = frozenset(("_modules", "_parameters", "_buffers"))
"""The dicts in which a module keeps its parts, parameters and buffers."""


def registered(state: State, obj: Value, kind: str) -> Value:
    """`module._modules`, or another of these, as it is now."""
    found: dict[Value, str] = {}
    sure = _gather(state, obj, "", found, deep=False)
    if kind != "_modules":
        held = state.get(obj)
        attrs = held.attrs.items() if isinstance(held, LayerObj | Instance) else ()
        own = ((name, part, state.get(part)) for name, part in attrs)
        tensors = ((name, part, tensor) for name, part, tensor in own if isinstance(tensor, TensorObj))
        found = {part: name for name, part, tensor in tensors if tensor.parameter == (kind == "_parameters")}
        sure = False  # what nobody sees may have been registered, and what is a tensor needn't be
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
            sure &= child.plain or child.hint not in (*MODULES, "instance")
        is_part = isinstance(child, LayerObj) or (isinstance(child, Instance) and is_module(state, part))
        if not is_part or part in found:
            continue
        found[part] = f"{prefix}{name}"
        if deep:
            sure &= _gather(state, part, f"{prefix}{name}.", found, deep)
    return sure


def forget_set(state: State, obj: Value, method: ir.Code) -> None:
    """Forget what a method that isn't followed sets anew on its object; a network's `forward` calls those of its parts."""
    havoc.forget_set(state, obj, method)
    for part in below(state, obj) if method.name in ("forward", "__call__") else ():
        inner = find(state, part, method.name)
        if isinstance(inner, Closure):
            havoc.forget_set(state, part, inner.code)


def owned(state: State, value: Value) -> tuple[list[Value], bool]:
    """The parameters of a module, and whether these are surely all. A plain list hides its modules, as in torch."""
    named, sure = named_parameters(state, value)
    return list(named.values()), sure


def named_parameters(state: State, value: Value, *, deep: bool = True) -> tuple[dict[str, Value], bool]:
    """The parameters of a module by their dotted names, and whether these are surely all; only its own, if not `deep`."""
    found: dict[str, Value] = {}
    sure = True
    held = state.get(value)
    attrs = held.attrs.values() if isinstance(held, LayerObj | Instance) and not deep else ()
    parts = {each.id for each in attrs if type(each) is Ref and not isinstance(state.get(each), TensorObj)}
    for name, each in _parameters(state, value, "", parts):
        if each is None:
            sure = False
        else:
            found[name] = each
    return found, sure


def _parameters(state: State, value: Value, prefix: str, seen: set[int]) -> Iterator[tuple[str, Value | None]]:
    """Each parameter once, and None for a part that may have some which nobody sees."""
    if type(value) is not Ref or value.id in seen:
        return
    seen.add(value.id)
    held = state.heap[value.id]
    if isinstance(held, TensorObj):
        if held.parameter:
            yield prefix, value
    elif isinstance(held, UnknownObj):
        if held.hint in MODULES:
            yield prefix, None
    elif isinstance(held, (LayerObj, Instance)):
        for name, part in held.attrs.items():
            yield from _parameters(state, part, f"{prefix}.{name}" if prefix else name, seen)


def buffers(state: State, obj: Value, method: str) -> Value:
    """What `buffers` or `named_buffers` gives: the tensors of a module and its parts that are no parameters; an open list
    where some part isn't seen, or may have some that nobody names."""
    found: dict[Value, str] = {}
    parts: dict[Value, str] = {}
    sure = _gather(state, obj, "", parts, deep=True)
    for part, prefix in {obj: "", **parts}.items():
        held = state.get(part)
        for name, value in held.attrs.items() if isinstance(held, LayerObj | Instance) else ():
            if isinstance(tensor := state.get(value), TensorObj) and not tensor.parameter:
                found.setdefault(value, f"{prefix}.{name}" if prefix else name)
    named = method.startswith("named")
    items = tuple(Tuple((Const(name), value)) if named else value for value, name in found.items())
    return state.new(ListObj(items, open=not (sure and items)))


def is_frozen(state: State, value: Value) -> bool:
    """Whether something is a module of whose parameters we know some, and none needs a gradient."""
    known = False
    for _, each in _parameters(state, value, "", set()):
        known = True
        held = None if each is None else state.get(each)
        if not isinstance(held, TensorObj) or held.edge is not None:
            return False
    return known


_NUMBERED = ("Sequential", "ModuleList")

_OF_PARAMETERS = ("ParameterList", "ParameterDict")

_LISTING = (*_NUMBERED, "ModuleDict")
"""Layers that run, or list, whatever module is set on them."""


def put(state: State, obj: Value, name: str, part: Value) -> None:
    """A part of a module, or any attribute of a layer, under a name that may have been another's."""
    held = state.get(obj)
    if not isinstance(obj, Ref) or not isinstance(held, LayerObj | Instance):
        return
    if isinstance(held, LayerObj):
        names, children = _names(held), held.children
        if name in names:
            children = tuple(part if name == each else child for each, child in zip(names, children, strict=True))
        elif (held.kind in _LISTING and classes.is_part(state, part)) or held.kind in _OF_PARAMETERS:
            children = (*children, part)
        held = replace(held, children=children)
    state.set(obj, replace(held, attrs={**held.attrs, name: part}))


def as_parameter(machine: Machine, state: State, kind: str, value: Value, span: Span) -> Value:
    """What a ParameterList or a ParameterDict holds of what it is given: of a tensor a parameter."""
    held = state.get(value)
    if kind not in _OF_PARAMETERS or not isinstance(held, TensorObj) or held.parameter:
        return value
    return state.new(TensorObj(machine.graphs.leaf(state.moment(span)), ticket(), parameter=True))


def at(state: State, obj: Ref, index: Value, part: Value, span: Span) -> None:
    """`obj[index] = part`, where that lists modules; it is nobody knows which network, if the index isn't known."""
    held = state.get(classes.layer(state, obj) or obj)
    if not isinstance(held, LayerObj):
        return
    names = _names(held)
    if isinstance(index, Const) and isinstance(index.value, str):
        put(state, obj, index.value, part)
    elif isinstance(index, Const) and isinstance(index.value, int) and -len(names) <= index.value < len(names):
        put(state, obj, names[index.value], part)
    elif isinstance(state.get(obj), LayerObj):
        state.set(obj, UnknownObj(span, hint="module"))


def sequential(state: State, children: tuple[Value, ...], kind: str = "Sequential", *, training: bool = True) -> Value:
    """A Sequential, or a ModuleList, of these."""
    return state.new(LayerObj(kind, {str(number): each for number, each in enumerate(children)}, children, training))


def joined(state: State, left: Value, right: Value) -> Value | None:
    """`left + right`, of two Sequentials or two ModuleLists; None of anything else."""
    first, second = (state.get(classes.layer(state, each) or each) for each in (left, right))
    if not isinstance(first, LayerObj) or not isinstance(second, LayerObj) or first.kind not in _NUMBERED:
        return None
    children = (*first.children, *second.children)
    return sequential(state, children, first.kind, training=first.training) if second.kind in _NUMBERED else None


def is_list(state: State, value: Value) -> bool:
    """Whether it is a module that lists others by their numbers, and may be given more."""
    held = state.get(classes.layer(state, value) or value)
    return isinstance(value, Ref) and isinstance(held, LayerObj) and held.kind in _NUMBERED


def named(state: State, obj: Value, path: str) -> Value | None:
    """What stands under a dotted name in a module; None where it isn't seen."""
    for name in filter(None, path.split(".")):
        held = state.get(classes.layer(state, obj) or obj)
        if not isinstance(held, LayerObj | Instance) or name not in held.attrs:
            return None
        obj = held.attrs[name]
    return obj


def insert(state: State, obj: Ref, index: Value, part: Value) -> None:
    """`obj.insert(index, part)`, of what lists modules by their numbers."""
    held = state.get(classes.layer(state, obj) or obj)
    if isinstance(held, LayerObj) and isinstance(index, Const) and isinstance(index.value, int):
        parts = list(held.children)
        parts.insert(index.value, part)
        _number(state, obj, held, parts)


def remove(state: State, obj: Ref, index: Value) -> None:
    """`del obj[index]`: those behind it move up."""
    held = state.get(classes.layer(state, obj) or obj)
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


def some_part(state: State, obj: Value, span: Span) -> Ref:
    """What stands in a module, or in some part of one, under a name that nobody knows."""
    held = state.get(obj)
    whole = held.notes.within if isinstance(held, UnknownObj) else obj if classes.is_module(state, obj) else None
    return state.new(UnknownObj(span, notes=Notes(within=whole)))


def forget(state: State, obj: Value, span: Span, begins: str = "") -> None:
    """Somebody may have put other modules in the place of these, under names that begin so, or of those of which it is some
    part."""
    held = state.get(obj)
    if isinstance(held, UnknownObj) and held.notes.within is not None:
        forget(state, held.notes.within, span)
    if isinstance(obj, Ref) and isinstance(held, LayerObj | Instance):
        names = [n for n, part in held.attrs.items() if n.startswith(begins) and classes.is_part(state, part)]
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
