"""The format that reads like pylint's, `path:row: [CODE] message`, for the tools that know that one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retainlint.diagnostic import Diagnostic
from retainlint.report.places import in_cell, relative
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe, safe_start


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    for diagnostic in diagnostics:
        span = diagnostic.primary.span
        path, row = safe_start(relative(span.source.name, run.root)), span.place.row
        yield f"{path}:{row}: [{diagnostic.code}] {in_cell(span)}{safe(diagnostic.message)}\n"
