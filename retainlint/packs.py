"""What runs found, in a file for each version of this program and choice of settings, which is replaced whole."""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Iterable
from typing import TypeAlias

from retainlint.cachedir import prepared, read, replace, tidy
from retainlint.files import stamp

Texts: TypeAlias = "tuple[str, str, str]"
"""What one file's check gave, packed: its findings, those beyond it, and what couldn't be followed."""

NOTHING: Texts = ("", "", "")


class Entry:
    """What is known of a file: its SHA-256; its stamp, "" if that proves nothing; the numbers of the places that were
    looked up for its sake; and what was found, by its number among the pack's texts if it hasn't been read yet."""

    __slots__ = ("digest", "needs", "stamp", "texts")

    def __init__(self, stamp: str, digest: str, needs: list[int], texts: Texts | int | None) -> None:
        self.stamp, self.digest, self.needs, self.texts = stamp, digest, needs, texts


class Pack:
    """The entries of all files checked with one choice of settings, which the `header` tells from others.

    `places` are what was looked up: the path, what was there (None for nothing), and its stamp. Of those in `doubtful`
    it isn't known yet whether they are as they were; those in `broken` aren't.
    """

    def __init__(self, header: str, path: str = "") -> None:
        self.header, self.path = header, path
        self.entries: dict[str, Entry] = {}
        self.places: list[tuple[str, str | None, str]] = []
        self.read_at: str | None = None
        self.changed = False
        self._numbers: dict[tuple[str, str | None], int] = {}
        self._unread = b""
        self._texts: list[Texts] = []
        self.doubt()

    def doubt(self) -> None:
        """Forget which places are as they were."""
        self.doubtful = set(range(len(self.places)))
        self.broken: set[int] = set()

    def settle(self, number: int, holds: bool) -> None:
        self.doubtful.discard(number)
        if not holds:
            self.broken.add(number)

    def put(
        self, name: str, stamp: str, digest: str, needs: Iterable[tuple[str, str | None, str]], texts: Texts
    ) -> None:
        """Enter a file; `needs` are rows of `places`."""
        self.entries[name] = Entry(stamp, digest, [self._number(*need) for need in needs], texts)
        self.changed = True

    def _number(self, place: str, state: str | None, stamp: str) -> int:
        if not self._numbers:
            self._numbers = {(place, state): number for number, (place, state, _) in enumerate(self.places)}
        number = self._numbers.setdefault((place, state), len(self.places))
        if number == len(self.places):
            self.places.append((place, state, stamp))
            self.doubtful.add(number)
        elif stamp:
            self.places[number] = (place, state, stamp)
        return number

    def texts_of(self, entry: Entry) -> Texts | None:
        """What was found in a file; None if the pack doesn't hold what we wrote."""
        if not isinstance(entry.texts, int):
            return entry.texts or NOTHING
        try:
            if self._unread:
                self._texts = [(str(own), str(beyond), str(gaps)) for own, beyond, gaps in json.loads(self._unread)]
                self._unread = b""
            return self._texts[entry.texts]
        except (ValueError, TypeError, IndexError, RecursionError):
            return None

    def load(self) -> None:
        """Take over the file, if there is one that we wrote, whole, for the same header."""
        self.read_at = stamp(self.path)
        checksum, _, body = (read(self.path) or b"" if self.read_at else b"").partition(b"\n")
        try:
            if checksum != b"%08x" % zlib.crc32(body):
                return
            header, places, entries, texts = body.split(b"\n")
            if json.loads(header) != self.header:
                return
            rows = [
                (str(place), None if state is None else str(state), str(stamp))
                for place, state, stamp in json.loads(places)
            ]
            found = {str(name): Entry(*row) for name, row in json.loads(entries).items()}
            if not {number for entry in found.values() for number in entry.needs} <= set(range(len(rows))):
                return
        except (ValueError, TypeError, AttributeError, RecursionError):
            return
        self.places, self.entries, self._unread = rows, found, texts
        self.doubt()

    def merge(self) -> None:
        """Take over what another run has written since this one read the file."""
        if stamp(self.path) == self.read_at:
            return
        other = Pack(self.header, self.path)
        other.load()
        for name, entry in other.entries.items():
            texts = other.texts_of(entry)
            if name not in self.entries and texts is not None:
                self.put(name, entry.stamp, entry.digest, [other.places[number] for number in entry.needs], texts)

    def dumped(self) -> bytes:
        """The pack as bytes, without files that are gone and places that nobody needs: a line of JSON each for the
        header, the places, the entries, and the texts, which few runs need."""
        lean = Pack(self.header)
        rows: dict[str, tuple[str, str, list[int], int | None]] = {}
        told: list[Texts] = []
        for name, entry in self.entries.items():
            texts = self.texts_of(entry)
            if texts is not None and os.path.exists(name):
                lean.put(name, entry.stamp, entry.digest, [self.places[number] for number in entry.needs], texts)
                rows[name] = (
                    entry.stamp,
                    entry.digest,
                    lean.entries[name].needs,
                    None if texts == NOTHING else len(told),
                )
                told += [texts] if texts != NOTHING else []
        body = b"\n".join(
            json.dumps(part, separators=(",", ":")).encode() for part in (self.header, lean.places, rows, told)
        )
        return b"%08x\n%s" % (zlib.crc32(body), body)


def opened(directory: str, header: str) -> Pack:
    """The pack for a header; one that lives in memory without a directory."""
    name = f"{zlib.crc32(header.encode(errors='surrogateescape')):08x}.pack"
    pack = Pack(header, os.path.join(directory, name) if directory else "")
    if pack.path:
        pack.load()
    return pack


def write(directory: str, packs: Iterable[Pack]) -> None:
    """Write packs, and remove what is of no use any more. What can't be written is lost."""
    if not prepared(directory):
        return
    for pack in packs:
        pack.merge()
        with contextlib.suppress(OSError):
            replace(pack.path, pack.dumped())
        pack.changed = False
    tidy(directory)
