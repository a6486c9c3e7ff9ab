"""The cache on the disk: files of checked records, put into their places whole and removed once nobody uses them.

They lie in a directory that is marked as ours, in one of its own for each version of this program.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

TAG = "CACHEDIR.TAG"
_MARKS = {
    TAG: b"Signature: 8a477f597d28d172789f06886806bc55\n# What retainlint found in earlier runs; it may be removed.\n",
    ".gitignore": b"*\n",
}
_MARK = re.compile(r"(CACHEDIR\.TAG|\.gitignore)(\.[0-9]+\.new)?$")
_VERSION = re.compile(r"[0-9a-f]{8}\.kept$")
_FILE = re.compile(r"([0-9a-f]{8,64}\.(found|ignored|ir|parts)|used)(\.[0-9]+\.new)?$")
_USED = "used"
"""The file of a version whose time tells on which day it was used last, and cleared of what wasn't."""

ITSELF = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Opens no link, and waits for nobody at a pipe."""

DAY = 86_400
UNUSED = 30 * DAY
"""Seconds after which a file is removed that no run has used."""

MOST_OTHERS = 3
"""So many other versions are kept: what is lowered is some times as large as its texts."""

LARGEST = 500_000_000
"""Bytes of a file that is read, and of what one of its records may hold; a larger one isn't ours."""

_QUICK = 1
"""How hard zlib tries: a third of the size for a tenth of the time that writing JSON takes."""

_HEAD = -1
"""The number of the record that says whose file it is."""

UNUSABLE = (zlib.error, ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What comes of reading what we didn't write."""


class Store(NamedTuple):
    """The files of one version of this program, which `version` names. What can't be read isn't known, what can't be written
    is lost, nothing is raised. Without a directory nothing is kept."""

    directory: str
    version: str

    @property
    def path(self) -> str:
        return os.path.join(self.directory, f"{zlib.crc32(_bytes(self.version)):08x}.kept") if self.directory else ""

    def file(self, kind: str, key: str, name: str = "") -> File:
        """The file for a key; its name is a checksum if none is given: what is in it decides."""
        name = name or f"{zlib.crc32(_bytes(key)):08x}"
        path = os.path.join(self.path, f"{name}.{kind}") if self.directory else ""
        return File(self, path, _bytes(f"{self.version}\n{kind}\n{key}"))

    def is_ready(self) -> bool:
        """Make the directory; False if that can't be done. Once a day this looks for what wasn't used for long."""
        used = os.path.join(self.path, _USED)
        try:
            if os.path.islink(self.path):
                return False
            if _age(used) >= DAY:
                if not prepared(self.directory):
                    return False
                os.makedirs(self.path, exist_ok=True)
                _replace(used, b"")
                self._clear()
        except OSError:
            return False
        return True

    def _clear(self) -> None:
        """Remove what nobody used for long, and all but a few other versions."""
        for scrap in _entries(self.directory, _MARK):
            if scrap.name not in _MARKS and _age(scrap.path) > DAY:
                _unlink(scrap.path)
        for file in _entries(self.path, _FILE):
            if file.name != _USED and _age(file.path) > (DAY if file.name.endswith(".new") else UNUSED):
                _unlink(file.path)
        others = [each.path for each in _versions(self.directory) if each.path != self.path]
        others.sort(key=lambda other: _age(os.path.join(other, _USED)))
        for number, other in enumerate(others):
            if number >= MOST_OTHERS or _age(os.path.join(other, _USED)) > UNUSED:
                with contextlib.suppress(OSError):  # another run may have been faster
                    _empty(other)


class File(NamedTuple):
    """Records by their numbers, each a row with checksum, number and length, and that many bytes."""

    store: Store
    path: str
    head: bytes

    def read(self) -> dict[int, bytes]:
        """The records, each to be read by `plain`; none if the file isn't there, isn't whole or isn't for this key."""
        data = _read(self.path) if self.path and not os.path.islink(self.store.path) else None
        with contextlib.suppress(*UNUSABLE):
            records = dict(_records(data or b""))
            if data and plain(records.pop(_HEAD)) == self.head:
                return records
        return {}

    def write(self, records: Mapping[int, bytes]) -> bool:
        """Put records, each made by `small`, in place of what there is; whether that could be done."""
        if not self.path or not self.store.is_ready():
            return False
        rows = (_record(number, data) for number, data in ({_HEAD: small(self.head)} | dict(records)).items())
        with contextlib.suppress(OSError):
            _replace(self.path, b"".join(rows))
            return True
        return False

    def append(self, number: int, data: bytes) -> bool:
        """The same of one more record. Another process's stands before it or behind, for it is written all at once."""
        with contextlib.suppress(OSError):
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | ITSELF)
            try:
                os.write(file, _record(number, data))
            finally:
                os.close(file)
            return True
        return False


