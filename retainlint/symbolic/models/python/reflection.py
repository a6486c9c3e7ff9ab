"""isinstance, hasattr, getattr and setattr, and an object's `__dict__`."""

from __future__ import annotations

import builtins
import collections.abc
import numbers

from retainlint.startup.records import replace
from retainlint.symbolic.models.python import dataclasses, iteration, options
from retainlint.symbolic.models.torch import submodules
from retainlint.symbolic.models.torch.names import WRAPPED, is_attribute, is_method
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver import decisions
from retainlint.symbolic.state import classes, exception_types
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    NONE,
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    Failure,
    HeapObj,
    Instance,
    LayerObj,
    ListObj,
    Method,
    Module,
    OptimizerObj,
    Ref,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_KINDS = {
    "torch.Tensor": TensorObj, "torch.autograd.Variable": TensorObj, "torch.optim.Optimizer": OptimizerObj
}  # fmt: skip

_MODULES = {each.__name__: each for each in (builtins, collections, collections.abc, numbers)} | {
    "typing": collections.abc
}
"""Where classes of Python's own stand; `typing` has those of `collections.abc`."""

_LISTS: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "deque": collections.deque}

_ANY = ("Iterable", "Sized", "Container", "Collection", "Reversible", "Hashable", "Callable", "Iterator")
"""What a tensor, or a module, may be by its methods."""

PUT = External("builtins.object.__setattr__")
"""Sets an attribute, whatever an object does of its own."""


_PARAMETERS = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")


_OTHERS = ("numpy.", "pandas.", "PIL.")
"""Where classes stand of which nothing with a graph is."""


def isinstance_(state: State, args: Args) -> Value:
    """Whether an object is of a class, where both are known."""
    value, kinds = args.get(0, "obj"), args.get(1, "class")
    answers = [_is_of(state, value, k) for k in (kinds.items if isinstance(kinds, Tuple) else (kinds,))]
    if any(answer is True for answer in answers):
        return Const(True)
    if all(answer is False for answer in answers):
        return Const(False)
    return Term("isinstance", (value, kinds))


def issubclass_(state: State, args: Args) -> Value:
    """Whether a class derives from another, where both are known: those of the program, and Python's exceptions."""
    cls, kinds = args.get(0, "class"), args.get(1, "classes")
    known: bool | None = None
    if exception_types.is_builtin(cls):
        names = classes.named_exceptions(state, kinds)
        known = None if names is None else exception_types.is_taken(state, exception_types.kind_of(state, cls), names)
    elif isinstance(state.get(cls), ClassObj):
        bases = classes.ancestry(state, cls)
        is_one = any(each in bases for each in (kinds.items if isinstance(kinds, Tuple) else (kinds,)))
        known = True if is_one else None if any(classes.unseen(state, cls)) else False
    return Term("issubclass", (cls, kinds)) if known is None else Const(known)


