"""Classes of exceptions: what was raised, as far as it is known, and whether a handler of some classes takes it."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from functools import cache

from retainlint.ir import facts
from retainlint.startup.lazy_patterns import pattern
from retainlint.symbolic.state.classes import ancestry
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import ClassObj, Const, External, Failure, Instance, UnknownObj, Value

CLASS = pattern(r"_*[A-Z]\w*[a-z]\w*")
"""What a class is named like, but no constant that holds several."""


@cache
def lineage(name: str) -> tuple[str, ...]:
    """The names of one of Python's own exceptions and of all that it derives from; empty if it is none."""
    found = getattr(builtins, name, None)
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        return ()
    return tuple(each.__name__ for each in found.__mro__[:-1])


def takes(raised: str, named: Sequence[str] | None) -> bool | None:
    """Whether a handler of these classes (None: of any) takes an exception; None if nobody knows."""
    if named is None:
        return True
    known = lineage(raised)
    if not {raised, *known, "BaseException"}.isdisjoint(named) or (raised == "RuntimeError" and "GraphError" in named):
        return True
    return None if not known or not any(map(CLASS.fullmatch, named)) else False


def kind_of(state: State, value: Value | None) -> Failure:
    """The class of an exception, as far as it is known."""
    if isinstance(value, Failure):
        return value
    if value is None or isinstance(value, External):
        return _foreign(value)
    obj = state.get(value)
    if isinstance(obj, UnknownObj):  # of a class that nobody sees: `lib.Stopped("...")`
        called = facts.of_span(obj.made).calls
        return Failure(called[0].name if called else "", open=True)
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


def as_text(value: Value) -> Value:
    """What is written of a value into a text: of an error what it says, if that is known."""
    return Const(value.message) if isinstance(value, Failure) and value.message is not None else value


def is_builtin(cls: Value | None) -> bool:
    """Whether a class is one of Python's own exceptions; to make an object of it can't fail."""
    root, _, name = cls.path.partition(".") if isinstance(cls, External) else ("", "", "")
    return root == "builtins" and bool(lineage(name))


def is_taken(state: State, value: Value | None, names: list[str] | None) -> bool | None:
    """Whether a handler of these classes (None: of any) takes an exception; None if nobody knows."""
    if names is None or value is None:
        return True
    raised = kind_of(state, value)
    is_open = raised.open or not raised.type
    kinds = {kind for name in (raised.type, *raised.bases) for kind in (lineage(name) or (name,))}
    wanted = {lineage(name)[0] if lineage(name) else name for name in names}  # IOError is OSError
    if kinds & wanted or "BaseException" in wanted or (is_open and "Exception" in wanted):
        return True
    return None if is_open else False
