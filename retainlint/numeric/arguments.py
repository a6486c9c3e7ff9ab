"""Classes made from rows: what a call gives to a row of options, with Python's own words where it doesn't fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

REQUIRED = object()
"""The default of an option that has none."""


def row(**options: Any) -> Mapping[str, Any]:
    """Options and their defaults, which nobody can change."""
    return MappingProxyType(options)


def bound(owner: str, options: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Each option with what was given for it, by place or by name, or its default; TypeError if it can't be."""
    call = f"{owner}.__init__()"
    names = list(options)
    if len(args) > len(names):
        least = 1 + sum(default is REQUIRED for default in options.values())
        takes = f"{len(names) + 1}" if least > len(names) else f"from {least} to {len(names) + 1}"
        raise TypeError(f"{call} takes {takes} positional arguments but {len(args) + 1} were given")
    for name in kwargs:
        if name not in options:
            raise TypeError(f"{call} got an unexpected keyword argument {name!r}")
        if name in names[: len(args)]:
            raise TypeError(f"{call} got multiple values for argument {name!r}")
    found = {**options, **dict(zip(names, args)), **kwargs}
    missing = [repr(name) for name, value in found.items() if value is REQUIRED]
    if missing:
        several = "s" if len(missing) > 1 else ""
        listed = " and ".join([", ".join(missing[:-1]), missing[-1]]) if several else missing[0]
        raise TypeError(f"{call} missing {len(missing)} required positional argument{several}: {listed}")
    return found
