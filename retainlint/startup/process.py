"""What this process may do: in one of our own, what others might use too may be changed for speed's sake."""

from __future__ import annotations

import os
import sys

ours = False
"""Set by the command line, and in the processes that it starts."""


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
