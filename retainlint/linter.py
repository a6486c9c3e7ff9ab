"""The pipeline: bytes to diagnostics, file by file."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from retainlint import suppressions
from retainlint.config import Settings
from retainlint.diagnostic import Diagnostic, Label, Severity
from retainlint.discovery import MissingPath, discover
from retainlint.source import Source, Span, UnreadableSource

WALKS = (b"backward", b"autograd", b".grad(")
"""A file without any of these walks no graph."""

NOT_CHECKED = ("RTL900", "file-not-checked")
FRAMES = 6
"""How many of the innermost calls are kept of a crash: a recursion that ran away has a thousand."""


@dataclass(frozen=True)
class FileResult:
    """What one file's check gave. `crash` is the traceback of a bug of ours."""

    name: str
    diagnostics: tuple[Diagnostic, ...] = ()
    crash: str = ""


@dataclass
class Result:
    """What a run gave: the findings in order of file, row, column and code."""

    files: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)
    crashes: list[FileResult] = field(default_factory=list)


def check(paths: Iterable[str], settings: Settings, progress: Callable[[int, int], None] | None = None) -> Result:
    """Check files and trees. `progress` is told after each file how many are done, of how many.

    Raises MissingPath, before anything is checked.
    """
    found = discover(paths)
    result = Result(files=len(found.files))
    for name, reason in found.unlisted:
        result.diagnostics += _kept([_not_checked(Source(name, ""), reason)], settings)
    for done, name in enumerate(found.files, 1):
        one = check_file(name, settings)
        result.diagnostics += one.diagnostics
        if one.crash:
            result.crashes.append(one)
        if progress is not None:
            progress(done, len(found.files))
    result.diagnostics.sort(key=_order)
    return result


def check_file(name: str, settings: Settings) -> FileResult:
    """Read and check one file."""
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        return FileResult(name, _kept([_not_checked(Source(name, ""), error.strerror or str(error))], settings))
    return check_source(name, data, settings)


def check_source(name: str, data: bytes, settings: Settings) -> FileResult:
    """Check one file's bytes. It reads nothing else, raises nothing, and what it takes and gives can be pickled."""
    if not any(word in data for word in WALKS) and b"\0" not in data:
        return FileResult(name)
    try:
        wanted = _kept(_diagnose(name, data), settings)
        return FileResult(name, _unsuppressed(wanted) if settings.suppressions else wanted)
    except Exception as error:  # noqa: BLE001 -- a bug of ours in one file must not hide the other files' findings
        return FileResult(name, (_bug(name, error),), "".join(traceback.format_exception(error, limit=-FRAMES)))


def _diagnose(name: str, data: bytes) -> list[Diagnostic]:
    """All findings of a file, each place and code once, in order."""
    try:
        source = Source.decode(name, data)
    except UnreadableSource as error:
        return [_not_checked(Source(name, ""), error.reason)]
    from retainlint.lowering import LoweringError, lower

    try:
        program = lower(source)
    except LoweringError as error:
        return [_not_checked(source, error.reason, error.row, error.column)]
    from retainlint.symbolic import explore

    incidents = explore(program).incidents
    if not incidents:
        return []
    from retainlint.rules import diagnose

    once: dict[tuple[str, int, int, str], Diagnostic] = {}
    for incident in incidents:
        diagnostic = diagnose(incident)
        once.setdefault(_order(diagnostic), diagnostic)
    return sorted(once.values(), key=_order)


def _order(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    span = diagnostic.primary.span
    return span.source.name, span.row, span.column, diagnostic.code


def _kept(diagnostics: Iterable[Diagnostic], settings: Settings) -> tuple[Diagnostic, ...]:
    return tuple(diagnostic for diagnostic in diagnostics if settings.wants(diagnostic.code))


def _unsuppressed(diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Those whose primary mark has no comment beside it that covers them."""
    comments = {source: suppressions.read(source) for source in {d.primary.span.source for d in diagnostics}}
    return tuple(
        d for d in diagnostics if comments[d.primary.span.source].covering(d.code, d.name, d.primary.span) is None
    )


def _not_checked(source: Source, reason: str, row: int | None = None, column: int | None = None) -> Diagnostic:
    """RTL900: a file, or its place that stops us."""
    at = 0
    if source.text and row is not None:
        row = min(max(row, 1), len(source.row_starts))
        at = source.offset(row, min(max(column or 1, 1), len(source.row_text(row)) + 1))
    label = Label(Span(source, at, at), "here" if source.text else "", primary=True)
    return Diagnostic(*NOT_CHECKED, Severity.ERROR, f"not checked: {reason}", (label,))


def _bug(name: str, error: Exception) -> Diagnostic:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename.rpartition('retainlint/')[2]}:{frames[-1].lineno}" if frames else ""
    what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return Diagnostic(
        *NOT_CHECKED,
        Severity.ERROR,
        f"not checked: internal error{where}: {what}",
        (Label(Span(Source(name, ""), 0, 0), "", primary=True),),
        help="this is a bug in retainlint, not in your code: please report it, with the file if you can",
    )


__all__ = ["FileResult", "MissingPath", "Result", "check", "check_file", "check_source"]
