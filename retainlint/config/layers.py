"""A layer of configuration: what one file, or the command line, says, and where it says it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from retainlint.config.table import Value
from retainlint.config.words import ConfigError

if TYPE_CHECKING:
    from retainlint.config.places import Path

OWN_FILES = (".retainlint.toml", "retainlint.toml")
PYPROJECT = "pyproject.toml"
COMMAND_LINE = "command line"
DEFAULT = "default"

LARGEST = 10_000_000
"""In bytes; more is no configuration."""

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


def may_configure(names: Collection[str]) -> bool:
    """Whether the names in a directory include that of a configuration file."""
    return PYPROJECT in names or any(name in names for name in OWN_FILES)


def nearest_file(directory: str) -> str | None:
    """The configuration file of one directory, if it has any: our own before a `pyproject.toml` that speaks of us."""
    for name in OWN_FILES:
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            return path
    path = os.path.join(directory, PYPROJECT)
    if os.path.isfile(path) and b"retainlint" in bytes_of(
        path, name_of(path)
    ):  # else it is not ours to find fault with
        from retainlint.config.files import has_our_table

        return path if has_our_table(path) else None
    return None


def name_of(path: str) -> str:
    """A path as it is shown: relative where it lies below the working directory."""
    here = os.path.join(os.getcwd(), "")
    return path[len(here) :] if path.startswith(here) else path


def bytes_of(path: str, told_by: str, name: str = "") -> bytes:
    """What a configuration file holds, `told_by` the place that names it. Raises ConfigError."""
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        wrong = f"{name}: " if name and name != told_by else ""
        raise ConfigError(f"{told_by}: {wrong}{reason[:1].lower()}{reason[1:]}") from error
