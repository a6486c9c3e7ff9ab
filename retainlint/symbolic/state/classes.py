"""Classes of the program: their ancestors, what an object finds in them, and those that derive from builtins, layers and enumerations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from retainlint.ir import facts
from retainlint.startup.records import replace
from retainlint.symbolic.state.reachability import each_once
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    FALSE,
    MODULES,
    NONE,
    TRUE,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    Instance,
    LayerObj,
    ListObj,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span

MODULE = "torch.nn.Module"
FUNCTION = "torch.autograd.Function"


_NO_LAYERS = {"Module", "Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer", "DataParallel"}


def ancestry(state: State, cls: Value) -> tuple[Value, ...]:
    """A class and its bases, nearest first; what is not of the program comes as it is. Each comes once: of bases that share
    theirs there may be more ways up than anybody can follow. A class never changes its bases."""
    if type(state.get(cls)) is not ClassObj:
        return (cls,)

    def bases(each: Value) -> tuple[Value, ...]:
        return held.bases[::-1] if isinstance(held := state.get(each), ClassObj) else ()

    if cls not in state.base.ancestry:
        state.base.ancestry[cls] = tuple(each_once([cls], bases))
    return state.base.ancestry[cls]


def of_program(state: State, cls: Value | None) -> Iterator[ClassObj]:
    """Those of a class and its bases that the program writes, nearest first."""
    bases = ancestry(state, cls) if cls is not None else ()
    return (held for each in bases if isinstance(held := state.get(each), ClassObj))


def of_others(state: State, cls: Value | None) -> Iterator[str]:
    """The paths of those that stand elsewhere."""
    bases = ancestry(state, cls) if cls is not None else ()
    return (each.path for each in bases if isinstance(each, External))


def named_exceptions(state: State, value: Value | None) -> list[str] | None:
    """The names of the classes that a handler is given, one or several; None where one isn't known."""
    names: list[str] = []
    for each in value.items if isinstance(value, Tuple) else (value,):
        if isinstance(each, External):
            names.append(each.path.rpartition(".")[2])
        elif each is not None and isinstance(cls := state.get(each), ClassObj):
            names.append(cls.name)
        else:
            return None
    return names


def class_of(state: State, value: Value) -> Ref | None:
    obj = state.get(value)
    return obj.cls if isinstance(obj, Instance) else None


def is_module(state: State, value: Value) -> bool:
    """Whether an object's class derives from nn.Module, or from a layer."""
    return any(path == MODULE or layer_at(path) for path in of_others(state, class_of(state, value) or value))


def layer_of(state: State, value: Value) -> str | None:
    """The layer of torch.nn from which an object's class derives."""
    return next(filter(None, map(layer_at, of_others(state, class_of(state, value)))), None)


@cache
def layer_at(path: str) -> str:
    """The name of a layer by its path; "" of anything else."""
    kind = path.removeprefix("torch.nn.")
    return kind if kind != path and kind.isidentifier() and kind[0].isupper() and kind not in _NO_LAYERS else ""


_TENSORS = frozenset(("torch.Tensor", "torch.nn.UninitializedParameter")) | {
    f"torch.nn.{room}{name}" for room in ("", "parameter.") for name in ("Parameter", "Buffer")
}


def tensor_class(state: State, cls: Value) -> External | None:
    """The class of torch's own tensors from which a class derives."""
    return next((External(path) for path in of_others(state, cls) if path in _TENSORS), None)


def is_function(state: State, value: Value) -> bool:
    """Whether a class derives from autograd.Function, or an object is the context that one of its calls has."""
    cls = class_of(state, value) or value
    return isinstance(state.get(cls), ClassObj) and External(FUNCTION) in ancestry(state, cls)


def of_meta(state: State, cls: Value, name: str) -> Value | None:
    """What the metaclass of a class holds under a name, if it is one of the program's."""
    meta = _metaclass(state, cls)
    return None if meta is None else find(state, meta, name)


def _metaclass(state: State, cls: Value) -> Value | None:
    return next((each.meta for each in of_program(state, cls) if each.meta is not None), None)


BEGUN = "<class>"
"""Under this a metaclass holds the class that its `__new__` is asked to make."""


def begin(state: State, cls: Ref) -> Value:
    """A metaclass is asked to make a class, of which the body was run; the metaclass."""
    meta = _metaclass(state, cls)
    held = state.get(meta or NONE)
    assert isinstance(meta, Ref) and isinstance(held, ClassObj)
    state.set(meta, replace(held, attrs={**held.attrs, BEGUN: cls}))
    return meta


