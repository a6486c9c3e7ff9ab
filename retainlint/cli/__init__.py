"""The command line: words, options, colours, the progress bar and exit codes; the only room that knows click."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from retainlint.cli.screen import open_closed_streams, silence_output
from retainlint.cli.words import cli
from retainlint.startup import process
from retainlint.text.quoting import harmless

INTERRUPTED, FAILED = 130, 2

MANY = 500_000
"""So many objects are made before the collector looks for circles among them, not 700: most of what a run makes it
needs to its end, and to look through that time and again takes a tenth of a small file's time."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0, 1 with findings, 2 on an error, 130 when interrupted, 143 when asked to end."""
    process.ours = True
    gc.set_threshold(MANY)
    gc.freeze()  # what was imported stays, and is no reason to look for circles behind the first file
    open_closed_streams()
    _heed_signals()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that can't show a character gets its number
    code = _outcome(args)
    gc.freeze()  # or Python looks through all that there is for circles once more, to end: a tenth of a warm run
    sys.exit(code)


def _heed_signals() -> None:
    """End like an interrupt where we are asked to, taking along the processes that we started and what is half written."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not every system has both
        with contextlib.suppress(ValueError):  # not the main thread
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _leave)


def _leave(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)  # so that a second one ends us at once
    sys.exit(128 + number)


def _outcome(args: Sequence[str] | None) -> int:
    try:
        return int(cli.main(args, prog_name="retainlint", standalone_mode=False) or 0)
    except click.UsageError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except OSError as error:
        silence_output()
        where = f"{harmless(os.fspath(error.filename))}: " if isinstance(error.filename, str) else ""
        click.echo(f"error: {where}{error.strerror or error}", err=True)
        return FAILED


__all__ = ["cli", "main"]
