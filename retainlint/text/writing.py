"""Replaces a file's bytes so that a reader, or a crash, finds the old ones or the new ones whole."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile


def replace(path: str, data: bytes) -> None:
    """Write `data` in place of what is at `path`, or where a link there leads. Its mode stays, and its owner if we may.

    A pipe or a device (/dev/stdout, /dev/null) is written to, never replaced.

    Raises OSError, and then all is as it was: if the file or its directory may not be written, or the disk is full.
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
    handle, beside = tempfile.mkstemp(prefix=f".{os.path.basename(place)[:40]}.", dir=os.path.dirname(place))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if there is not None:
            _own(beside, there.st_uid, there.st_gid)
        os.chmod(beside, _default_mode() if there is None else stat.S_IMODE(there.st_mode))
        os.replace(beside, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _own(path: str, user: int, group: int) -> None:
    """Give a file to whom it belonged, as far as we may; group first, since a given file can't be changed."""
    for uid, gid in ((-1, group), (user, -1)):
        with contextlib.suppress(OSError, AttributeError):  # not every system has owners
            os.chown(path, uid, gid)


def _default_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
