"""What earlier runs found, kept on the disk for as long as nothing that a result depends on has changed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from retainlint.config import Settings
from retainlint.modules import THERE

DIRECTORY = ".retainlint_cache"
TAG = "CACHEDIR.TAG"
_MARKS = {
    TAG: b"Signature: 8a477f597d28d172789f06886806bc55\n# What retainlint found in earlier runs; it may be removed.\n",
    ".gitignore": b"*\n",
}
_OURS = re.compile(r"[0-9a-f]{8}\.pack\.json(\.[0-9]+\.new)?$")
"""The names of packs, and of what a run left that was killed."""

YOUNG = 2_000_000_000
"""Nanoseconds in which a file may change twice without a change of its times: coarse file systems count in two seconds."""

UNUSED = 30 * 86_400
"""Seconds after which a pack that nobody wrote is removed."""

Json: TypeAlias = Any
Lookups: TypeAlias = "Mapping[str, str | None]"


@dataclass
class Entry:
    """What one file's check gave, as packed texts: its findings, those beyond it, and what couldn't be followed.

    `digest` is the SHA-256 of the file, `stamp` what `stamp_of` gave of it, "" if that proves nothing; `needs` are
    numbers of places in the pack's table.
    """

    stamp: str
    digest: str
    needs: list[int]
    texts: tuple[str, str, str]


@dataclass
class _Pack:
    """The entries of all files checked with one `Settings`; `places` are what was looked up, with what was there."""

    header: str
    path: str
    entries: dict[str, Entry] = field(default_factory=dict)
    places: list[tuple[str, str | None, str]] = field(default_factory=list)
    numbers: dict[tuple[str, str | None], int] = field(default_factory=dict)
    proven: dict[int, bool] = field(default_factory=dict)
    read_at: str = ""
    changed: bool = False

    def number(self, place: str, state: str | None, stamp: str) -> int:
        """The number of a place at which something was found."""
        key = (place, state)
        if key not in self.numbers:
            self.numbers[key] = len(self.places)
            self.places.append((place, state, stamp))
        elif stamp:
            self.places[self.numbers[key]] = (place, state, stamp)
        return self.numbers[key]


class Cache:
    """One directory of packs. It raises nothing: what can't be read isn't known, what can't be written is lost."""

    def __init__(self, directory: str = "", tool: Callable[[], str] = str) -> None:
        """`tool` gives what tells versions apart. Without a directory the results live as long as this object."""
        self._directory = directory
        self._tool = tool
        self._packs: dict[Settings, _Pack] = {}
        self._begin()

    def _begin(self) -> None:
        self._begun = time.time_ns()
        self._stamps: dict[str, str] = {}

    def fresh(self) -> None:
        """Forget what is known of the disk: a new run begins."""
        self._begin()
        for pack in self._packs.values():
            pack.proven.clear()

    # -- asking ---------------------------------------------------------------------------------------------------

    def get(self, name: str, settings: Settings) -> Entry | None:
        """What is known of a file, if nothing has changed on which that depends."""
        pack = self._pack(settings)
        entry = pack.entries.get(name)
        if entry is None:
            return None
        stamp = self.stamp(name)
        if not stamp:
            return None
        if stamp != entry.stamp:
            if _digest(name) != entry.digest:
                return None
            entry.stamp = self._old(stamp)
            pack.changed = pack.changed or bool(entry.stamp)
        return entry if all(self._holds(pack, number) for number in entry.needs) else None

    def put(self, name: str, settings: Settings, digest: str, lookups: Lookups, texts: tuple[str, str, str]) -> None:
        """Keep what a check gave that began after this object did, or after the last `fresh`."""
        pack = self._pack(settings)
        needs = [
            pack.number(place, state, self._old(self.stamp(place)) if state not in (None, THERE) else "")
            for place, state in lookups.items()
        ]
        pack.entries[name] = Entry(self._old(self.stamp(name)), digest, needs, texts)
        pack.changed = True

    def stamp(self, place: str) -> str:
        """`stamp_of`, asked once a run."""
        if place not in self._stamps:
            self._stamps[place] = stamp_of(place)
        return self._stamps[place]

    def _old(self, stamp: str) -> str:
        """The stamp if the file has it since before this run: only then it stands for the bytes that were read."""
        if not stamp:
            return ""
        _, modified, changed, _ = map(int, stamp.split())
        return stamp if max(modified, changed) < self._begun - YOUNG else ""

    def _holds(self, pack: _Pack, number: int) -> bool:
        """Whether a place is as it was when it was looked up."""
        if number not in pack.proven:
            place, state, stamp = pack.places[number]
            if state is None:
                holds = not self.stamp(place) and not os.path.exists(place)
            elif state == THERE:
                holds = bool(self.stamp(place)) or os.path.exists(place)
            else:
                now = self.stamp(place)
                holds = bool(now) and (now == stamp or _digest(place) == state)
                if holds and now != stamp and self._old(now):
                    pack.places[number] = (place, state, now)
                    pack.changed = True
            pack.proven[number] = holds
        return pack.proven[number]

    @property
    def modules(self) -> set[str]:
        """The files that were read for others' sake."""
        return {place for pack in self._packs.values() for place, state, _ in pack.places if state not in (None, THERE)}

    # -- the disk -------------------------------------------------------------------------------------------------

    def _pack(self, settings: Settings) -> _Pack:
        if settings not in self._packs:
            codes = "ALL" if settings.codes is None else ",".join(sorted(settings.codes))
            header = "\n".join((self._tool(), os.getcwd(), codes, repr(replace(settings, codes=None))))
            name = f"{zlib.crc32(header.encode(errors='surrogateescape')):08x}.pack.json"
            pack = _Pack(header, os.path.join(self._directory, name) if self._directory else "")
            if pack.path:
                _load(pack)
            self._packs[settings] = pack
        return self._packs[settings]

    def save(self) -> None:
        """Write what has changed, so that whoever reads at the same time finds all of the old or all of the new."""
        changed = [pack for pack in self._packs.values() if pack.changed and pack.path]
        if not changed or not _prepared(self._directory):
            return
        for pack in changed:
            _merge(pack)
            with contextlib.suppress(OSError):
                _replace(pack.path, _dumped(pack))
            pack.changed = False
        _tidy(self._directory)


