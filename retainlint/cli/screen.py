"""The terminal: colours, width, the progress bar, and an output that nobody reads any more."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import click

from retainlint.text.quoting import harmless


class Progress:
    """A line on standard error, which appears if a run takes more than a second: how much is done of all, what was found so
    far, about how long the rest will take, and the file in work if that takes long. Nothing of it stays on the screen."""

    APPEARS, BEAT, LONG, WIDE = 1.0, 0.25, 2.0, 24
    """Seconds until it appears, between two drawings, and until a file is named; how many columns the bar takes."""

    def __init__(self) -> None:
        self._begun = self._drawn = time.monotonic()
        self._done = self._total = self._found = 0
        self._file, self._since = "", self._begun
        self._left, self._counted = 1.0, self._begun
        self._is_shown = False
        self._before: Any = None
        import threading  # a run without a bar needs none

        if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGALRM, lambda *_: self._draw())  # while one file is in work, too
            signal.setitimer(signal.ITIMER_REAL, self.APPEARS, self.BEAT)

    def __call__(self, done: int, total: int, found: int) -> None:
        self._done, self._total, self._found = done, total, found
        self._draw()

    def left(self, share: float) -> None:
        """Of the work that is left."""
        if share >= 1:
            self._counted = time.monotonic()
        self._left = share

    def at(self, names: Sequence[str]) -> None:
        """The file that is in work longest."""
        first = names[0] if names else ""
        if first != self._file:
            self._file, self._since = first, time.monotonic()
        self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._begun >= self.APPEARS and now - self._drawn >= self.BEAT:
            self._drawn, self._is_shown = now, True
            _tell_terminal(f"\r{self.line(now, width(80) - 1)}{_CLEAR}")

    def line(self, now: float, room: int) -> str:
        """What it says at a time, in so many columns."""
        share = self._done / self._total if self._total else 0.0
        bar = f"[{'#' * round(share * self.WIDE):-<{self.WIDE}}]"
        parts = [f"Checking {bar} {self._done:,} of {self._total:,} files" if self._total else "Checking"]
        if self._found:
            parts.append(f"{self._found:,} finding{'' if self._found == 1 else 's'}")
        spent, at_work = now - self._counted, now - self._since if self._file else 0.0
        if self._left < 0.9 and spent > 2 * self.APPEARS:  # before that nobody can know
            rest = spent * self._left / (1 - self._left)
            parts += [_roughly(rest)] if at_work <= max(rest, self.LONG) else []  # nor what one file takes
        if at_work > self.LONG:
            parts.append(f"{harmless(self._file)} for {at_work:.0f} s")
        text = ", ".join(parts)
        return text if len(text) <= room else text[: max(room - 3, 0)] + "..."

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
            self._before = None
        if self._is_shown:
            self._is_shown = False
            _tell_terminal(f"\r{_CLEAR}")


_CLEAR = "\x1b[K"
"""Empties the row from the cursor on."""


def _roughly(seconds: float) -> str:
    if seconds < 1.5:
        return "almost done"
    if seconds < 90:
        return f"about {seconds:.0f} s left" if seconds < 10 else f"about {round(seconds, -1):.0f} s left"
    return f"about {seconds / 60:.0f} min left"


def _tell_terminal(text: str) -> None:
    """A drawing that interrupts another, which Python forbids, is left out."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        sys.stderr.write(text)
        sys.stderr.flush()


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Progress | None]:
    """A bar for a run that a person watches, else None."""
    bar = Progress() if sys.stderr.isatty() and not quiet and os.environ.get("TERM") != "dumb" else None
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
