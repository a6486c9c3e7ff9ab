"""Imports libcst in half its time, and has it parse in three quarters: the classes of its nodes are compiled by us.

The standard library writes and compiles six methods for each of its 170 frozen dataclasses, of which it throws three away
and a file needs a third: the others wait for the first object. So does what it knows of scopes and types, until somebody asks.
What is left, but for the text of their signatures until then, and but for nodes that can be changed, is as if libcst were
imported by itself. What it has parsed needn't be validated.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

from retainlint.startup import process
from retainlint.startup.records import init_lines

if TYPE_CHECKING:
    from libcst import Module

_NODES = "libcst._nodes."
_COMPILED = "libcst.native"
"""Can't be imported twice; it asks for the classes by their names."""

_METADATA = "libcst.metadata"

_FROZEN = {"frozen": True}

_ALWAYS_RIGHT = frozenset(
    ("_BaseParenthesizedNode", "_BaseSimpleStatement", "SimpleWhitespace", "Newline", "Name", "Arg", "IndentedBlock")
)
"""Whose way of validating a node finds nothing wrong with what was parsed."""


class _Now:
    """How libcst was imported, and whether it parses for us."""

    quick = False
    parses = False


_now = _Now()


def import_libcst() -> None:
    """Import it so, if nobody has imported it, and nobody but us will use it."""
    if not process.ours or "libcst" in sys.modules:
        return
    plain = dataclasses.dataclass
    late = _Late(plain)
    dataclasses.dataclass = late
    try:
        metadata = _unopened()
        import libcst

        libcst.parse_module("x = 1")
        if metadata is not None:
            vars(libcst)["metadata"] = metadata
    except Exception:  # noqa: BLE001 -- another libcst, or Python, than we know: whoever asks next imports it plainly
        for name in [name for name in sys.modules if name.partition(".")[0] == "libcst" and name != _COMPILED]:
            del sys.modules[name]
    else:
        _now.quick = True
    finally:
        dataclasses.dataclass = plain
    late.freeze()


class _Unopened(ModuleType):
    """A package of which only modules are imported, until it is asked for a name of its own."""

    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment]
        spec = self.__spec__
        assert spec is not None and spec.loader is not None
        spec.loader.exec_module(self)
        return getattr(self, name)


def _unopened() -> ModuleType | None:
    """libcst's metadata, of which libcst itself needs two modules, and we none; None where it isn't found as usual."""
    above = PathFinder.find_spec("libcst")
    spec = PathFinder.find_spec(_METADATA, above.submodule_search_locations if above is not None else None)
    if spec is None:
        return None
    module = sys.modules[_METADATA] = _Unopened(_METADATA)
    module.__spec__, module.__path__ = spec, list(spec.submodule_search_locations or ())
    module.__file__, module.__package__, module.__loader__ = spec.origin, _METADATA, spec.loader
    return module


def parse_module(text: str) -> Module:
    """As libcst's; the tree is only to be read."""
    import libcst

    _now.parses = _now.quick
    try:
        return libcst.parse_module(text)
    finally:
        _now.parses = False


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
        made.__init__ = _first
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
        after = "_me._validate()"
        if cls._validate is CSTNode._validate:
            after = "pass"
        elif cls._validate.__qualname__.partition(".")[0] in _ALWAYS_RIGHT:
            after = "if not _now.parses: _me._validate()"
    names: dict[str, Any] = {"_now": _now}
    exec("\n".join(init_lines(dataclasses.fields(cls), names, after)), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made