def stamp_of(place: str) -> str:
    """Size, times of change (of the content, of anything) and number of a regular file; "" if there is none."""
    try:
        found = os.stat(place)
    except (OSError, ValueError):
        return ""
    if found.st_mode & 0o170000 != 0o100000:
        return ""
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


def tool(version: str) -> str:
    """What tells this program from another version of it: also its own files, for those who work on it."""
    newest, count = 0, 0
    pending = [os.path.dirname(os.path.abspath(__file__))]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as listing:
            for entry in listing:
                if entry.name.endswith(".py"):
                    newest, count = max(newest, entry.stat().st_mtime_ns), count + 1
                elif entry.name != "__pycache__" and entry.is_dir():
                    pending.append(entry.path)
    return f"{version} {newest} {count} {sys.version_info[:3]} {_parser()}"


def _parser() -> str:
    """Which libcst there is, without importing it."""
    for place in sys.path:
        stamp = stamp_of(os.path.join(place, "libcst", "_version.py"))
        if stamp:
            return stamp
    return ""


def clean(directory: str) -> int:
    """Remove what we wrote from a directory, and the directory if nothing else is in it: the number of files.

    Raises OSError for what may not be removed.
    """
    removed = 0
    for entry in _written(directory):
        os.unlink(entry.path)
        removed += 1
    left = {name: os.path.join(directory, name) for name in os.listdir(directory)} if os.path.isdir(directory) else {}
    if TAG in left and set(left) <= set(_MARKS) and all(_bytes(left[name]) == _MARKS[name] for name in left):
        for place in left.values():
            os.unlink(place)
        os.rmdir(directory)
    return removed


def _digest(place: str) -> str:
    """The SHA-256 of a file; "" if it can't be read."""
    from hashlib import sha256

    data = _bytes(place)
    return "" if data is None else sha256(data).hexdigest()


def _bytes(place: str) -> bytes | None:
    try:
        with open(place, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def _load(pack: _Pack) -> None:
    """Fill a pack from its file, if there is one that we wrote, whole, for the same header."""
    pack.read_at = stamp_of(pack.path)
    checksum, _, body = (_bytes(pack.path) or b"" if pack.read_at else b"").partition(b"\n")
    try:
        if checksum != b"%08x" % zlib.crc32(body):
            return
        header, places, entries = json.loads(body)
        if header != pack.header:
            return
        found = {str(name): _entry(row, len(places)) for name, row in entries.items()}
        pack.places = [
            (str(place), None if state is None else str(state), str(stamp)) for place, state, stamp in places
        ]
        pack.numbers = {(place, state): number for number, (place, state, _) in enumerate(pack.places)}
        pack.entries = found
    except (ValueError, TypeError, AttributeError, RecursionError):
        return


def _entry(row: Json, places: int) -> Entry:
    stamp, digest, needs, (own, beyond, gaps) = row
    if any(not 0 <= number < places for number in needs):
        raise ValueError("a place that isn't in the table")
    return Entry(str(stamp), str(digest), needs, (str(own), str(beyond), str(gaps)))


def _merge(pack: _Pack) -> None:
    """Take over what another run has written since this one read the file."""
    if stamp_of(pack.path) == pack.read_at:
        return
    other = _Pack(pack.header, pack.path)
    _load(other)
    for name, entry in other.entries.items():
        if name not in pack.entries:
            entry.needs = [pack.number(*other.places[number]) for number in entry.needs]
            pack.entries[name] = entry


def _dumped(pack: _Pack) -> bytes:
    """The pack as bytes, without files that are gone and places that nobody needs."""
    lean = _Pack(pack.header, pack.path)
    rows = {}
    for name, entry in pack.entries.items():
        if os.path.exists(name):
            needs = [lean.number(*pack.places[number]) for number in entry.needs]
            rows[name] = [entry.stamp, entry.digest, needs, entry.texts]
    body = json.dumps([lean.header, lean.places, rows], separators=(",", ":")).encode()
    return b"%08x\n%s" % (zlib.crc32(body), body)


def _prepared(directory: str) -> bool:
    """Make the directory, marked so that neither git nor a backup takes it; False if that can't be done."""
    try:
        if not os.path.isdir(directory):
            os.makedirs(directory)
            for name, text in _MARKS.items():
                _replace(os.path.join(directory, name), text)
    except OSError:
        return os.path.isdir(directory)  # another run may have been faster
    return True


def _replace(path: str, data: bytes) -> None:
    """Unlike `writing.replace` it doesn't wait for the disk: a pack that is lost is made again."""
    scrap = f"{path}.{os.getpid()}.new"
    try:
        with open(scrap, "xb") as file:
            file.write(data)
        os.replace(scrap, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scrap)
        raise


def _tidy(directory: str) -> None:
    """Remove packs of versions and settings that nobody uses any more, and what a run left that was killed."""
    with contextlib.suppress(OSError):
        for entry in _written(directory):
            if entry.stat().st_mtime < time.time() - UNUSED:
                os.unlink(entry.path)


def _written(directory: str) -> list[os.DirEntry[str]]:
    """Our files in a directory. Raises OSError if it can't be listed, unless there is none."""
    try:
        with os.scandir(directory) as listing:
            return [entry for entry in listing if _OURS.match(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
