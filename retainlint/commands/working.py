"""How a command's run does its work: with which cache, over how many processes, on whose machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from retainlint.checking.scheduler import Running
from retainlint.commands import CommandError
from retainlint.commands.configuring import configured
from retainlint.config.reading import displayed_path
from retainlint.report.terminal import safe_start
from retainlint.startup.version import __version__

if TYPE_CHECKING:
    from retainlint.cache.cache import Cache
    from retainlint.checking.linter import Progress
    from retainlint.config import Configs, Requested


class Means:
    """What was asked for: `jobs` processes, 0 for as many as pay; `executor` by its name; `kept` is a cache at hand."""

    def __init__(self, jobs: int = 0, executor: str = "local", cached: bool = True, kept: Cache | None = None) -> None:
        self.jobs, self.executor, self.cached, self.kept = jobs, executor, cached, kept


@contextmanager
def working(means: Means, configs: Configs, gaps: bool = False, progress: Progress | None = None) -> Iterator[Running]:
    """A way through the files of a run. Raises CommandError for an executor that there isn't."""
    cache = means.kept or (cache_of(configs) if means.cached else None)
    if means.executor == "local":
        yield Running(cache, means.jobs, gaps=gaps, progress=progress)
        return
    from retainlint.checking.executor import NoExecutor, named

    try:
        with named(means.executor) as pool:
            yield Running(cache, means.jobs, pool, gaps, progress=progress)
    except NoExecutor as error:
        raise CommandError(str(error)) from error


def cache_of(configs: Configs) -> Cache:
    """The cache in the directory that the configuration names."""
    from retainlint.cache.cache import Cache, tool

    return Cache(configs.here.path("cache-dir") or "", lambda: tool(__version__))


def clean(requested: Requested, out: TextIO) -> int:
    """`retainlint clean`: remove what earlier runs have kept. Raises CommandError for what can't be removed."""
    from retainlint.cache.store import clean as remove

    directory = configured(requested).here.path("cache-dir") or ""
    name = safe_start(displayed_path(directory))
    try:
        removed = remove(directory)
    except OSError as error:
        raise CommandError(f"{name}: the cache can't be removed: {error.strerror or error}") from error
    out.write(f"Removed the cache in {name}.\n" if removed else f"No cache in {name}.\n")
    return 0
