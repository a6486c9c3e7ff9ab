"""`retainlint check`: lint files and trees, report, and say by the exit code what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TextIO

from retainlint import linter
from retainlint.commands import CommandError
from retainlint.config import ConfigError, Settings, chosen_codes


@dataclass(frozen=True)
class Options:
    """What was asked for; `format` is one of the report's, `width` in columns."""

    paths: tuple[str, ...]
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    format: str = "full"
    exit_zero: bool = False
    quiet: bool = False
    colour: bool = False
    width: int = 140


def check(options: Options, out: TextIO, progress: Callable[[int, int], None] | None = None) -> int:
    """0 without findings, 1 with some, 2 if a bug of ours kept a file from being checked.

    Raises CommandError for a missing path and an unknown rule.
    """
    from retainlint.report import Style, render

    style = Style(options.colour, options.width)
    try:
        result = linter.check(options.paths, _settings(options.select, options.ignore), progress)
    except (ConfigError, linter.MissingPath) as error:
        raise CommandError(str(error)) from error
    if not result.files:
        print("warning: no Python files found under the given paths", file=sys.stderr)
    for piece in render(options.format, result.diagnostics, style):
        out.write(piece)
    if not options.quiet and options.format != "json":
        out.write(_summary(result, style.paint) + "\n")
    for crashed in result.crashes[:1]:
        print(f"\nThe first internal error, in {crashed.name}:\n\n{crashed.crash}", file=sys.stderr)
    if result.crashes:
        return 2
    return 1 if result.diagnostics and not options.exit_zero else 0


def _settings(select: Iterable[str], ignore: Iterable[str]) -> Settings:
    if not select and not ignore:
        return Settings()
    from retainlint.rules import RULES

    return Settings(chosen_codes(select, ignore, {rule.code: rule.name for rule in RULES}))


def _summary(result: linter.Result, paint: Callable[[str, str], str]) -> str:
    checked = f"{_counted(result.files, 'file')} checked."
    if not result.diagnostics:
        return f"{paint('All checks passed!', 'good')} {checked}"
    severities = [diagnostic.severity.value for diagnostic in result.diagnostics]
    parts = [_counted(severities.count(word), word) for word in ("error", "warning") if word in severities]
    found = f"Found {' and '.join(parts)}."
    return f"{paint(found, 'strong')} {checked}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
