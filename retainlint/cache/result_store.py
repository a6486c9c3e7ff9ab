"""What runs found, in a file for each version of this program and choice of settings, which is replaced whole."""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypeAlias

from retainlint.cache.dependencies import Needs, Places, Row, needs_of, numbers_in
from retainlint.cache.directory import prepared, read, replace, tidy
from retainlint.text.files import stamp

_QUICK = 1
"""How hard zlib tries: a tenth of the size for less time than writing JSON takes."""

Texts: TypeAlias = "tuple[str, str, str, str]"
"""What one file's check gave, packed: its findings, those beyond it, what couldn't be followed, and what of others was."""


class Entry:
    """What is known of a file: its SHA-256; its stamp, "" if that proves nothing; what was looked up for its sake; and
    what was found: its texts, or by number where a pack that was read has them, None for nothing."""

    __slots__ = ("digest", "gaps", "needs", "stamp", "texts", "told")

    def __init__(
        self,
        stamp: str,
        digest: str,
        needs: Needs,
        told: int | None = None,
        gaps: int | None = None,
        texts: Texts | None = None,
    ) -> None:
        self.stamp, self.digest, self.needs = stamp, digest, needs
        self.told, self.gaps, self.texts = told, gaps, texts


class Pack:
    """The entries of all files checked with one choice of settings, which the `header` tells from others."""

    def __init__(self, header: str, path: str = "") -> None:
        self.header, self.path = header, path
        self.entries: dict[str, Entry] = {}
        self.places = Places()
        self.read_at: str | None = None
        self.changed = False
        self._told = _Lines(b"[]")
        self._gaps = _Lines(b"[]")

    def put(self, name: str, stamp: str, digest: str, needs: Iterable[Row], texts: Texts) -> None:
        """Enter a file; `needs` is what was looked up for its sake."""
        numbers = needs_of(self.places.add(*need) for need in needs)
        self.entries[name] = Entry(stamp, digest, numbers, texts=texts)
        self.changed = True

    def texts_of(self, entry: Entry) -> Texts | None:
        """What was found in a file; None if the pack doesn't hold what we wrote."""
        if entry.texts is not None:
            return entry.texts
        try:
            own, beyond, followed = ("", "", "") if entry.told is None else self._told[entry.told]
            unseen = "" if entry.gaps is None else self._gaps[entry.gaps]
            return str(own), str(beyond), str(unseen), str(followed)
        except (ValueError, TypeError, LookupError, RecursionError, zlib.error):
            return None

    def load(self) -> None:
        """Take over the file, if there is one that we wrote, whole, for the same header."""
        self.read_at = stamp(self.path)
        checksum, _, body = (read(self.path) or b"" if self.read_at else b"").partition(b"\n")
        try:
            if checksum != b"%08x" % zlib.crc32(body):
                return
            header, rows, entries, told, gaps = body.split(b"\n", 4)
            if json.loads(header) != self.header:
                return
            places = Places.loaded(json.loads(rows))
            found = {str(name): Entry(*row) for name, row in json.loads(entries).items()}
            numbers = set[object]().union(*(entry.needs for entry in found.values()))
            if not all(isinstance(number, int) and 0 <= number <= len(places) for number in numbers):
                return
        except (ValueError, TypeError, AttributeError, RecursionError):
            return
        self.places, self.entries, self._told, self._gaps = places, found, _Lines(told), _Lines(gaps, is_small=True)

    def merge(self) -> None:
        """Take over what another run has written since this one read the file."""
        if stamp(self.path) == self.read_at:
            return
        other = Pack(self.header, self.path)
        other.load()
        for name, entry in other.entries.items():
            texts = other.texts_of(entry)
            if name not in self.entries and texts is not None:
                needs = [other.places[number] for number in numbers_in(entry.needs)]
                self.put(name, entry.stamp, entry.digest, needs, texts)

    def dumped(self) -> bytes:
        """The pack as bytes, without files that are gone and places that nobody needs: a line of JSON each for the
        header, the places, the entries, what was found, and what couldn't be followed, which few runs need: made small.
        """
        found = [
            (name, entry, texts)
            for name, entry in self.entries.items()
            if (texts := self.texts_of(entry)) is not None and os.path.exists(name)
        ]
        places, needed = self.places.packed([entry.needs for _, entry, _ in found])
        rows: dict[str, tuple[str, str, Needs, int | None, int | None]] = {}
        told: list[tuple[str, str, str]] = []
        unseen: list[str] = []
        for (name, entry, (own, beyond, gaps, followed)), needs in zip(found, needed, strict=True):
            numbers = len(told) if own or beyond or followed else None, len(unseen) if gaps else None
            rows[name] = (entry.stamp, entry.digest, needs, *numbers)
            told += [(own, beyond, followed)] if own or beyond or followed else []
            unseen += [gaps] if gaps else []
        parts = (self.header, places, rows, told, unseen)
        *lines, last = (json.dumps(part, separators=(",", ":")).encode() for part in parts)
        body = b"\n".join([*lines, zlib.compress(last, _QUICK)])
        return b"%08x\n%s" % (zlib.crc32(body), body)


class _Lines:
    """The elements of a list written as JSON, which is read when one is asked for."""

    def __init__(self, text: bytes, *, is_small: bool = False) -> None:
        self._text, self._is_small = text, is_small

    @cached_property
    def _elements(self) -> list[Any]:
        elements = json.loads(zlib.decompress(self._text) if self._is_small else self._text)
        if not isinstance(elements, list):
            raise TypeError("no list")
        return elements

    def __getitem__(self, number: int) -> Any:
        return self._elements[number]


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
