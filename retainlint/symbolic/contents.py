"""Objects whose class derives from dict or list: what they hold."""

from __future__ import annotations

from retainlint.records import replace
from retainlint.symbolic.classes import ancestry
from retainlint.symbolic.state import State
from retainlint.symbolic.values import ClassObj, Const, DictObj, External, Instance, ListObj, Ref, Value

CONTENT = "(content)"
"""Under this name an object holds its dict or list."""
_KINDS = {
    "builtins.dict": "dict", "collections.OrderedDict": "dict", "collections.UserDict": "dict", "typing.Dict": "dict",
    "builtins.list": "list", "collections.UserList": "list", "typing.List": "list",
}  # fmt: skip
_METHODS = {
    "dict": "get keys values items update setdefault pop clear copy".split(),
    "list": "append insert extend pop clear remove reverse copy index count sort".split(),
}


def kind(state: State, cls: Value) -> str | None:
    """Whether a class derives from "dict" or "list"."""
    obj = state.get(cls)
    if not isinstance(obj, ClassObj) or not obj.bases:
        return None
    found = (_KINDS.get(base.path) for base in ancestry(state, cls) if isinstance(base, External))
    return next((each for each in found if each is not None), None)


def begin(state: State, obj: Ref, content: Value) -> None:
    """An object holds this from now on."""
    held = state.heap[obj.id]
    if isinstance(held, Instance):
        state.set(obj, replace(held, attrs={**held.attrs, CONTENT: content}))


def of(state: State, obj: Value) -> Value:
    """What an object holds; any other value is itself."""
    held = state.get(obj)
    return held.attrs.get(CONTENT, obj) if isinstance(held, Instance) else obj


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
