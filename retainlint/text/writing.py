"""Replaces a file's bytes so that a reader, or a crash, finds the old ones or the new ones whole."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
import time

_SCRAP = re.compile(r"\..{0,40}\.\w{8}\.retainlint")
"""The names of files that are to become others; what is left of them was left by a run that was killed."""

ABANDONED = 3_600
"""Seconds after which no run is still writing one."""


def rewrite(path: str, before: bytes, after: bytes) -> None:
    """Write `after` in place of a text that was `before` when it was read.

    Raises ValueError, with words for people, if it is another now, or if the path is a link out of the working directory:
    a checked tree may hold one to any file of whoever checks it. And OSError as `replace`.
    """
    here = os.path.normcase(os.path.join(os.path.realpath(os.getcwd()), ""))
    if os.path.islink(path) and not os.path.normcase(os.path.realpath(path)).startswith(here):
        raise ValueError("it is a link to a file elsewhere, which is written only by its own name")
    replace(path, after, before)


def replace(path: str, data: bytes, before: bytes | None = None) -> None:
    """Write `data` in place of what is at `path`, or where a link there leads. Its mode stays, its attributes, and its
    owner if we may.

    A pipe or a device (/dev/stdout, /dev/null) is written to, never replaced.

    Raises OSError, and then all is as it was: if the file or its directory may not be written, or the disk is full. And
    ValueError if what is there isn't what it was `before`.
    """
    there: os.stat_result | None = None
    with contextlib.suppress(FileNotFoundError):
        there = os.stat(path)
    if there is not None and not (stat.S_ISREG(there.st_mode) or stat.S_ISDIR(there.st_mode)):
        with open(path, "wb") as stream:
            stream.write(data)
        return
    place = os.path.realpath(path)
    if there is not None:
        with open(place, "r+b"):  # a file that is read-only is meant to be, though its directory would let us
            pass
    directory, name = os.path.split(place)
    _clear(directory)
    handle, beside = tempfile.mkstemp(".retainlint", f".{name[:40]}.", directory)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if there is not None:
            _own(beside, there.st_uid, there.st_gid)
            _copy_attributes(place, beside)
        os.chmod(beside, _default_mode() if there is None else stat.S_IMODE(there.st_mode))
        if before is not None and _read(place) != before:  # as late as can be
            raise ValueError("it was changed meanwhile")
        os.replace(beside, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _clear(directory: str) -> None:
    """Remove what killed runs left in a directory."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if _SCRAP.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):  # another run may have been faster
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > ABANDONED:
                        os.unlink(entry.path)


def _own(path: str, user: int, group: int) -> None:
    """Give a file to whom it belonged, as far as we may; group first, since a given file can't be changed."""
    for uid, gid in ((-1, group), (user, -1)):
        with contextlib.suppress(OSError, AttributeError):  # not every system has owners
            os.chown(path, uid, gid)


def _copy_attributes(path: str, beside: str) -> None:
    """Give a file the extended attributes of another, as far as we may: labels, and who else may read it."""
    with contextlib.suppress(OSError, AttributeError):  # not every system has any
        for name in os.listxattr(path):
            with contextlib.suppress(OSError):
                os.setxattr(beside, name, os.getxattr(path, name))


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _default_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
