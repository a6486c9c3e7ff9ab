"""`retainlint clean`: remove what earlier runs have kept."""

from __future__ import annotations

from typing import TextIO

from retainlint.cache.directory import clean as remove
from retainlint.commands import CommandError
from retainlint.commands.configuring import configured
from retainlint.config import Asked
from retainlint.config.reading import name_of


def clean(asked: Asked, out: TextIO) -> int:
    """Raises CommandError for what can't be removed."""
    from retainlint.report.terminal import safe_start

    directory = configured(asked).here.path("cache-dir") or ""
    name = safe_start(name_of(directory))
    try:
        removed = remove(directory)
    except OSError as error:
        raise CommandError(f"{name}: the cache can't be removed: {error.strerror or error}") from error
    out.write(f"Removed the cache in {name}.\n" if removed else f"No cache in {name}.\n")
    return 0
