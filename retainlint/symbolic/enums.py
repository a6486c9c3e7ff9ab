"""Members of the program's enumerations: each is an object of its own, known by its name, and equal to no other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from retainlint.symbolic.classes import ancestry, find
from retainlint.symbolic.state import State
from retainlint.symbolic.values import ClassObj, Closure, Const, External, Instance, Ref, UnknownObj, Value, Wrapped

_AUTO = re.compile(r"(?:\w+\.)?auto\(\)")


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
        state.set(cls, ClassObj(held.name, held.bases, {**held.attrs, **made}, held.code, held.dataclass))


def _listed(state: State, attrs: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """The names and values of an enumeration; `auto()` counts on from the value before."""
    last: Value = Const(0)
    counted: dict[Value, Value] = {}
    for name, value in attrs.items():
        held, value = state.get(value), counted.get(value, value)
        if name.startswith("_") or isinstance(value, Closure | Wrapped) or isinstance(held, ClassObj):
            continue
        automatic = isinstance(held, UnknownObj) and _AUTO.fullmatch(held.made.text) and value not in counted.values()
        if automatic and isinstance(last, Const) and type(last.value) is int and "_generate_next_value_" not in attrs:
            counted[value] = value = Const(last.value + 1)
        yield name, value
        last = value


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
