"""`record`: a frozen dataclass that costs next to nothing until the first object of it is made.

The standard library writes and compiles six methods for each dataclass when its module is imported, which takes half a
millisecond. Of some hundred and fifty such classes a run uses a third, and a commit hook runs for a single file.

It is frozen for who checks types. When the program runs nothing refuses a change, or an object, of which a large file takes
millions, would cost twice as much to make.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform  # mypy knows it of every version
elif sys.version_info >= (3, 11):
    from typing import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[Any], Any]:
        return lambda function: function


Class = TypeVar("Class")

_AFTER = "_me.__post_init__()"
_WRITTEN = {"__init__", "__eq__", "__hash__", "_replaced"}


@overload
def record(cls: type[Class], /) -> type[Class]: ...
@overload
def record(*, eq: bool = True, kw_only: bool = False) -> Callable[[type[Class]], type[Class]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[Class] | None = None, /, *, eq: bool = True, kw_only: bool = False) -> Any:
    """Make a class `dataclass(frozen=True)`; `eq` and `kw_only` mean the same as there. A class's own `__hash__` stays."""
    return _made(cls, eq, kw_only) if cls is not None else lambda cls: _made(cls, eq, kw_only)


def _made(cls: Any, eq: bool, kw_only: bool) -> Any:
    own = vars(cls)
    kept = {"__hash__"} & own.keys()
    if own.get("__doc__") is None:
        cls.__doc__ = cls.__name__  # else `dataclass` works out the signature, which takes longest of all
    dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)

    def write(lines: list[str], names: dict[str, Any]) -> None:
        exec("\n".join(lines), names)
        for name in _WRITTEN - kept & names.keys():
            setattr(cls, name, names[name])

    def __init__(_me: object, /, *values: object, **named: object) -> None:  # a field may be called `self`
        names: dict[str, Any] = {}
        after = _AFTER if hasattr(cls, "__post_init__") else "pass"
        write(init_lines(fields(cls), names, after), names)
        cls.__init__(_me, *values, **named)

    def __eq__(self: object, other: object) -> Any:
        write(_comparing_lines(cls), {})
        return cls.__eq__(self, other)

    def __hash__(self: object) -> int:
        write(_comparing_lines(cls), {})
        return int(cls.__hash__(self))

    def _replaced(_one: object, /, **changes: object) -> object:
        names: dict[str, Any] = {"_make": partial(cls.__new__, cls)}
        write(_replacing_lines(cls, names), names)
        return cls._replaced(_one, **changes)

    cls._replaced = _replaced
    for method in (__init__, __eq__, __hash__) if eq else (__init__,):
        if method.__name__ not in kept:
            setattr(cls, method.__name__, method)
    if "__repr__" not in own:
        cls.__repr__ = _shown
    return cls


def _comparing_lines(cls: type[Any]) -> list[str]:
    """The texts of `__eq__` and `__hash__`: many objects are never compared."""
    compared = [f"self.{each.name}" for each in fields(cls) if each.compare]
    pairs = [(mine, mine.replace("self.", "other.", 1)) for mine in compared]
    return [
        "def __eq__(self, other):",
        " if self is other: return True",
        " if other.__class__ is not self.__class__: return NotImplemented",
        *(f" if {mine} is not {its} and {mine} != {its}: return False" for mine, its in pairs),
        " return True",
        "def __hash__(self):",
        f" return hash(({''.join(f'{mine}, ' for mine in compared)}))",
    ]


def _replacing_lines(cls: type[Any], names: dict[str, Any]) -> list[str]:
    """The text of a method that makes another object, some of whose fields are given."""
    names["_unset"] = MISSING
    own = [each.name for each in fields(cls)]
    return [
        f"def _replaced(_one, /{''.join(f', {name}=_unset' for name in own)}):",
        " _me = _make()",
        *(f" _me.{name} = _one.{name} if {name} is _unset else {name}" for name in own),
        f" {_AFTER if hasattr(cls, '__post_init__') else 'pass'}",
        " return _me",
    ]


def replace(one: Class, /, **changes: Any) -> Class:
    """`dataclasses.replace` for a record, in a fraction of its time."""
    found: Class = one._replaced(**changes)  # type: ignore[attr-defined]
    return found


def init_lines(every: tuple[Field[Any], ...], names: dict[str, Any], after: str) -> list[str]:
    """The text of an `__init__` that stores fields and ends with a statement; what it speaks of is put into `names`."""
    names["_unset"] = MISSING  # it stands for a value that isn't given
    head = f"def __init__({', '.join(['_me', '/', *_parameters(every, names)])}):"
    return [head, *(f" _me.{each.name} = {_value(each)}" for each in every), f" {after}"]


def _parameters(every: tuple[Field[Any], ...], names: dict[str, Any]) -> list[str]:
    """As they stand in a `def`; those that are given by name only come last."""
    plain = [_parameter(each, names) for each in every if not each.kw_only]
    named = [_parameter(each, names) for each in every if each.kw_only]
    return [*plain, "*", *named] if named else plain


def _parameter(one: Field[Any], names: dict[str, Any]) -> str:
    if one.default_factory is not MISSING:
        names[f"_make_{one.name}"] = one.default_factory
        return f"{one.name}=_unset"
    if one.default is not MISSING:
        names[f"_else_{one.name}"] = one.default
        return f"{one.name}=_else_{one.name}"
    return one.name


def _value(one: Field[Any]) -> str:
    if one.default_factory is MISSING:
        return one.name
    return f"_make_{one.name}() if {one.name} is _unset else {one.name}"


@recursive_repr()
def _shown(self: Any) -> str:
    values = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({values})"
