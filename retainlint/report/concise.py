"""The format of one line a finding: `path:row:column: CODE severity: message`, as editors and scripts read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retainlint.diagnostic import Diagnostic
from retainlint.report.places import pointed
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    for diagnostic in diagnostics:
        place = style.paint(f"{pointed(diagnostic.primary.span)}:", "strong")
        yield f"{place} {coded(diagnostic, style)} {safe(diagnostic.message)}\n"


def coded(diagnostic: Diagnostic, style: Style) -> str:
    """`RTL101 error:`: the code first, as those who read flake8's lines expect."""
    severity = diagnostic.severity.value
    return f"{style.paint(diagnostic.code, severity)} {severity}:"
