"""A layer of configuration: what one file, or the command line, says, and where it says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from retainlint.config.table import Value

if TYPE_CHECKING:
    from retainlint.config.places import Path

COMMAND_LINE = "command line"
DEFAULT = "default"

_NO_PARTS: Mapping[Path, str] = {}


class Stated:
    """A value, the place where it is stated (`file:row`), those of its parts, and what its paths are relative to."""

    def __init__(self, value: Value, origin: str, root: str, parts: Mapping[Path, str] = _NO_PARTS) -> None:
        self.value, self.origin, self.root, self.parts = value, origin, root, parts

    def at(self, *below: str | int) -> str:
        """Where a part of the value is stated: an element by its number, below its pattern if it has one."""
        return self.parts.get(below, self.origin)


class Layer:
    """The settings that one place states. `file` is its absolute path, "" for what is no file."""

    def __init__(self, stated: Mapping[str, Stated], file: str = "") -> None:
        self.stated, self.file = stated, file


def of_values(values: Mapping[str, Value], root: str) -> Layer:
    """The layer of the command line's own options."""
    return Layer({key: Stated(value, COMMAND_LINE, root) for key, value in values.items()})
