"""What runs found, in a file for each choice of settings, which is replaced whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from retainlint.cache.dependencies import Needs, Places, Row, needs_of, numbers_in
from retainlint.cache.store import UNUSABLE, File, plain, small
from retainlint.text.files import stamp

_ENTRIES = 0
"""The number of the record that holds the entries; what was found in a file has one of its own."""


class Entry:
    """What is known of a file: its SHA-256; its stamp, "" if that proves nothing; what was looked up for its sake; and
    what was found, packed and made small, nothing if that is nothing."""

    __slots__ = ("digest", "found", "needs", "stamp")

    def __init__(self, stamp: str, digest: str, needs: Needs, found: bytes) -> None:
        self.stamp, self.digest, self.needs, self.found = stamp, digest, needs, found

    @property
    def text(self) -> str | None:
        """What was found; None if that isn't what we wrote."""
        try:
            return plain(self.found).decode() if self.found else ""
        except UNUSABLE:
            return None


class Pack:
    """The entries of all files checked with one choice of settings."""

    def __init__(self, file: File) -> None:
        """Take over the file, if there is one that we wrote, whole."""
        self._file = file
        self.entries: dict[str, Entry] = {}
        self.places = Places()
        self.changed = False
        self._read_at = stamp(file.path) if file.path else None
        records = file.read() if self._read_at else {}
        try:
            rows, entries = json.loads(plain(records[_ENTRIES]))
            places = Places.loaded(rows)
            found = {
                str(name): Entry(stamp, digest, needs, records[number] if number else b"")
                for name, (stamp, digest, needs, number) in entries.items()
            }
            numbers = set[object]().union(*(entry.needs for entry in found.values()))
            if all(isinstance(number, int) and 0 <= number <= len(places) for number in numbers):
                self.places, self.entries = places, found
        except UNUSABLE:
            return

    def put(self, name: str, stamp: str, digest: str, needs: Iterable[Row], text: str) -> None:
        """Enter a file; `needs` is what was looked up for its sake."""
        self._put(name, stamp, digest, needs, small(text.encode()) if text else b"")

    def _put(self, name: str, stamp: str, digest: str, needs: Iterable[Row], found: bytes) -> None:
        self.entries[name] = Entry(stamp, digest, needs_of(self.places.add(*need) for need in needs), found)
        self.changed = True

    def save(self) -> None:
        """Write what there is, with what another run has written since this one read the file, and without files that are
        gone and places that nobody needs."""
        if not self._file.path:
            return
        if stamp(self._file.path) != self._read_at:
            other = Pack(self._file)
            for name, entry in other.entries.items():
                if name not in self.entries:
                    needs = [other.places[number] for number in numbers_in(entry.needs)]
                    self._put(name, entry.stamp, entry.digest, needs, entry.found)
        left = [(name, entry) for name, entry in self.entries.items() if os.path.exists(name)]
        places, needed = self.places.packed([entry.needs for _, entry in left])
        rows, records = {}, dict[int, bytes]()
        for (name, entry), numbers in zip(left, needed, strict=True):
            rows[name] = (entry.stamp, entry.digest, numbers, len(records) + 1 if entry.found else 0)
            if entry.found:
                records[len(records) + 1] = entry.found
        self._file.write({_ENTRIES: small(json.dumps([places, rows], separators=(",", ":")).encode()), **records})
        self.changed = False
