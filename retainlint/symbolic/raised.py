"""What class a raised exception is of, and whether a handler takes it."""

from __future__ import annotations

import builtins
from functools import cache

from retainlint import ir
from retainlint.symbolic.classes import ancestry
from retainlint.symbolic.state import State
from retainlint.symbolic.values import ClassObj, External, Failure, Instance, Tuple, Value

HANDLED = -2
"""The register that holds what a running handler has caught, for a `raise` alone."""


def failure(state: State, raised: int | None) -> Failure:
    """The exception that a `raise` throws, as far as its class is known."""
    value = state.frame.registers.get(HANDLED) if raised is None else state.read(raised)
    if isinstance(value, Failure):
        return value
    if value is None or isinstance(value, External):
        return _foreign(value)
    obj = state.get(value)
    cls = obj.cls if isinstance(obj, Instance) else value
    held = state.get(cls)
    if not isinstance(held, ClassObj):
        return Failure("")
    above = list(ancestry(state, cls))[1:]
    bases = tuple(_class_name(state, base) for base in above)
    is_open = any(not isinstance(state.get(base), ClassObj) and not is_builtin(base) for base in above)
    return Failure(held.name, bases, is_open)


def _foreign(cls: External | None) -> Failure:
    """An exception of a class that is not the program's."""
    name = "" if cls is None else cls.path.rpartition(".")[2]
    return Failure(name, open=not is_builtin(cls))


def _class_name(state: State, cls: Value) -> str:
    held = state.get(cls)
    return held.name if isinstance(held, ClassObj) else cls.path.rpartition(".")[2] if isinstance(cls, External) else ""


def is_builtin(cls: Value | None) -> bool:
    """Whether a class is one of Python's own exceptions; to make an object of it can't fail."""
    root, _, name = cls.path.partition(".") if isinstance(cls, External) else ("", "", "")
    return root == "builtins" and bool(_lineage(name))


@cache
def _lineage(name: str) -> tuple[str, ...]:
    """The names of one of Python's own exceptions and of all that it derives from; empty if it is none."""
    found = getattr(builtins, name, None)
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        return ()
    return tuple(each.__name__ for each in found.__mro__[:-1])


def is_taken(raised: Value | None, names: list[str] | None) -> bool | None:
    """Whether a handler of these classes (None: of any) takes an exception; None if nobody knows."""
    if names is None or not isinstance(raised, Failure):
        return True
    is_open = raised.open or not raised.type
    kinds = {kind for name in (raised.type, *raised.bases) for kind in (_lineage(name) or (name,))}
    wanted = {_lineage(name)[0] if _lineage(name) else name for name in names}  # IOError is OSError
    if kinds & wanted or "BaseException" in wanted or (is_open and "Exception" in wanted):
        return True
    return None if is_open else False


def caught(state: State, handler: ir.Handler) -> list[str] | None:
    """The names of the classes that a handler catches; None if unknown or all."""
    if handler.type is None:
        return None
    value = state.frame.registers.get(handler.type)
    values = value.items if isinstance(value, Tuple) else (value,)
    names: list[str] = []
    for each in values:
        if isinstance(each, External):
            names.append(each.path.rpartition(".")[2])
        elif each is not None and isinstance(cls := state.get(each), ClassObj):
            names.append(cls.name)
        else:
            return None
    return names