def begun(state: State, meta: Value, namespace: Value) -> Value | None:
    """`type.__new__(meta, name, bases, namespace)`: the class that was begun, with these names; None where none was."""
    names, cls = state.get(namespace), find(state, meta, BEGUN)
    held = state.get(cls or NONE)
    if not isinstance(cls, Ref) or not isinstance(held, ClassObj) or not isinstance(names, DictObj) or names.open:
        return None
    attrs = {str(key.value): value for key, value in names.items.items() if isinstance(key, Const)}
    state.set(cls, replace(held, attrs=attrs))
    return cls


def is_open(state: State, cls: Value) -> bool:
    """Whether a class has bases that we can't see."""
    return any(True for _ in unseen(state, cls))


def unseen(state: State, cls: Value) -> Iterator[Value]:
    """The bases of a class that we can't see, layers of torch too."""
    known = (MODULE, "builtins.object", "abc.ABC", FUNCTION, "torch.utils.data.Dataset", "typing.NamedTuple")
    for base in ancestry(state, cls):
        is_known = isinstance(base, External) and base.path in known
        if not is_known and not isinstance(state.get(base), ClassObj):
            yield base


def derived(state: State, cls: Value) -> Iterator[tuple[Ref, ClassObj]]:
    """The classes of the program that derive from one."""
    for id, held in state.heap.items():
        if isinstance(held, ClassObj) and Ref(id) != cls and cls in ancestry(state, Ref(id)):
            yield Ref(id), held


def find(state: State, obj: Value, name: str, after: Value | None = None) -> Value | None:
    """What the class of an object holds under a name; with `after`, beyond that class."""
    cls = class_of(state, obj) or obj
    waiting = after is not None
    for base in ancestry(state, cls):
        if waiting:
            waiting = base != after
            continue
        found = state.get(base)
        if isinstance(found, ClassObj) and name in found.attrs:
            return found.attrs[name]
    return None


_KINDS = {
    "builtins.dict": "dict", "collections.OrderedDict": "dict", "collections.UserDict": "dict", "typing.Dict": "dict",
    "builtins.list": "list", "collections.UserList": "list", "typing.List": "list",
}  # fmt: skip

_METHODS = {
    "dict": "get keys values items update setdefault pop clear copy".split(),
    "list": "append insert extend pop clear remove reverse copy index count sort".split(),
}

FILLING = frozenset(("append", "extend", "insert", "add", "update", "setdefault", "appendleft"))
"""Methods that put something into a container."""


def kind(state: State, cls: Value) -> str | None:
    """Whether a class derives from "dict" or "list"."""
    obj = state.get(cls)
    if not isinstance(obj, ClassObj) or not obj.bases:
        return None
    return next((_KINDS[path] for path in of_others(state, cls) if path in _KINDS), None)


def hold_content(state: State, obj: Ref, content: Value) -> None:
    """An object holds this from now on."""
    held = state.heap[obj.id]
    if isinstance(held, Instance):
        state.set(obj, replace(held, notes=replace(held.notes, content=content)))


def of(state: State, obj: Value) -> Value:
    """What an object holds; any other value is itself."""
    held = state.get(obj)
    return held.notes.content or obj if isinstance(held, Instance) else obj


KEYED = ("ModuleDict", "ParameterDict")
"""Layers that hold their parts by names, as a dict does."""


def mapping(state: State, obj: Value) -> DictObj | None:
    """A dict, what an object holds as one, or what a layer holds by names; None for anything else."""
    held = state.get(of(state, obj))
    if isinstance(held, LayerObj) and held.kind in KEYED:
        return DictObj({Const(name): part for name, part in held.attrs.items()})
    return held if isinstance(held, DictObj) else None


def method(state: State, obj: Value, name: str) -> Value | None:
    """What has the method of that name: the dict or list in an object, if it is one of theirs."""
    content = of(state, obj)
    held = state.get(content)
    known = _METHODS["dict"] if isinstance(held, DictObj) else _METHODS["list"] if isinstance(held, ListObj) else ()
    return content if content != obj and name in known else None


def entry(state: State, obj: Value, name: str) -> Value | None:
    """What an object holds under a name, as a dict whose keys are its attributes."""
    content = of(state, obj)
    held = state.get(content)
    if content == obj or not isinstance(held, DictObj):
        return None
    return content if name == "data" else held.items.get(Const(name))


def is_enum(state: State, cls: Value) -> bool:
    """Whether a class is an enumeration, whose members are no texts or numbers besides."""
    unseen = [base for base in ancestry(state, cls) if not isinstance(state.get(base), ClassObj)]
    return unseen == [External("enum.Enum")]


def make_members(state: State, cls: Ref) -> None:
    """Let the names of an enumeration's body stand for its members; names of equal values are one member's."""
    held = state.get(cls)
    if isinstance(held, ClassObj) and is_enum(state, cls):
        members: dict[Value, Value] = {}
        made: dict[str, Value] = {}
        for name, value in _listed(state, held.attrs):
            if value not in members:
                members[value] = state.new(Instance(cls, {"name": Const(name), "value": value}))
            made[name] = members[value]
        state.set(cls, replace(held, attrs={**held.attrs, **made}))


