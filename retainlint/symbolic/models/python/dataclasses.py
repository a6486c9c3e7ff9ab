"""Records by their fields: named tuples, dataclasses, and what is told of them by their names."""

from __future__ import annotations

from collections.abc import Mapping

from retainlint.startup.records import replace
from retainlint.symbolic.state.classes import ancestry
from retainlint.symbolic.state.protocol import Args
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    ClassObj,
    Const,
    DictObj,
    External,
    Instance,
    Method,
    Partial,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

METHODS = {"_replace", "_asdict"}
_TUPLE = External("typing.NamedTuple")
_MADE = External("builtins.namedtuple")


def names(state: State, cls: Value) -> tuple[str, ...] | None:
    """The fields of a class that generates its `__init__`, those of its bases first; None of any other."""
    if isinstance(cls, Partial):
        found = cls.args[0] if cls.func == _MADE and cls.args else None
        return (
            tuple(str(each.value) for each in found.items if isinstance(each, Const))
            if isinstance(found, Tuple)
            else None
        )
    bases = list(ancestry(state, cls)) if isinstance(state.get(cls), ClassObj) else []
    made = next((each for each in bases if isinstance(each, Partial)), None)
    if made is not None:
        return names(state, made)
    classes = [obj for each in bases if isinstance(obj := state.get(each), ClassObj)]
    if not any(each.dataclass for each in classes) and _TUPLE not in bases:
        return None
    return tuple(dict.fromkeys(name for each in reversed(classes) for name in each.code.annotated))


def is_one(state: State, obj: Value) -> bool | None:
    """Whether something is a dataclass, or an object of one; None of what isn't known."""
    held = state.get(obj)
    if isinstance(held, ClassObj | Instance):
        cls = held.cls if isinstance(held, Instance) else obj
        return names(state, cls) is not None and not is_tuple(state, cls)
    return None if isinstance(held, UnknownObj) or isinstance(obj, Term) else False


def is_tuple(state: State, cls: Value) -> bool:
    """Whether a class makes named tuples."""
    if isinstance(cls, Partial):
        return cls.func == _MADE
    return isinstance(state.get(cls), ClassObj) and any(
        each == _TUPLE or (isinstance(each, Partial) and each.func == _MADE) for each in ancestry(state, cls)
    )


def items(state: State, value: Value) -> tuple[Value, ...] | None:
    """The items of a named tuple whose class the program writes; None of any other value."""
    held = state.get(value)
    if not isinstance(held, Instance) or not is_tuple(state, held.cls):
        return None
    fields = names(state, held.cls)
    if fields is None or not all(name in held.attrs for name in fields):
        return None
    return tuple(held.attrs[name] for name in fields)


def attribute(state: State, obj: Value, cls: Value, name: str) -> Value | None:
    """What a record, or its class, tells of its fields."""
    if name not in ("_fields", "_make", "__dataclass_fields__") and name not in METHODS:
        return None
    fields = names(state, cls)
    if fields is None or is_tuple(state, cls) == (name == "__dataclass_fields__"):
        return None
    if name == "_make":
        return Partial(External("builtins.record_of"), (cls,), ())
    if name in METHODS:
        return Method(obj, name)
    keys = tuple(map(Const, fields))
    return Tuple(keys) if name == "_fields" else state.new(DictObj(dict.fromkeys(keys, Const(name))))


def method(state: State, obj: Value, name: str, args: Args) -> Value | None:
    """`_replace` and `_asdict` of a named tuple."""
    held = state.get(obj)
    if isinstance(obj, Tuple) and obj.names:
        entries: Mapping[str, Value] = dict(zip(obj.names, obj.items, strict=True)) | dict(args.named)
        if name == "_replace":
            return replace(obj, items=tuple(entries[each] for each in obj.names))
    elif isinstance(held, Instance):
        entries = {each: held.attrs[each] for each in names(state, held.cls) or () if each in held.attrs}
        if name == "_replace":
            return state.new(replace(held, attrs={**held.attrs, **dict(args.named)}))
    else:
        return None
    return state.new(DictObj({Const(key): value for key, value in entries.items()}))


def listed(state: State, obj: Value, span: Span) -> Value | None:
    """`dataclasses.fields(obj)`."""
    held = state.get(obj)
    found = names(state, held.cls if isinstance(held, Instance) else obj)
    if found is None:
        return None
    made = (UnknownObj(span, plain=True, attrs={"name": Const(name)}) for name in found)
    return Tuple(tuple(map(state.new, made)))


def shown(state: State, obj: Value) -> Value | None:
    """`vars(obj)`; options are read alike by keys and by names."""
    held = state.get(obj)
    if isinstance(held, UnknownObj) and held.notes.options is not None:
        return obj
    if isinstance(held, Instance):
        return Method(obj, "__dict__")
    if isinstance(held, ClassObj) or (isinstance(held, UnknownObj) and held.name == NAMESPACE):
        return state.new(DictObj({Const(name): value for name, value in held.attrs.items()}))
    return None


NAMESPACE = "SimpleNamespace"


def namespace(state: State, args: Args, span: Span) -> Value:
    """`SimpleNamespace(...)`."""
    return state.new(UnknownObj(span, hint="instance", name=NAMESPACE, plain=True, attrs=dict(args.named)))
