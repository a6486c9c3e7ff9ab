"""Attributes: of objects and classes of the program, in the order Python looks them up; the rest is the models'."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from typing import TypeGuard

from retainlint.startup.records import replace
from retainlint.symbolic.interpreter import module_bodies, stub_modules
from retainlint.symbolic.merging import merge_states
from retainlint.symbolic.models import dispatch
from retainlint.symbolic.models.python import containers, dataclasses, reflection
from retainlint.symbolic.models.torch import layers, modules, submodules, tensors
from retainlint.symbolic.models.unknown import conventions, objects, weights
from retainlint.symbolic.solver import decisions
from retainlint.symbolic.state import classes, events, gradient_events
from retainlint.symbolic.state.classes import ancestry, class_of, find, is_module, is_open
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Flow, State
from retainlint.symbolic.state.values import (
    FALSE,
    NONE,
    PROVEN,
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    Failure,
    Instance,
    LayerObj,
    ListObj,
    Method,
    Module,
    Partial,
    Ref,
    Super,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span

_OF_TENSORS = ("backward", "clone", "detach", "item")
"""Methods that nothing but a tensor has, as far as its classes are known."""

_SEQUENCES = (list, tuple, set, frozenset, deque, Generator)
"""What a list of the machine may be in Python."""


def read(machine: Machine, state: State, obj: Value, name: str, span: Span) -> Results:
    """`obj.name`."""
    held = state.get(obj)
    if isinstance(held, Instance):  # which most are
        return _of_instance(machine, state, obj, held, name, span)
    if isinstance(held, UnknownObj):
        return [(state, dispatch.attribute(machine, state, obj, name, span))]
    if isinstance(obj, Closure | Wrapped | Bound | External) and (kept := _of_function(state, obj, name)) is not None:
        return [(state, kept)]
    if isinstance(obj, External):
        if (stub := stub_modules.standing_for(machine, state, obj)) != obj:
            return read(machine, state, stub, name, span)
        return [(state, dispatch.member(obj.path, name))]
    if _lacks(state, obj, name):
        machine.missing_reads.add(span)
        machine.gpu_missed |= obj == NONE and machine.gpu_asked > 0
        if obj == NONE and state.choices and not machine.forced:
            state.flow = Flow("raise", Failure("AttributeError"))
            return [(state, NONE)]
    if isinstance(obj, Module):
        return [(state, module_bodies.member(machine, state, obj, name, span))]
    if isinstance(obj, Super):
        inherited = find(state, obj.obj, name, after=obj.owner)
        if inherited is None:
            return [(state, dispatch.attribute(machine, state, obj.obj, name, span))]
        return _bound(machine, state, obj.obj, inherited, span)
    if isinstance(obj, Failure) and name == "args" and obj.message is not None:
        return [(state, Tuple((Const(obj.message),)))]
    if isinstance(obj, Tuple) and name in obj.names:
        return [(state, obj.items[obj.names.index(name)])]
    if isinstance(obj, Bound) and name == "__self__":
        return [(state, obj.self)]
    if isinstance(obj, Tuple) and name == "_fields":
        return [(state, Tuple(tuple(map(Const, obj.names))))]
    if isinstance(obj, Partial) and (told := dataclasses.attribute(state, obj, obj, name)) is not None:
        return [(state, told)]
    if isinstance(held, ClassObj):
        if name == "__name__":
            return [(state, Const(held.name))]
        if name == "__dict__":
            return [(state, dataclasses.shown(state, obj) or NONE)]
        own = find(state, obj, name)
        if isinstance(own, Wrapped):
            bound = Bound(own.func, obj) if own.kind == "classmethod" else own.func
            return [(state, own if own.kind in ("mode", "cache") else bound)]
        if own is None:
            own = dataclasses.attribute(state, obj, obj, name)
        if own is not None:
            return [(state, own)]
        if (own := classes.of_meta(state, obj, name)) is not None:
            return _bound(machine, state, obj, own, span)
    if isinstance(held, LayerObj) and isinstance(obj, Ref) and name in held.attrs:
        return [(state, modules.weight(machine, state, obj, name, span))]
    cls = decisions.kind(state, obj) if name == "__class__" else None
    return [(state, dispatch.attribute(machine, state, obj, name, span) if cls is None else cls)]


def _home(state: State, func: Value, name: str) -> tuple[int, str] | None:
    """Where an attribute of a function lies, or of a method of it: in the frame that made it, under the names of both; of what is
    imported from elsewhere, in that of the program."""
    while isinstance(func, Wrapped | Bound):
        func = func.func
    if isinstance(func, External):
        return state.stack[0], f"{func.path}.{name}"
    return (func.frame, f"{func.code.name}.{name}") if isinstance(func, Closure) else None


def _of_function(state: State, func: Value, name: str) -> Value | None:
    """An attribute that the program has set on a function, or on what it imports, or a function's name."""
    home = _home(state, func, name)
    kept = state.frames[home[0]].names.get(home[1]) if home is not None and state.frames.has(home[0]) else None
    if home is None or kept is not None or name != "__name__":
        return kept
    return Const(home[1].split(".")[-2])