def small(data: bytes) -> bytes:
    return zlib.compress(data, _QUICK)


def plain(data: bytes) -> bytes:
    """What `small` was given. Raises ValueError or zlib.error for anything else."""
    reader = zlib.decompressobj()
    found = reader.decompress(data, LARGEST)
    if not reader.eof:
        raise ValueError("not what was written")
    return found


def _record(number: int, data: bytes) -> bytes:
    return b"%08x %d %d\n%s" % (zlib.crc32(data), number, len(data), data)


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Raises ValueError where the file isn't whole."""
    at = 0
    while at < len(data):
        start = data.index(b"\n", at) + 1
        checksum, number, length = data[at:start].split()
        at = start + max(int(length), 0)
        if zlib.crc32(data[start:at]) != int(checksum, 16):
            raise ValueError("not what was written")
        yield int(number), data[start:at]


def prepared(directory: str) -> bool:
    """Make the directory, marked so that neither git nor a backup takes it; False if that can't be done, or if there is
    one that isn't ours: a checked repository may name any directory for its cache, or lay a link there."""
    try:
        if os.path.isdir(directory):
            return _is_ours(directory)
        os.makedirs(directory)
        for name, text in _MARKS.items():
            _replace(os.path.join(directory, name), text)
    except OSError:
        return os.path.isdir(directory)  # another run may have been faster
    return True


def _is_ours(directory: str) -> bool:
    """Whether a directory bears our mark, or holds nothing that we wouldn't write. Raises OSError if that can't be told."""
    if _read(os.path.join(directory, TAG)) == _MARKS[TAG]:
        return True
    with os.scandir(directory) as listing:
        return all(_MARK.match(entry.name) or _VERSION.match(entry.name) for entry in listing)


def clean(directory: str) -> int:
    """Remove what we wrote from a directory, and the directory if nothing else is in it: the number of files.

    Raises OSError for what may not be removed.
    """
    removed = sum(_empty(each.path) for each in _versions(directory))
    for scrap in _entries(directory, _MARK):
        if scrap.name not in _MARKS:
            os.unlink(scrap.path)
            removed += 1
    left = {name: os.path.join(directory, name) for name in os.listdir(directory)} if os.path.isdir(directory) else {}
    if TAG in left and set(left) <= set(_MARKS) and all(_read(left[name]) == _MARKS[name] for name in left):
        for place in left.values():
            os.unlink(place)
        os.rmdir(directory)
    return removed


def _empty(version: str) -> int:
    """Remove all files of a version: how many there were. Raises OSError."""
    files = [file.path for file in _entries(version, _FILE)]
    for file in files:
        os.unlink(file)
    if not os.listdir(version):
        os.rmdir(version)
    return len(files)


def _read(place: str) -> bytes | None:
    """The bytes of a file; None if there is none that can be read, or that is no file of ours: a link, a pipe, a device.
    That it was used is noted once a day."""
    try:
        with open(os.open(place, os.O_RDONLY | ITSELF), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
                return None
            if found.st_mtime < time.time() - DAY:
                with contextlib.suppress(OSError):
                    os.utime(place)
            return file.read()
    except (OSError, ValueError):
        return None


def _replace(path: str, data: bytes) -> None:
    """Unlike `writing.replace` it doesn't wait for the disk: what is lost is made again. Raises OSError."""
    scrap = f"{path}.{os.getpid()}{time.time_ns()}.new"  # one that was killed may have had the same number
    try:
        with open(scrap, "xb") as file:
            file.write(data)
        os.replace(scrap, path)
    except BaseException:
        _unlink(scrap)
        raise


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):  # another run may have been faster
        os.unlink(path)


def _age(path: str) -> float:
    """Seconds since a file was written or marked as used; endless if there is none."""
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return float("inf")


def _versions(directory: str) -> list[os.DirEntry[str]]:
    """The directories of versions, no links to some elsewhere. Raises OSError as `_entries`."""
    return [each for each in _entries(directory, _VERSION) if not each.is_symlink()]


def _entries(directory: str, names: re.Pattern[str]) -> list[os.DirEntry[str]]:
    """What is in a directory under such names. Raises OSError if it can't be listed, unless there is none."""
    try:
        with os.scandir(directory) as listing:
            return [entry for entry in listing if names.match(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