def _listed(state: State, attrs: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """The names and values of an enumeration; `auto()` counts on from the value before."""
    last: Value = Const(0)
    counted: dict[Value, Value] = {}
    for name, value in attrs.items():
        held, value = state.get(value), counted.get(value, value)
        if name.startswith("_") or isinstance(value, Closure | Wrapped) or isinstance(held, ClassObj):
            continue
        automatic = isinstance(held, UnknownObj) and _is_auto(held.made) and value not in counted.values()
        if automatic and isinstance(last, Const) and type(last.value) is int and "_generate_next_value_" not in attrs:
            counted[value] = value = Const(last.value + 1)
        yield name, value
        last = value


def _is_auto(made: Span) -> bool:
    """Whether a value was made by `auto()`."""
    spoken = facts.of_span(made)
    return [each.name for each in spoken.calls] == ["auto"] and spoken.names <= {"enum", "auto"}


def members(state: State, cls: Value) -> Iterator[Value]:
    """The members of an enumeration, in their order, each once."""
    held = state.get(cls)
    attrs = held.attrs.values() if isinstance(held, ClassObj) else ()
    yield from dict.fromkeys(each for each in attrs if class_of(state, each) == cls)


def member(state: State, cls: Ref, value: Value) -> Value | None:
    """The member of an enumeration that has a value; None if nobody knows which."""
    held = state.get(cls)
    for each in held.attrs.values() if isinstance(held, ClassObj) else ():
        found = state.get(each)
        if isinstance(found, Instance) and value in (each, found.attrs.get("value")):
            return each
    return None


def named(state: State, cls: Value, name: Value) -> Value | None:
    """The member of an enumeration that has a name; None if nobody knows which."""
    found = find(state, cls, name.value) if isinstance(name, Const) and isinstance(name.value, str) else None
    return found if found is not None and isinstance(state.get(found), Instance) else None


def sign(state: State, value: Value) -> Const | None:
    """A text that stands for a member where it is compared, and that nothing else is; None for what is no member."""
    held = state.get(value)
    name = held.attrs.get("name") if isinstance(held, Instance) else None
    if not isinstance(held, Instance) or not isinstance(name, Const) or not is_enum(state, held.cls):
        return None
    if find(state, value, "__eq__") is not None:
        return None
    cls = state.get(held.cls)
    assert isinstance(cls, ClassObj)
    return Const(f"\0{cls.code.span.source.name}:{cls.code.qualname}.{name.value!r}")


def optimizer_of(state: State, value: Value) -> str | None:
    """The optimiser of torch from which an object's class derives."""
    paths = (path for path in of_others(state, class_of(state, value)) if path.startswith("torch.optim."))
    kind = next(paths, "").removeprefix("torch.optim.")
    return kind if kind.isidentifier() else None


def blank(state: State, cls: Ref, *, trains: bool = True) -> Ref:
    """A new object of a class, whose `__init__` hasn't run."""
    made = state.new(Instance(cls, {}))
    if trains and is_module(state, made):
        state.set(made, Instance(cls, {"training": TRUE}))
    if (content := kind(state, cls)) is not None:
        hold_content(state, made, state.new(DictObj({}) if content == "dict" else ListObj(())))
    return made


_GROWING = ("Sequential", "ModuleList", "ModuleDict")


def hold_layer(state: State, obj: Ref, made: Value) -> None:
    """`super().__init__(...)`: what the layer has, the object has."""
    held, layer = state.heap[obj.id], state.get(made)
    if isinstance(held, Instance) and isinstance(layer, LayerObj):
        own = {name: value for name, value in layer.attrs.items() if not name.startswith("_")}
        state.set(obj, replace(held, attrs={**held.attrs, **own}, notes=replace(held.notes, layer=Tuple((made,)))))


def layer(state: State, obj: Value) -> Ref | None:
    """The layer in an object, as the object is now; None if there is none."""
    held = state.get(obj)
    kept = held.notes.layer if isinstance(held, Instance) else None
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
        return held.hint in MODULES
    return isinstance(held, LayerObj) or (isinstance(held, Instance) and is_module(state, value))


def instance_dict(state: State, obj: Value) -> dict[str, Value]:
    """What `obj.__dict__` holds: of a module neither its parts nor its parameters."""
    held = state.get(obj)
    attrs = held.attrs if isinstance(held, Instance) else {}
    if not is_module(state, obj):
        return dict(attrs)
    return {name: value for name, value in attrs.items() if not (is_part(state, value) or _is_parameter(state, value))}


def _is_parameter(state: State, value: Value) -> bool:
    held = state.get(value)
    return isinstance(held, TensorObj) and held.parameter