def _lacks(state: State, obj: Value, name: str) -> bool:
    """Whether it is sure that Python finds no such attribute: that of a tensor on None, a number, a tuple, a list."""
    if isinstance(obj, Const):
        return not hasattr(obj.value, name)
    if isinstance(obj, Tuple):
        own = dataclasses.METHODS if obj.names else ()
        return name not in (*obj.names, *own) and not hasattr((), name)
    held = state.get(obj)
    if isinstance(held, ListObj) and not held.open:
        return not any(hasattr(kind, name) for kind in _SEQUENCES)
    return isinstance(held, DictObj | ListObj) and name in _OF_TENSORS


def _of_instance(machine: Machine, state: State, obj: Value, held: Instance, name: str, span: Span) -> Results:
    found = find(state, obj, name)
    if found is not None and (getter := _of_descriptor(state, found, "__get__")) is not None:
        return machine.call(state, getter, Args((obj, held.cls)), span)
    if isinstance(found, Wrapped) and found.kind == "property":
        return machine.call(state, found.func, Args((obj,), spans=(span,)), span)
    if isinstance(found, Wrapped) and found.kind == "cached_property" and name not in held.attrs:
        return _cached(machine, state, obj, found.func, name, span)
    if name in held.attrs:
        return [(state, _held(state, obj, held, name))]
    if _is_field(found):  # and nobody has seen who fills it
        assert isinstance(obj, Ref)
        usual = _default(machine, state, found, span)
        state.set(obj, replace(held, attrs={**held.attrs, name: usual}))
        return [(state, usual)]
    if found is not None:
        return _bound(machine, state, obj, found, span)
    if name == "__class__":
        return [(state, held.cls)]
    if name == "__dict__":
        return [(state, Method(obj, name))]
    if (told := dataclasses.attribute(state, obj, held.cls, name)) is not None:
        return [(state, told)]
    if (content := classes.method(state, obj, name)) is not None:
        return [(state, Method(content, name))]
    if is_module(state, obj) and name in modules.METHODS:
        return [(state, dispatch.attribute(machine, state, obj, name, span))]
    if dispatch.is_optimizer_method(state, obj, name) or dispatch.is_function_method(state, obj, name):
        return [(state, Method(obj, name))]
    if dispatch.is_inherited(name):
        return [(state, Method(obj, name))]
    getter = find(state, obj, "__getattr__")
    if getter is not None:
        return machine.call(state, Bound(getter, obj), Args((Const(name),)), span)
    if (entry := classes.entry(state, obj, name)) is not None:
        return [(state, entry)]
    if name == "module" and is_module(state, obj) and not is_open(state, held.cls):
        return [(state, obj)]  # what DataParallel and its kin wrap, and we don't
    assert isinstance(obj, Ref)
    if not is_open(state, held.cls):
        machine.missing_reads.add(span)
    called = conventions.TELLS.takes(name) or classes.derives(state, obj)
    hint = "submodule" if is_module(state, obj) and not called else ""
    missing = layers.inherited(machine, state, ancestry(state, held.cls), name, span)
    if missing is None:
        missing = objects.same(machine, state, obj, name, UnknownObj(span, hint=hint, name=name))
        machine.unset[missing.id] = obj
        if weights.is_frozen(state, obj):
            weights.part(state, obj, missing)
    state.set(obj, replace(held, attrs={**held.attrs, name: missing}))
    return [(state, missing)]