def _is_of(state: State, value: Value, kind: Value) -> bool | None:
    held = state.get(value)
    name = kind.path.removeprefix("builtins.") if isinstance(kind, External) else ""
    if isinstance(held, UnknownObj) or isinstance(value, Term):
        return None
    if isinstance(value, Failure):
        names = classes.named_exceptions(state, kind)
        return None if names is None else exception_types.is_taken(state, value, names)
    if name == "type" and isinstance(held, ClassObj | Instance):
        return isinstance(held, ClassObj)
    if isinstance(held, Instance):
        bases = tuple(classes.ancestry(state, held.cls))
        if kind in bases:
            return True
        unseen = set(classes.unseen(state, held.cls))
        layers = {
            External(path): layer
            for path in classes.of_others(state, held.cls)
            if (layer := decisions.layer_named(path)) is not None
        }
        if layers and name.startswith("torch.nn."):
            found = [decisions.is_layer(layer, name) for layer in layers.values()]
            return True if True in found else None if None in found or unseen - layers.keys() else False
        if name == "tuple" and dataclasses.is_tuple(state, held.cls):
            return True
        is_other = isinstance(state.get(kind), ClassObj) or _is_kind_of_data(kind)
        return False if is_other and not unseen else None
    if isinstance(kind, External) and (cls := _own_class(kind.path)) is not None:
        if (own := _own_type(held, value)) is not None:
            return True if issubclass(own, cls) else None if issubclass(cls, own) or {own, cls} == _SETS else False
        may_be = cls is object or cls.__name__ in _ANY
        return False if isinstance(held, TensorObj | LayerObj | ClassObj) and not may_be else None
    is_python_own = isinstance(value, Const | Tuple) or isinstance(held, ListObj | DictObj)
    if is_python_own and isinstance(state.get(kind), ClassObj):
        unseen_too = [each for each in classes.unseen(state, kind) if _own_class(getattr(each, "path", "")) is None]
        return None if classes.is_enum(state, kind) or unseen_too else False
    if name in _PARAMETERS:
        return isinstance(held, TensorObj) and held.parameter
    if name in _KINDS:
        return isinstance(held, _KINDS[name])
    if isinstance(held, TensorObj) and held.edge is not None and name.startswith(_OTHERS):
        return False
    if isinstance(held, LayerObj) and isinstance(state.get(kind), ClassObj):
        return False
    if isinstance(held, LayerObj) and name.startswith("torch.nn."):
        return decisions.is_layer(held.kind, name)
    return None


_SETS = {set, frozenset}


def _own_class(path: str) -> type | None:
    """A class of Python's own, by its path."""
    module, _, name = path.rpartition(".")
    found = getattr(_MODULES.get(module), name, None)
    return found if isinstance(found, type) else None


def _is_kind_of_data(kind: Value) -> bool:
    """Whether it is a class of Python's own of what holds data: an object is of none whose class derives from none."""
    cls = _own_class(kind.path) if isinstance(kind, External) else None
    return cls in (int, float, bool, str, bytes, list, tuple, dict, set, frozenset)


def _own_type(held: HeapObj | None, value: Value) -> type | None:
    """The type of what is Python's own; a set stands for a frozen one as well."""
    if isinstance(held, ListObj):
        return _LISTS.get(held.kind)
    if isinstance(held, DictObj):
        return dict
    return type(value.value) if isinstance(value, Const) else tuple if isinstance(value, Tuple) else None


def hasattr_(state: State, args: Args) -> Value:
    obj, name = args.get(0, "obj"), args.get(1, "name")
    held = state.get(obj)
    if isinstance(held, Instance) and isinstance(name, Const):
        key = str(name.value)
        if key in held.attrs or classes.find(state, obj, key) is not None:
            return Const(True)
        if not classes.is_open(state, held.cls):
            return Const(False)
    elif isinstance(name, Const) and isinstance(name.value, str):
        is_tensor = isinstance(held, TensorObj) or (isinstance(held, UnknownObj) and held.hint == "tensor")
        if is_tensor and (is_method(name.value) or is_attribute(name.value)):
            return Const(True)
        if isinstance(held, LayerObj) and (name.value in held.attrs or name.value in WRAPPED):
            return Const(name.value in held.attrs)
        if isinstance(obj, Const):
            return Const(hasattr(obj.value, name.value))
        if isinstance(obj, Bound | Closure) and name.value == "__self__":
            return Const(isinstance(obj, Bound))
    return Term("hasattr", (obj, name))


def getattr_(machine: Machine, state: State, args: Args, span: Span) -> Results:
    obj, name = args.get(0, "obj"), args.get(1, "name")
    name = options.default(state, name) or name
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return [(state, submodules.some_part(state, obj, span))]
    if len(args.pos) > 2 and (hasattr_(state, args) == Const(False) or _lacks(machine, obj, name.value)):
        return [(state, args.pos[2])]
    return machine.attribute(state, obj, name.value, span)


def _lacks(machine: Machine, obj: Value, name: str) -> bool:
    """Whether a module of the project surely has no such name: its text speaks of none, and takes over no other's."""
    project = machine.imports.project
    if not isinstance(obj, Module) or project is None:
        return False
    spoken = any(project.mentions(obj.place, each) for each in (name, "import *", "__getattr__"))
    return not spoken and project.submodule(obj.place, name) is None


