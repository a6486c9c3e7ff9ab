"""The terminal: colours, width, the progress bar, and an output that nobody reads any more."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

import click


class Progress:
    """A bar on standard error, which appears if a run takes more than a second."""

    def __init__(self) -> None:
        self._appears = time.monotonic() + 1.0
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() < self._appears or done == total:
                return
            self._bar = click.progressbar(length=total, label="Checking", file=sys.stderr, show_pos=True)
            self._bar.__enter__()
        self._bar.update(done - self._bar.pos)
        if done == total:  # the findings are written next
            self.close()

    def close(self) -> None:
        """Give the terminal its cursor and a new line back."""
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Progress | None]:
    """A bar for a run that a person watches, else None."""
    bar = Progress() if sys.stderr.isatty() and not quiet else None
    try:
        yield bar
    finally:
        if bar is not None:
            bar.close()


def open_closed_streams() -> None:
    """Give standard output and error, where whoever started us closed them, somewhere to go."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def standard_input() -> BinaryIO:
    """Raises UsageError if whoever started us closed it: that there is no text isn't an empty one."""
    if sys.stdin is None:
        raise click.UsageError("Standard input is closed.")
    return sys.stdin.buffer


def is_piped(stream: BinaryIO) -> bool:
    """Whether a stream is another program's, which may still be running."""
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # no file
        return False


def wants_colour(choice: str) -> bool:
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width(otherwise: int = 140) -> int:
    """The terminal's columns, COLUMNS if that is set, or `otherwise` where there is no terminal."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated) > 0:
        return int(stated)
    if sys.__stdout__ is not None:
        with contextlib.suppress(OSError, ValueError):  # no terminal, or closed
            return os.get_terminal_size(sys.__stdout__.fileno()).columns or otherwise
    return otherwise


def silence_output() -> None:
    """What is still buffered goes nowhere, or Python would complain of it when it exits."""
    with contextlib.suppress(OSError, ValueError):  # when standard output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
