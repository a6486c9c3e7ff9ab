"""What configuration files say: TOML, each value with the row on which it is stated, and the files it extends."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from retainlint.config import places, reading
from retainlint.config.reading import PYPROJECT, TABLE, bytes_of, displayed_path
from retainlint.config.table import COMMAND_LINE, Layer, Setting, Stated, WrongValue, setting
from retainlint.config.words import ConfigError


def of_text(text: str, root: str) -> Layer:
    """The layer of one `--config "key = value"`."""
    name = "--config"
    raw = reading.parse(text, name)
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
            raise ConfigError(
                f"{told_by}: 'extend' leads in a circle: {' -> '.join(map(displayed_path, [*seen, place]))}"
            )
        seen.append(place)
        if len(seen) > 1 and os.path.exists(place) and not os.path.isfile(place):
            raise ConfigError(f"{told_by}: {displayed_path(place)}: is no file")
        layer = _of_file(place, root if len(seen) == 1 else None, told_by)
        layers.insert(0, layer)
        extended = layer.stated.get("extend")
        if extended is None or not isinstance(extended.value, str):
            return layers
        told_by = extended.origin
        above = os.path.expanduser(extended.value)
        place = os.path.abspath(os.path.join(os.path.dirname(place), above))


def _of_file(path: str, root: str | None, told_by: str) -> Layer:
    name = displayed_path(path)
    text = reading.decode(bytes_of(path, told_by or name, name), name)
    table: Any = reading.parse(text, name)
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
    table: Mapping[str, Any],
    known: dict[places.KeyPath, int],
    below: places.KeyPath,
    name: str,
    root: str,
    file: str = "",
) -> Layer:
    def origin(path: places.KeyPath) -> str:
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
