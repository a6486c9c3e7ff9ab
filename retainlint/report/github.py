"""The format of GitHub's workflow commands: each finding becomes an annotation in the pull request."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from retainlint.diagnostic import Diagnostic
from retainlint.report.places import in_cell
from retainlint.report.plain_text import as_text
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    """Files by absolute path: the runner finds them in its checkout from whatever directory we run in."""
    for diagnostic in diagnostics:
        span = diagnostic.primary.span
        at = span.place
        fields = {
            "title": f"retainlint {diagnostic.code} {diagnostic.name}",
            "file": os.path.abspath(span.source.name),
            "line": str(1 if at.cell else at.row),
            "endLine": str(1 if at.cell else at.end_row),
        }
        if at.row == at.end_row and not at.cell:  # the runner refuses columns over several rows
            fields |= {"col": str(at.column), "endColumn": str(at.end_column)}
        given = ",".join(f"{key}={_property(value)}" for key, value in fields.items())
        text = "\n".join(safe(line) for line in as_text(diagnostic).split("\n"))
        yield f"::{diagnostic.severity.value} {given}::{_data(in_cell(span) + text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(safe(text)).replace(":", "%3A").replace(",", "%2C")
