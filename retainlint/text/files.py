"""How files are looked at by their absolute paths: on the disk, or held in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from typing import Any, Protocol

    from retainlint.text.source import Source

    class ModuleStore(Protocol):
        """Where lowered modules are kept, by their source and its digest."""

        def find(self, source: Source, digest: str) -> Any: ...
        def find_partly(self, source: Source, digest: str) -> Any: ...
        def keep(self, found: Any, digest: str) -> None: ...

    class Files(Protocol):
        """A way to look at files by their absolute paths; picklable, if checks are to go to other processes.

        Names that aren't absolute count from the directory `here`, "" for the working directory.
        """

        here: str

        @property
        def ir_store(self) -> ModuleStore | None:
            """Where lowered modules are kept."""
            ...

        def exists(self, place: str) -> bool:
            """Whether there is such a file or directory."""
            ...

        def read(self, place: str) -> bytes | None:
            """The bytes of a regular file, None if there is none that can be read."""
            ...

        def real(self, place: str) -> str:
            """Where a path leads once links are followed."""
            ...


Listings: TypeAlias = "Mapping[str, Collection[str]]"
"""Absolute paths of directories, with the names of all that lies in them."""

NO_LISTINGS: Listings = {}

EXACT = sys.platform == "linux"
"""Whether a name leads to a file only if it is spelt like the file's."""

KEPT = 8_000_000
"""So many bytes of what was read are kept: many files import the same modules. It decides nothing but the time it takes."""

LARGEST = 50_000_000
"""Bytes of a file that is read: the text of none that people write has as many."""

THERE = "there"
"""What a lookup found that asked only whether there is such a file or directory."""


class Disk:
    """Files as they lie on the disk. What exists, and where links lead, is asked once and remembered: make a new one for
    each run."""

    here = ""

    def __init__(self, ir_store: ModuleStore | None = None, listings: Listings = NO_LISTINGS) -> None:
        """`listings` are directories of which it is known what is in them."""
        self.ir_store = ir_store
        self._listings = listings
        self._exists: dict[str, bool] = {}
        self._real: dict[str, str] = {}
        self._read: dict[str, bytes] = {}
        self._bytes = 0

    def exists(self, place: str) -> bool:
        if place not in self._exists:
            self._exists[place] = not is_absent(place, self._listings) and os.path.exists(place)
        return self._exists[place]

    def read(self, place: str) -> bytes | None:
        data = self._read.pop(place, None)
        if data is None:
            data = read(place)
            if data is None or len(data) > KEPT:
                return data
            self._bytes += len(data)
            while self._bytes > KEPT:
                self._bytes -= len(self._read.pop(next(iter(self._read))))
        self._read[place] = data  # the one used last is the last to go
        return data

    def real(self, place: str) -> str:
        if place not in self._real:
            self._real[place] = os.path.realpath(place)
        return self._real[place]


class Edited(Disk):
    """The disk, with other texts in some files: those that an editor holds and hasn't written yet."""

    def __init__(self, texts: Mapping[str, bytes], ir_store: ModuleStore | None = None) -> None:
        """`texts` by absolute path."""
        super().__init__(ir_store)
        self._texts = texts
        self._above = {above for place in texts for above in ancestors(place)}

    def exists(self, place: str) -> bool:
        return place in self._texts or place in self._above or super().exists(place)

    def read(self, place: str) -> bytes | None:
        return self._texts[place] if place in self._texts else super().read(place)


class Held:
    """Files held in memory, by name; names that aren't absolute count from the directory `here`."""

    ir_store = None  # what nobody has on a disk is read but once

    def __init__(self, contents: Mapping[str, bytes], here: str = "") -> None:
        self.here = here
        self._by_place = {os.path.abspath(os.path.join(here, name)): data for name, data in contents.items()}
        self._directories = {above for place in self._by_place for above in ancestors(place)}

    def exists(self, place: str) -> bool:
        return place in self._by_place or place in self._directories

    def read(self, place: str) -> bytes | None:
        return self._by_place.get(place)

    def real(self, place: str) -> str:
        return place


class Changed:
    """Files of which some are other texts by now, none of them written."""

    def __init__(self, files: Files, changed: Iterable[Source]) -> None:
        self.here, self.ir_store = files.here, files.ir_store
        self.exists, self.real, self._files = files.exists, files.real, files
        self._changed = {os.path.abspath(os.path.join(files.here, each.name)): each for each in changed}

    def read(self, place: str) -> bytes | None:
        data, source = self._files.read(place), self._changed.get(place)
        return data if data is None or source is None else source.encoded(data)


def read(place: str) -> bytes | None:
    """The bytes of a regular file, None if there is none that can be read."""
    try:
        if not os.path.isfile(place):  # a pipe would never end
            return None
        with open(place, "rb", buffering=0) as file:
            return file.read() if os.fstat(file.fileno()).st_size <= LARGEST else None
    except (OSError, ValueError):
        return None


def is_absent(place: str, listings: Listings) -> bool:
    """Whether it is known from listings that nothing is at a path, which spares asking the system."""
    at = place.rfind(os.sep)
    names = listings.get(place[:at])
    return names is not None and place[at + 1 :] not in names and EXACT


def are_absent(directory: str, names: Iterable[str], listings: Listings) -> bool:
    """Whether it is known from listings that a directory has none of these names in it."""
    found = listings.get(directory)
    return (
        found is not None and EXACT and (found if isinstance(found, frozenset) else frozenset(found)).isdisjoint(names)
    )


def ancestors(place: str) -> Iterator[str]:
    """The directories above a path, nearest first."""
    while place != (place := os.path.dirname(place)):
        yield place


def stamp(place: str) -> str | None:
    """Size, times of change (of the content, of anything) and number of a regular file; "" of anything else that is
    there, None where nothing is."""
    try:
        found = os.stat(place)
    except (OSError, ValueError):
        return None
    if found.st_mode & 0o170000 != 0o100000:
        return ""
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"
