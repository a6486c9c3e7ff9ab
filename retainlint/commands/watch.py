"""`retainlint check --watch`: check again what changed, and what depends on it, for as long as one likes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from retainlint.cache.cache import Cache
from retainlint.commands import CommandError
from retainlint.commands.check import CheckOptions, check
from retainlint.commands.configuring import configured
from retainlint.commands.working import cache_of
from retainlint.project.discovery import MissingPath, discover
from retainlint.report.terminal import safe
from retainlint.text.files import stamp

if TYPE_CHECKING:
    from watchfiles import BaseFilter

PAUSE = 1_000
"""Milliseconds without a change after which it is looked whether one was missed while the watch began."""

CLEAR = "\x1b[2J\x1b[3J\x1b[H"


def watch(options: CheckOptions, out: TextIO) -> int:
    """Until Ctrl-C. Raises CommandError if nothing can be watched; what else goes wrong is told, and watched on."""
    try:
        import watchfiles  # noqa: F401
    except ImportError as error:
        raise CommandError("--watch needs watchfiles: pip install 'retainlint[watch]'") from error
    cache: Cache | None = None
    changes: Iterator[bool] | None = None
    watched: tuple[str, ...] = ()
    try:
        while True:
            if cache is None:
                cache = options.means.kept = _cache(options)
            seen = _stamps(options, cache)
            _once(options, out)
            places = _places(options, cache)
            if changes is None or places != watched:
                changes, watched = _changes(places), places
            for is_change in changes:
                if is_change or _stamps(options, cache) != seen:
                    break
    except KeyboardInterrupt:
        return 0


def _cache(options: CheckOptions) -> Cache:
    """The one on the disk, else one that lasts as long as the watch."""
    return cache_of(configured(options.requested)) if options.means.cached else Cache()


def _once(options: CheckOptions, out: TextIO) -> None:
    if out.isatty():
        out.write(CLEAR)
    try:
        check(options, out)
    except CommandError as error:
        print(f"error: {safe(str(error))}", file=sys.stderr)
    if not options.quiet:
        print("\nWatching for changes; Ctrl-C ends it.", file=sys.stderr)
    out.flush()


def _stamps(options: CheckOptions, cache: Cache) -> dict[str, str | None]:
    """What the files look like that are checked, or read for their sake."""
    try:
        names = discover(options.paths, configured(options.requested)).files
    except (MissingPath, CommandError):
        names = []
    return {name: stamp(name) for name in (*names, *cache.modules)}


def _places(options: CheckOptions, cache: Cache) -> tuple[str, ...]:
    """The directories to watch: none within another."""
    files = [path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path)) for path in options.paths]
    every = {os.path.abspath(path) for path in files} | {os.path.dirname(place) for place in cache.modules}
    return tuple(_outermost(place for place in every if os.path.isdir(place)))


def _outermost(places: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for place in sorted(places):
        if not kept or not os.path.join(place, "").startswith(os.path.join(kept[-1], "")):
            kept.append(place)
    return kept


def _changes(places: tuple[str, ...]) -> Iterator[bool]:
    """True after each change that matters, False once in a while."""
    from watchfiles import watch as wait

    for found in wait(*places, watch_filter=_filter(), rust_timeout=PAUSE, yield_on_timeout=True, raise_interrupt=True):
        yield bool(found)


def _filter() -> BaseFilter:
    """Texts, settings and configurations, outside of the directories of tools."""
    from watchfiles import Change, DefaultFilter

    class Matters(DefaultFilter):
        def __call__(self, change: Change, path: str) -> bool:
            return path.endswith((".py", ".ipynb", ".md", ".json", ".toml", ".gitignore")) and super().__call__(
                change, path
            )

    return Matters()
