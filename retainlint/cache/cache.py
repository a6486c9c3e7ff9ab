"""What earlier runs found, asked for file by file: it counts as long as nothing has changed that a result depends on."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from retainlint.text.files import EXACT, NO_LISTINGS, THERE, Listings, is_absent, stamp

if TYPE_CHECKING:
    from retainlint.cache.ignore_cache import Answers
    from retainlint.cache.ir_store import IrStore
    from retainlint.cache.results import Pack
    from retainlint.cache.store import Store
    from retainlint.config import Settings

YOUNG = 2_000_000_000
"""Nanoseconds in which a file may change twice without a change of its times: coarse file systems count in two seconds."""

Lookups: TypeAlias = "Mapping[str, str | None]"


class Cache:
    """One directory of packs. It raises nothing: what can't be read isn't known, what can't be written is lost."""

    def __init__(self, directory: str = "", tool: Callable[[], str] = str) -> None:
        """`tool` gives what tells versions apart. Without a directory the results live as long as this object."""
        self._directory = directory
        self._tool = tool
        self._packs: dict[Settings, Pack] = {}
        self._begin(NO_LISTINGS)

    def _begin(self, listings: Listings) -> None:
        self._begun, self._here = time.time_ns(), os.path.join(os.getcwd(), "")
        self._listings = listings
        self._stamps: dict[str, str | None] = {}
        self._looked: dict[str, Listings] = {}

    def fresh(self, listings: Listings = NO_LISTINGS) -> None:
        """Forget what is known of the disk: a new run begins, with `listings` of what is in some directories."""
        self._begin(listings)
        for pack in self._packs.values():
            pack.places.doubt(listings)

    def get(self, name: str, settings: Settings) -> str | None:
        """What is known of a file, packed, if nothing has changed on which that depends."""
        pack = self._packs.get(settings) or self._pack(settings)
        entry = pack.entries.get(name)
        if entry is None:
            return None
        now = self._stamp(self._here + name if EXACT and name[0] != os.sep else os.path.join(self._here, name))
        if not now:
            return None
        if now != entry.stamp:
            if _digest(name) != entry.digest:
                return None
            entry.stamp = self._old(now)
            pack.changed = pack.changed or bool(entry.stamp)
        if entry.needs:
            for number in pack.places.doubtful_in(entry.needs, self._listed):
                pack.places.settle(number, self._holds(pack, number))
            if not pack.places.hold(entry.needs):
                return None
        return entry.text

    def put(self, name: str, settings: Settings, digest: str, lookups: Lookups, text: str) -> None:
        """Keep what a check gave that began after this object did, or after the last `fresh`."""
        needs = [
            (place, state, self._old(self._stamp(place)) if state not in (None, THERE) else "")
            for place, state in lookups.items()
        ]
        self._pack(settings).put(name, self._old(self._stamp(name)), digest, needs, text)

    def _stamp(self, place: str) -> str | None:
        """`stamp`, asked once a run."""
        if place not in self._stamps:
            self._stamps[place] = stamp(place)
        return self._stamps[place]

    def _listed(self, directory: str) -> Listings:
        """What is in a directory, looked up once a run; nothing if that can't be told."""
        if directory not in self._looked:
            try:
                self._looked[directory] = {directory: frozenset(os.listdir(directory))}
            except FileNotFoundError:
                self._looked[directory] = {directory: frozenset()}
            except (OSError, ValueError):
                self._looked[directory] = NO_LISTINGS
        return self._looked[directory]

    def _old(self, found: str | None) -> str:
        """The stamp if the file has it since before this run: only then it stands for the bytes that were read."""
        if not found:
            return ""
        _, modified, changed, _ = map(int, found.split())
        return found if max(modified, changed) < self._begun - YOUNG else ""

    def _holds(self, pack: Pack, number: int) -> bool:
        """Whether a place is as it was when it was looked up."""
        place, state, stamp = pack.places[number]
        now = None if is_absent(place, self._listings) else self._stamp(place)
        if state is None:
            return now is None
        if state == THERE:
            return now is not None
        if not now or (now != stamp and _digest(place) != state):
            return False
        if now != stamp and self._old(now):
            pack.places.renew(number, now)
            pack.changed = True
        return True

    @property
    def modules(self) -> set[str]:
        """The files that were read for others' sake."""
        return {
            place
            for pack in self._packs.values()
            for place, state, _ in pack.places.present
            if state not in (None, THERE)
        }

    @cached_property
    def _store(self) -> Store:
        from retainlint.cache.store import Store

        return Store(self._directory, self._tool())

    def ir_store(self) -> IrStore | None:
        """Where lowered modules are kept; None without a directory."""
        if not self._directory:
            return None
        from retainlint.cache.ir_store import IrStore

        return IrStore(self._store)

    def answers(self, tree: str) -> Answers:
        """What is known of what is ignored in a tree, by its absolute path."""
        from retainlint.cache.ignore_cache import Answers

        return Answers(self._store.file("ignored", tree))

    def _pack(self, settings: Settings) -> Pack:
        if settings not in self._packs:
            from retainlint.cache.results import Pack

            codes = "ALL" if settings.codes is None else ",".join(sorted(settings.codes))
            key = "\n".join((os.getcwd(), codes, repr(settings._replace(codes=None))))
            self._packs[settings] = pack = Pack(self._store.file("found", key))
            pack.places.doubt(self._listings)
        return self._packs[settings]

    def save(self) -> None:
        """Write what has changed, so that whoever reads at the same time finds all of the old or all of the new."""
        for pack in self._packs.values():
            if pack.changed:
                pack.save()


def _digest(place: str) -> str:
    """The SHA-256 of a file; "" if it can't be read."""
    from hashlib import sha256

    try:
        with open(place, "rb") as file:
            return sha256(file.read()).hexdigest()
    except (OSError, ValueError):
        return ""


def tool(version: str) -> str:
    """What tells this program from another version of it; in a working copy, where its files may change one by one, all
    of them."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    is_copy = os.path.exists(os.path.join(os.path.dirname(package), "pyproject.toml"))
    state = _newest(package) if is_copy else stamp(os.path.join(package, "__init__.py"))
    return f"{version} {state} {sys.version_info[:3]} {_library('libcst')} {_library('pathspec')}"


def _newest(package: str) -> str:
    """How many files a package has, and when the last of them was changed."""
    newest, count = 0, 0
    pending = [package]
    while pending:
        try:
            with os.scandir(pending.pop()) as listing:
                for entry in listing:
                    if entry.name.endswith(".py"):
                        newest, count = max(newest, entry.stat().st_mtime_ns), count + 1
                    elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                        pending.append(entry.path)
        except OSError:
            continue
    return f"{newest} {count}"


def _library(name: str) -> str:
    """Which version of a library there is, without importing it."""
    places = (os.path.join(place, name, "_version.py") for place in sys.path)
    return next(filter(None, map(stamp, places)), "")
