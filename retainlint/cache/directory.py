"""The directory of the cache: made and marked, files put into their places whole, and removed once nobody uses them."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time

TAG = "CACHEDIR.TAG"
_MARKS = {
    TAG: b"Signature: 8a477f597d28d172789f06886806bc55\n# What retainlint found in earlier runs; it may be removed.\n",
    ".gitignore": b"*\n",
}
_PACK = re.compile(r"[0-9a-f]{8}\.(pack(\.json)?|ignored)(\.[0-9]+\.new)?$")
"""The names of packs and of answers about what is ignored, also as older versions called them, and of what a run left that was killed."""

_MARK = re.compile(r"(CACHEDIR\.TAG|\.gitignore)\.[0-9]+\.new$")
_IR_STORE = re.compile(r"[0-9a-f]{8}\.lowered$")
_SHELVED = re.compile(r"[0-9a-f]{64}\.(ir|parts)(\.[0-9]+\.new)?$|used$")
_USED = "used"
"""The file of a shelf whose time tells on which day the shelf was used last, and cleared of what wasn't."""

ITSELF = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Opens no link, and waits for nobody at a pipe."""

DAY = 86_400
UNUSED = 30 * DAY
"""Seconds after which a file is removed that no run has used."""

MOST = 12
"""So many packs are kept that weren't used today: of versions and settings that one may come back to."""

MOST_SHELVES = 3
"""So many shelves of other versions are kept: they are some times as large as the texts on them."""


LARGEST = 500_000_000
"""Bytes of a file that is read; a larger one isn't ours."""


def prepared(directory: str) -> bool:
    """Make the directory, marked so that neither git nor a backup takes it; False if that can't be done, or if there is
    one that isn't ours: a checked repository may name any directory for its cache, or lay a link there."""
    try:
        if os.path.isdir(directory):
            return _is_ours(directory)
        os.makedirs(directory)
        for name, text in _MARKS.items():
            replace(os.path.join(directory, name), text)
    except OSError:
        return os.path.isdir(directory)  # another run may have been faster
    return True


def _is_ours(directory: str) -> bool:
    """Whether a directory bears our mark, or holds nothing that we wouldn't write. Raises OSError if that can't be told."""
    if read(os.path.join(directory, TAG)) == _MARKS[TAG]:
        return True
    with os.scandir(directory) as listing:
        return all(
            entry.name in _MARKS or _PACK.match(entry.name) or _IR_STORE.match(entry.name) or _MARK.match(entry.name)
            for entry in listing
        )


def prepared_ir_store(directory: str, name: str) -> bool:
    """Make a shelf in the directory; False if that can't be done. Once a day this looks for what wasn't used for long."""
    place = os.path.join(directory, name)
    used = os.path.join(place, _USED)
    try:
        if _age(used) < DAY:
            return True
        if not prepared(directory):
            return False
        os.makedirs(place, exist_ok=True)
        if os.path.islink(place):
            return False
        replace(used, b"")
        _clear(directory, place)
    except OSError:
        return False
    return True


def _clear(directory: str, mine: str) -> None:
    """Remove the files of a shelf that nobody used for long, and all but a few shelves of other versions."""
    for file in _entries(mine, _SHELVED):
        if file.name != _USED and _age(file.path) > (DAY if file.name.endswith(".new") else UNUSED):
            _unlink(file.path)
    others = [each.path for each in _stores(directory) if each.path != mine]
    others.sort(key=lambda other: _age(os.path.join(other, _USED)))
    for number, other in enumerate(others):
        if number >= MOST_SHELVES or _age(os.path.join(other, _USED)) > UNUSED:
            with contextlib.suppress(OSError):  # another run may have been faster
                _empty(other)


def _empty(ir_store: str) -> int:
    """Remove a shelf: the number of files that were on it. Raises OSError."""
    files = [file.path for file in _entries(ir_store, _SHELVED)]
    for file in files:
        os.unlink(file)
    if not os.listdir(ir_store):
        os.rmdir(ir_store)
    return len(files)


def tidy(directory: str) -> None:
    """Remove all but the packs that were used last, and what a run left that was killed. A run that has read one of
    them, or is about to write it, isn't disturbed: it has what it read, and puts all of that into its place."""
    with contextlib.suppress(OSError):
        ages = sorted((_age(entry.path), entry.path) for entry in _entries(directory, _PACK))
        for number, (age, path) in enumerate(ages):
            if age > UNUSED or (age > DAY and (number >= MOST or path.endswith(".new"))):
                _unlink(path)
        for entry in _entries(directory, _MARK):
            if _age(entry.path) > DAY:
                _unlink(entry.path)


def clean(directory: str) -> int:
    """Remove what we wrote from a directory, and the directory if nothing else is in it: the number of files.

    Raises OSError for what may not be removed.
    """
    removed = sum(_empty(each.path) for each in _stores(directory))
    for entry in [*_entries(directory, _PACK), *_entries(directory, _MARK)]:
        os.unlink(entry.path)
        removed += 1
    left = {name: os.path.join(directory, name) for name in os.listdir(directory)} if os.path.isdir(directory) else {}
    if TAG in left and set(left) <= set(_MARKS) and all(read(left[name]) == _MARKS[name] for name in left):
        for place in left.values():
            os.unlink(place)
        os.rmdir(directory)
    return removed


def read(place: str) -> bytes | None:
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


def replace(path: str, data: bytes) -> None:
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


def _stores(directory: str) -> list[os.DirEntry[str]]:
    """The shelves in a directory, no links to some elsewhere. Raises OSError as `_entries`."""
    return [each for each in _entries(directory, _IR_STORE) if not each.is_symlink()]


def _entries(directory: str, names: re.Pattern[str]) -> list[os.DirEntry[str]]:
    """What is in a directory under such names. Raises OSError if it can't be listed, unless there is none."""
    try:
        with os.scandir(directory) as listing:
            return [entry for entry in listing if names.match(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
