"""The format of one line a finding: `path:row:column: CODE message`, as editors and scripts read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retainlint.diagnostic import Diagnostic
from retainlint.report.terminal import Style, safe


def render(diagnostics: Iterable[Diagnostic], style: Style) -> Iterator[str]:
    for diagnostic in diagnostics:
        span = diagnostic.primary.span
        place = style.paint(f"{safe(span.source.name)}:{span.row}:{span.column}:", "strong")
        yield f"{place} {style.paint(diagnostic.code, diagnostic.severity.value)} {safe(diagnostic.message)}\n"
