"""Reads TOML text; what is wrong with it is one message with its place."""

from __future__ import annotations

import re
import sys
from typing import Any

from retainlint.config.reading import LARGEST
from retainlint.config.words import ConfigError

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