def _held(state: State, obj: Value, held: Instance, name: str) -> Value:
    """An attribute that lies on an object, unless this path's answers are those by which it was never set."""
    if state.unless and isinstance(obj, Ref):
        if merge_states.is_unbound(state, -obj.id, name):
            state.flow = Flow("raise", Failure("AttributeError"))
        else:
            merge_states.learn(state, -obj.id, name)
    return held.attrs[name]


def _cached(machine: Machine, state: State, obj: Value, func: Value, name: str, span: Span) -> Results:
    """The first read of a cached property runs it; the value then lies on the object."""
    results = machine.call(state, func, Args((obj,), spans=(span,)), span)
    for after, value in results:
        write(machine, after, obj, name, value, span)
    return results


def _bound(machine: Machine, state: State, obj: Value, found: Value, span: Span) -> Results:
    if isinstance(found, Closure):
        return [(state, Bound(found, obj))]
    if isinstance(found, Wrapped):
        match found.kind:
            case "property":
                return machine.call(state, found.func, Args((obj,), spans=(span,)), span)
            case "partialmethod" if isinstance(found.func, Partial):
                return [(state, replace(found.func, func=Bound(found.func.func, obj)))]
            case "staticmethod":
                return [(state, found.func)]
            case "classmethod":
                return [(state, Bound(found.func, class_of(state, obj) or obj))]
        return [(state, Bound(found, obj))]
    return [(state, found)]


def write(machine: Machine, state: State, obj: Value, name: str, value: Value, span: Span) -> list[State]:
    """`obj.name = value`."""
    own = find(state, obj, "__setattr__") if isinstance(state.get(obj), Instance) else None
    if isinstance(own, Closure):
        return [after for after, _ in machine.call(state, Bound(own, obj), Args((Const(name), value)), span)]
    if own == _SET_ITEM:
        return [after for after, _ in machine.call(state, own, Args((obj, Const(name), value)), span)]
    return put(machine, state, obj, name, value, span)


_SET_ITEM = External("builtins.dict.__setitem__")


def put(machine: Machine, state: State, obj: Value, name: str, value: Value, span: Span) -> list[State]:
    """The same, whatever an object's own `__setattr__` does: `object.__setattr__(obj, name, value)`."""
    if isinstance(obj, Module):
        module_bodies.assign(machine, state, obj, name, value, span)
        return [state]
    held = state.get(obj)
    if (home := _home(state, obj, name)) is not None and state.frames.has(home[0]):
        state.writable(home[0]).names[home[1]] = value
        return [state]
    assert held is None or isinstance(obj, Ref)
    match held:
        case Instance():
            setter = find(state, obj, name)
            if (method := _setter(state, setter)) is not None:
                return [after for after, _ in machine.call(state, method, Args((obj, value)), span)]
            if state.unless and isinstance(obj, Ref):
                merge_states.bound(state, -obj.id, name)
            objects.named(machine, state, value, name)
            if is_module(state, obj):
                modules.adopt_layer(state, value)
                _note_refused(machine, state, held, name, value, span)
            if name == "__dict__" and isinstance(obj, Ref):
                reflection.set_dict(machine, state, obj, value, span)
            elif (content := _shared(state, obj)) is not None:
                containers.store(state, *content, Const(name), value)
            elif not (isinstance(setter, Wrapped) and setter.kind == "property"):
                state.set(obj, replace(held, attrs={**held.attrs, name: value}))  # type: ignore[arg-type]
        case ClassObj():
            state.set(obj, replace(held, attrs={**held.attrs, name: value}))  # type: ignore[arg-type]
        case LayerObj():
            _note_refused(machine, state, held, name, value, span)
            submodules.put(state, obj, name, value)
        case UnknownObj():
            machine.events.emit(events.Escaped(objects.edges_in(machine, state, (value,))))
            if name == "grad":
                gradient_events.zeroed(machine, state, None, span, to_none=value == Const(None))
            submodules.forget(state, obj, span)
            dispatch.set_unknown_attribute(machine, state, obj, held, name, value)
        case TensorObj():
            tensors.set_attribute(machine, state, obj, name, value, span)
    return [state]


