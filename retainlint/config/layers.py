"""A layer of configuration: what one file, or the command line, says, and where it says it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from retainlint.config import places, toml
from retainlint.config.table import Setting, Value, WrongValue, setting
from retainlint.config.words import ConfigError

OWN_FILES = (".retainlint.toml", "retainlint.toml")
PYPROJECT = "pyproject.toml"
TABLE = ("tool", "retainlint")
COMMAND_LINE = "command line"
DEFAULT = "default"


@dataclass(frozen=True)
class Stated:
    """A value, the place where it is stated (`file:row`), those of its parts, and what its paths are relative to."""

    value: Value
    origin: str
    root: str
    parts: Mapping[tuple[str | int, ...], str] = field(default_factory=dict)

    def at(self, *below: str | int) -> str:
        """Where a part of the value is stated: an element by its number, below its pattern if it has one."""
        return self.parts.get(below, self.origin)


@dataclass(frozen=True)
class Layer:
    """The settings that one place states. `file` is its absolute path, "" for what is no file."""

    stated: Mapping[str, Stated]
    file: str = ""


def of_values(values: Mapping[str, Value], root: str) -> Layer:
    """The layer of the command line's own options."""
    return Layer({key: Stated(value, COMMAND_LINE, root) for key, value in values.items()})


def of_text(text: str, root: str) -> Layer:
    """The layer of one `--config "key = value"`."""
    name = "--config"
    raw = toml.parse(text, name)
    table = raw.get("tool", {}).get("retainlint") if isinstance(raw.get("tool"), dict) else None
    layer = _layer(table if isinstance(table, dict) else raw, {}, (), name, root)
    return Layer({key: Stated(s.value, COMMAND_LINE, s.root) for key, s in layer.stated.items()})


def chain(file: str, root: str | None = None) -> list[Layer]:
    """A file's layer, below it those of the files that it extends; the weakest first.

    `root` is what relative patterns are relative to, if not to the file's directory. Raises ConfigError.
    """
    layers: list[Layer] = []
    seen: list[str] = []
    place, told_by = os.path.abspath(file), ""
    while True:
        if place in seen:
            raise ConfigError(f"{told_by}: 'extend' leads in a circle: {' -> '.join(map(name_of, [*seen, place]))}")
        seen.append(place)
        layer = _of_file(place, root if len(seen) == 1 else None, told_by)
        layers.insert(0, layer)
        extended = layer.stated.get("extend")
        if extended is None or not isinstance(extended.value, str):
            return layers
        told_by = extended.origin
        above = os.path.expanduser(extended.value)
        place = os.path.abspath(os.path.join(os.path.dirname(place), above))


def nearest_file(directory: str) -> str | None:
    """The configuration file of one directory, if it has any: our own before a `pyproject.toml` that speaks of us."""
    for name in OWN_FILES:
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            return path
    path = os.path.join(directory, PYPROJECT)
    if os.path.isfile(path) and _speaks_of_us(path):
        return path
    return None


def name_of(path: str) -> str:
    """A path as it is shown: relative where it lies below the working directory."""
    here = os.path.join(os.getcwd(), "")
    return path[len(here) :] if path.startswith(here) else path


def _speaks_of_us(path: str) -> bool:
    """Whether a pyproject.toml has our table. One without our name in it is not ours to find fault with."""
    data = _bytes(path, name_of(path))
    if b"retainlint" not in data:
        return False
    table: Any = toml.parse(toml.decode(data, name_of(path)), name_of(path))
    for key in TABLE:
        table = table.get(key) if isinstance(table, dict) else None
    return table is not None


def _of_file(path: str, root: str | None, told_by: str) -> Layer:
    name = name_of(path)
    text = toml.decode(_bytes(path, told_by or name, name), name)
    table: Any = toml.parse(text, name)
    below: tuple[str, ...] = ()
    if os.path.basename(path) == PYPROJECT or (len(table) == 1 and isinstance(table.get("tool"), dict)):
        for key in TABLE:
            table = table.get(key, {}) if isinstance(table, dict) else table
        below = TABLE
    known = places.places(text) if table else {}
    if not isinstance(table, dict):
        raise ConfigError(f"{name}:{places.row_of(known, below)}: 'tool.retainlint' must be a table")
    return _layer(table, known, below, name, root or os.path.dirname(path), path)


def _layer(
    table: Mapping[str, Any], known: dict[places.Path, int], below: places.Path, name: str, root: str, file: str = ""
) -> Layer:
    def origin(path: places.Path) -> str:
        return f"{name}:{places.row_of(known, (*below, *path))}" if known else name

    stated: dict[str, Stated] = {}
    for key, raw in table.items():
        try:
            row: Setting = setting(key)
            value = row.read(raw)
        except WrongValue as error:
            raise ConfigError(f"{origin((key, *error.below))}: {error}") from error
        except ConfigError as error:
            raise ConfigError(f"{origin((key,))}: {error}") from error
        start = (*below, key)
        parts = {path[len(start) :]: f"{name}:{at}" for path, at in known.items() if path[: len(start)] == start}
        stated[key] = Stated(value, origin((key,)), root, parts)
    return Layer(stated, file)


def _bytes(path: str, told_by: str, name: str = "") -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(toml.LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        wrong = f"{name}: " if name and name != told_by else ""
        raise ConfigError(f"{told_by}: {wrong}{reason[:1].lower()}{reason[1:]}") from error
