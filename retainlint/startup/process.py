"""What this process may do: in one of our own, what others might use too may be changed for speed's sake."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator

ours = False
"""Set by the command line, and in the processes that it starts."""


FILE_MEMORY = 2 * 2**30
"""Bytes that a process may take beyond what it began with; what needs more fails in the file that it is at."""


WORN = 250 * 2**20
"""Bytes that a process may hold between two files: of what thousands of files left, much is free and in pieces too small to be
given back. One that holds more is replaced by a new one, so that each file finds the room that it has alone."""

NEW = 130 * 2**20
"""So many a new one holds at most."""

ROOM = 480 * 2**20
"""So many it may hold with what the next file may need: a byte of a dense text takes two thousand while it is parsed."""

PARSED = 2_000
"""Bytes for a byte."""


@contextlib.contextmanager
def room_to_recurse(frames: int) -> Iterator[None]:
    """Lift the recursion limit for a while, so that what is checked doesn't depend on who asks."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, frames))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def forks() -> bool:
    """Whether a process can be split in two, which costs next to nothing and takes along what is imported.

    Not where the system's libraries don't bear it, and not with threads running, whose locks would stay shut for ever.
    """
    import threading

    return sys.platform.startswith("linux") and threading.active_count() == 1


def bound_memory() -> None:
    """An allocation that would take the machine's memory raises MemoryError in the file that asks for it."""
    with contextlib.suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = _pages("self", 0) + FILE_MEMORY
        if soft == resource.RLIM_INFINITY or soft > wanted:
            resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def resident(pid: int | None) -> int:
    """Bytes of memory that a process has now; 0 where that isn't told, or there is none."""
    with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
        return _pages(str(pid), 1)
    return 0


def is_worn(pid: int | None, size: int) -> bool:
    """Whether a process had better be replaced by a new one before it checks a text of so many bytes."""
    held = resident(pid)
    return held > WORN or (held > NEW and held + PARSED * size > ROOM)


def _pages(pid: str, which: int) -> int:
    """Bytes: all that were asked for (0), or that are there (1)."""
    with open(f"/proc/{pid}/statm", "rb") as file:
        return int(file.read().split()[which]) * os.sysconf("SC_PAGE_SIZE")


def tidy() -> None:
    """Between two files: where circles of the last may have outlived a look of the collector's, who won't look at them again
    for minutes, they go, and what is free goes back to the system. Else each file adds the worst that it needed."""
    if ours and any(gc.get_count()[1:]):
        gc.collect()
        with contextlib.suppress(ImportError, OSError, AttributeError, TypeError):  # glibc alone has this
            import ctypes

            ctypes.CDLL(None).malloc_trim(0)
