"""`retainlint check --add-noqa`: suppress each finding of today by a comment on its row."""

from __future__ import annotations

import os
from typing import TextIO

from retainlint.catalogue import NOT_CHECKED, UNUSED
from retainlint.checking import linter
from retainlint.commands import CommandError
from retainlint.commands.configuring import command_errors, configured
from retainlint.commands.known import plural
from retainlint.config import Requested
from retainlint.diagnostic import Diagnostic
from retainlint.suppressions.comments import with_noqa
from retainlint.text.source import Source
from retainlint.text.writing import rewrite

NEVER = frozenset({NOT_CHECKED, UNUSED})
"""What a comment can't help with: a file that isn't checked, a comment that is too much."""


def add_noqa(
    paths: tuple[str, ...],
    requested: Requested,
    reason: str,
    out: TextIO,
    progress: linter.Progress | None = None,
) -> int:
    """Write the comments, with the reason behind the codes. What can't be written is told, and 2; the other files are written still.

    Line ends, encoding and byte-order mark stay. Raises CommandError.
    """
    configs = configured(requested)
    reason = " ".join(reason.split())
    if not reason.isprintable():
        raise CommandError("the reason of --add-noqa isn't one line of text")
    with command_errors():
        result = linter.check(paths, configs, progress)
    by_file: dict[str, list[Diagnostic]] = {}
    for diagnostic in result.diagnostics:
        if diagnostic.code not in NEVER:
            by_file.setdefault(diagnostic.primary.span.source.name, []).append(diagnostic)
    total, wrong = 0, []
    for name, diagnostics in by_file.items():
        try:
            total += _rewrite(name, diagnostics, reason)
        except OSError as error:
            wrong.append(f"{name}: {error.strerror or error}")
        except ValueError as error:
            wrong.append(f"{name}: {error}")
    missed = sum(map(len, by_file.values())) - total
    out.write(f"Added {total} `# noqa` {plural('comment', total)}.\n")
    if wrong:
        raise CommandError("; ".join(wrong))
    if missed:
        raise CommandError(
            f"{missed} {plural('finding', missed)} left as {plural('is', missed)}: no comment can stand there"
        )
    return 0


def _rewrite(name: str, diagnostics: list[Diagnostic], reason: str) -> int:
    """How many findings are suppressed now. Raises OSError, and ValueError for a file that isn't what it was."""
    with open(name, "rb") as file:
        data = file.read()
    source = diagnostics[0].primary.span.source
    if source.cells or source.shown or source.encoded(data) != data:
        raise ValueError("this isn't a file that comments can be added to")
    text, added = with_noqa(source, [(d.code, d.primary.span) for d in diagnostics], reason)
    if text != source.text:
        rewrite(os.fspath(name), data, Source(name, text).encoded(data))
    return added
