"""Reads a configuration file's bytes, and tells how a path is shown."""

from __future__ import annotations

import os

from retainlint.config.words import ConfigError

LARGEST = 10_000_000
"""In bytes; more is no configuration."""


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
