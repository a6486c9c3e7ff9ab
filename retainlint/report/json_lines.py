"""The format for programs that read a stream: the entries of `json`, a line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retainlint.diagnostic import Diagnostic
from retainlint.report.json import dumped, entries
from retainlint.report.run import Run
from retainlint.report.terminal import Style


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    for entry in entries(diagnostics, run):
        yield dumped(entry) + "\n"