def setattr_(machine: Machine, state: State, args: Args, span: Span) -> Results:
    obj, name, value = args.get(0, "obj"), args.get(1, "name"), args.get(2, "value")
    if isinstance(name, Const) and isinstance(name.value, str):
        return [(each, NONE) for each in machine.set_attribute(state, obj, name.value, value, span)]
    objects.forget(machine, state, obj) if isinstance(obj, Ref) else None
    _forget_methods(state, obj, _beginning(name), span)
    submodules.forget(state, obj, span, _beginning(name))
    if isinstance(state.get(name), UnknownObj):
        options.rebound(state, obj, span)
    return [(state, NONE)]


def _forget_methods(state: State, obj: Value, beginning: str, span: Span) -> None:
    """One of a class's methods is another from now on."""
    held = state.get(obj)
    if isinstance(held, ClassObj) and isinstance(obj, Ref):
        lost = [each for each, value in held.attrs.items() if isinstance(value, Closure) and each.startswith(beginning)]
        unknown = {each: state.new(UnknownObj(span, name=each)) for each in lost if not each.startswith("__")}
        state.set(obj, replace(held, attrs={**held.attrs, **unknown}))


def _beginning(name: Value) -> str:
    """What a text surely begins with of which more is unknown: `f"layer{number}"`."""
    shape = name.args[0] if isinstance(name, Term) and name.op == "text" else None
    return str(shape.value).partition("{")[0] if isinstance(shape, Const) else ""


def remove(state: State, obj: Value, name: str) -> None:
    """Take an attribute off an object."""
    held = state.get(obj)
    if isinstance(held, Instance | UnknownObj) and isinstance(obj, Ref):
        state.set(obj, replace(held, attrs={k: v for k, v in held.attrs.items() if k != name}))


def set_dict(machine: Machine, state: State, obj: Ref, value: Value, span: Span) -> None:
    """`obj.__dict__ = value`: other attributes; if it is an object that is a dict itself, these are its items."""
    held, content = state.heap[obj.id], classes.of(state, value)
    entries = iteration.entries(machine, state, content, span)
    attrs = {str(key.value): each for key, each in entries.items.items() if isinstance(key, Const)}
    if isinstance(held, Instance):
        kept = held.attrs if entries.open else {}
        state.set(obj, replace(held, attrs={**kept, **attrs}))
    if value == obj and isinstance(content, Ref) and isinstance(state.get(content), DictObj):
        state.set(content, replace(entries, of=obj))


def dict_method(machine: Machine, state: State, obj: Value, name: str, args: Args, span: Span) -> Results:
    """A method of `obj.__dict__`: its keys are the attributes."""
    held = state.get(obj)
    key, default = args.get(0, "key"), args.get(1, "default")
    if isinstance(held, Instance) and name in ("get", "pop", "setdefault") and isinstance(key, Const):
        attr = str(key.value)
        found = held.attrs.get(attr, default)
        if name == "pop":
            remove(state, obj, attr)
        elif name == "setdefault" and attr not in held.attrs:
            machine.call(state, PUT, Args((obj, key, default)), span)
        return [(state, found)]
    if isinstance(held, Instance) and name == "update":
        given = iteration.entries(machine, state, key, span) if args.pos else DictObj({})
        written = {str(k.value): value for k, value in given.items.items() if isinstance(k, Const)}
        if given.open and isinstance(obj, Ref):
            objects.forget(machine, state, obj)
            options.rebound(state, obj, span)
        for attr, value in {**written, **dict(args.named)}.items():
            machine.call(state, PUT, Args((obj, Const(attr), value)), span)
        return [(state, NONE)]
    if isinstance(held, Instance) and name in ("items", "keys", "values", "copy"):
        copied = state.new(DictObj({Const(attr): value for attr, value in classes.instance_dict(state, obj).items()}))
        return [(state, copied)] if name == "copy" else machine.call(state, Method(copied, name), args, span)
    if name in ("clear", "setdefault", "popitem") and isinstance(obj, Ref):
        objects.forget(machine, state, obj)
    return [(state, objects.derived(machine, state, obj, name, span))]
