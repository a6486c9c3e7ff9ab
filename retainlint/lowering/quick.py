"""Imports libcst in half its time: the classes of its nodes are compiled when the first object of them is made.

The standard library writes and compiles six methods for each of its 170 frozen dataclasses, of which it throws three away
and a file needs a third. What is left, but for the text of their signatures until then, is as if libcst were imported by itself.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

from retainlint import process
from retainlint.records import init_lines, refuse_to_delete, refuse_to_set

_NODES = "libcst._nodes."
_COMPILED = "libcst.native"
"""Can't be imported twice; it asks for the classes by their names."""

_FROZEN = {"frozen": True}


def import_libcst() -> None:
    """Import it so, if nobody has imported it, and nobody but us will use it."""
    if not process.ours or "libcst" in sys.modules:
        return
    plain = dataclasses.dataclass
    late = _Late(plain)
    dataclasses.dataclass = late
    try:
        import libcst

        libcst.parse_module("x = 1")
    except Exception:  # noqa: BLE001 -- another libcst, or Python, than we know: whoever asks next imports it plainly
        for name in [name for name in sys.modules if name.partition(".")[0] == "libcst" and name != _COMPILED]:
            del sys.modules[name]
    finally:
        dataclasses.dataclass = plain
    late.freeze()


class _Late:
    """What stands for `dataclasses.dataclass` meanwhile; to all classes but those of nodes it does what that does."""

    def __init__(self, plain: Callable[..., Any]) -> None:
        self._plain = plain
        self._params: list[Any] = []

    def __call__(self, cls: type | None = None, /, **options: Any) -> Any:
        if cls is None:
            return lambda cls: self(cls, **options)
        if not cls.__module__.startswith(_NODES) or options != _FROZEN or "__init__" in vars(cls):
            return self._plain(cls, **options)
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__  # else `dataclass` works out the signature
        made = self._plain(init=False, repr=False, eq=False)(cls)
        made.__init__, made.__setattr__, made.__delattr__ = _first, refuse_to_set, refuse_to_delete
        self._params.append(made.__dataclass_params__)
        return made

    def freeze(self) -> None:
        """Say of the classes that they are frozen; before all are made this couldn't be said of some."""
        for params in self._params:
            params.frozen = True


def _first(self: object, /, *values: object, **named: object) -> None:
    """The `__init__` of a class until an object of it is made."""
    cls: Any = next(each for each in type(self).__mro__ if vars(each).get("__init__") is _first)
    cls.__init__ = _init_of(cls)
    cls.__init__(self, *values, **named)


def _init_of(cls: Any) -> Callable[..., None]:
    from libcst import CSTNode

    after = "_me.__post_init__()"
    if cls.__post_init__ is CSTNode.__post_init__:  # which does nothing but validate
        after = "pass" if cls._validate is CSTNode._validate else "_me._validate()"
    names: dict[str, Any] = {"_set": object.__setattr__}
    exec("\n".join(init_lines(dataclasses.fields(cls), names, after, in_dict=False)), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made
