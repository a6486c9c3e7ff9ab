"""The format of one line a finding: `path:row:column: CODE message`, as editors and scripts read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retainlint.diagnostic import Diagnostic
from retainlint.report.places import pointed
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    for diagnostic in diagnostics:
        place = style.paint(f"{pointed(diagnostic.primary.span)}:", "strong")
        yield f"{place} {style.paint(diagnostic.code, diagnostic.severity.value)} {safe(diagnostic.message)}\n"
