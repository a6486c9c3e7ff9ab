"""Configuration files: which one counts for a directory, its bytes, and the TOML that they hold."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection
from typing import Any

from retainlint.config.words import ConfigError

LARGEST = 10_000_000
"""In bytes; more is no configuration."""


def displayed_path(path: str) -> str:
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


OWN_FILES = (".retainlint.toml", "retainlint.toml")

PYPROJECT = "pyproject.toml"

CONFIGURATIONS = (*OWN_FILES, PYPROJECT)

TABLE = ("tool", "retainlint")
"""Where a `pyproject.toml` speaks of us."""


def may_configure(names: Collection[str]) -> bool:
    """Whether the names in a directory include that of a configuration file."""
    return any(name in names for name in CONFIGURATIONS)


def nearest_file(directory: str) -> str | None:
    """The configuration file of one directory, if it has any: our own before a `pyproject.toml` that speaks of us."""
    for name in OWN_FILES:
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            return path
    path = os.path.join(directory, PYPROJECT)
    if os.path.isfile(path) and b"retainlint" in bytes_of(
        path, displayed_path(path)
    ):  # else it is not ours to find fault with
        return path if _has_our_table(path) else None
    return None


def _has_our_table(path: str) -> bool:
    """Whether a pyproject.toml has a table of ours. Raises ConfigError."""

    name = displayed_path(path)
    table: Any = parse(decode(bytes_of(path, name), name), name)
    for key in TABLE:
        table = table.get(key) if isinstance(table, dict) else None
    return table is not None


_PLACE = re.compile(r" \(at (?:line (?P<row>\d+), column (?P<column>\d+)|end of document)\)$")


def parse(text: str, name: str) -> dict[str, Any]:
    """The text as nested dictionaries. Raises ConfigError, led by `name:row:column:`, if it is no TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        match = _PLACE.search(str(error))
        message = str(error)[: match.start()] if match else str(error)
        place = "" if match is None else f":{match['row']}:{match['column']}" if match["row"] else f":{_rows(text)}"
        raise ConfigError(f"{name}{place}: this is no TOML: {message[:1].lower()}{message[1:]}") from error
    except RecursionError as error:
        raise ConfigError(f"{name}: this nests too deeply") from error
    except ValueError as error:  # such as a number of too many digits
        raise ConfigError(f"{name}: this is no TOML that can be read: {str(error)[:100]}") from error


def decode(data: bytes, name: str) -> str:
    """The text of a file. Raises ConfigError for bytes that are no UTF-8, and for too many of them."""
    if len(data) > LARGEST:
        raise ConfigError(f"{name}: too large for a configuration file ({len(data):,} bytes)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{name}:{row}: this is not UTF-8, which TOML must be (byte 0x{data[error.start]:02x})"
        ) from error


def _rows(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1
