"""The format of Azure Pipelines' logging commands: each finding becomes an issue of the run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from retainlint.diagnostic import Diagnostic
from retainlint.report.places import in_cell
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe

_ESCAPES = {"%": "%AZP25", "\r": "%0D", "\n": "%0A", ";": "%3B", "]": "%5D"}


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    """Only the message: an issue is one line."""
    for diagnostic in diagnostics:
        span = diagnostic.primary.span
        at = span.place
        fields = {"type": diagnostic.severity.value, "sourcepath": os.path.abspath(span.source.name)}
        if at.cell is None:
            fields |= {"linenumber": str(at.row), "columnnumber": str(at.column)}
        fields["code"] = diagnostic.code
        given = "".join(f"{key}={_escaped(safe(value))};" for key, value in fields.items())
        message = safe(in_cell(span) + diagnostic.message)
        yield f"##vso[task.logissue {given}]{message.replace('%', _ESCAPES['%'])}\n"


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
