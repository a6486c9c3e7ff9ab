"""Which file configures a directory."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from retainlint.config.reading import bytes_of, name_of

OWN_FILES = (".retainlint.toml", "retainlint.toml")
PYPROJECT = "pyproject.toml"
TABLE = ("tool", "retainlint")
"""Where a `pyproject.toml` speaks of us."""


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
        return path if _has_our_table(path) else None
    return None


def _has_our_table(path: str) -> bool:
    """Whether a pyproject.toml has a table of ours. Raises ConfigError."""
    from retainlint.config import toml

    name = name_of(path)
    table: Any = toml.parse(toml.decode(bytes_of(path, name), name), name)
    for key in TABLE:
        table = table.get(key) if isinstance(table, dict) else None
    return table is not None