def _shared(state: State, obj: Value) -> tuple[Ref, DictObj] | None:
    """What an object holds as a dict, if its attributes are the items of that: `self.__dict__ = self`."""
    content = classes.of(state, obj)
    held = state.get(content)
    return (content, held) if isinstance(content, Ref) and isinstance(held, DictObj) and held.of == obj else None


def _setter(state: State, found: Value | None) -> Value | None:
    """What a class does in place of setting an attribute: the setter of a property, or of a descriptor."""
    if isinstance(found, Wrapped):
        return found.setter
    return None if found is None else _of_descriptor(state, found, "__set__")


def _of_descriptor(state: State, found: Value, name: str) -> Value | None:
    """A method of an object of the program that lies on a class as an attribute."""
    method = find(state, found, name) if isinstance(state.get(found), Instance) else None
    return None if method is None else Bound(method, found)


def name_descriptors(machine: Machine, state: State, cls: Ref, attrs: Mapping[str, Value], span: Span) -> None:
    """A class has been made: descriptors are told their names."""
    for name, value in attrs.items():
        if (told := _of_descriptor(state, value, "__set_name__")) is not None:
            ways = machine.call(state, told, Args((cls, Const(name))), span)
            state.become(next((after for after, _ in ways if after.flow is None), state))


def _note_refused(
    machine: Machine, state: State, held: Instance | LayerObj, name: str, value: Value, span: Span
) -> None:
    """torch takes nothing but a parameter, or None, in a parameter's place, and none that has become a result."""
    if _is_parameter(state, held.attrs.get(name)) and not _is_parameter(state, value, true=True):
        machine.missing_reads.add(span)
    given = state.get(value)
    edge = given.edge if isinstance(given, TensorObj) and given.parameter else None
    if edge is not None and not edge.node.is_leaf and machine.graphs.exists(edge) == PROVEN:
        state.flow = Flow("raise", Failure("ValueError"))


def _is_parameter(state: State, value: Value | None, *, true: bool = False) -> bool:
    """Whether a value is a parameter; `true` of what isn't seen to be another tensor."""
    held = state.get(value) if value is not None else None
    return held.parameter if isinstance(held, TensorObj) else true


def fill_fields(machine: Machine, state: State, made: Ref, args: Args, span: Span) -> Results:
    """The generated `__init__` of a dataclass, or of a named tuple, with what a dataclass does behind that."""
    held = state.heap[made.id]
    assert isinstance(held, Instance)
    names = dataclasses.names(state, held.cls) or ()
    defaults = {name: find(state, made, name) for name in names}
    asked = (name for name in names if _option(defaults[name], "init") != FALSE)
    attrs = dict(zip(asked, args.pos, strict=False)) | dict(args.named)
    for name, default in defaults.items():
        if name not in attrs and default is not None:
            attrs[name] = _default(machine, state, default, span)
    state.set(made, replace(held, attrs=attrs))
    behind = find(state, made, "__post_init__")
    if not isinstance(behind, Closure):
        return [(state, made)]
    taken = [attrs[each.name] for each in behind.code.params[1:] if each.name in attrs]  # those of InitVar
    return [(after, made) for after, _ in machine.call(state, Bound(behind, made), Args(tuple(taken)), span)]


def _option(default: Value | None, name: str) -> Value | None:
    """What `field(...)` is given by this name."""
    return dict(default.kwargs).get(name) if _is_field(default) else None


def _is_field(value: Value | None) -> TypeGuard[Partial]:
    """Whether it is `field(...)`."""
    return isinstance(value, Partial) and value.func == External("dataclasses.field")


def _default(machine: Machine, state: State, value: Value, span: Span) -> Value:
    """A field's default; `field(default_factory=...)` makes one anew."""
    if not _is_field(value):
        return value
    options = dict(value.kwargs)
    if "default_factory" not in options:
        return options.get("default") or objects.fresh(state, span)
    results = machine.call(state, options["default_factory"], Args(), span)
    return results[0][1] if len(results) == 1 else objects.fresh(state, span)
