"""The format of one line a finding below its file's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from retainlint.diagnostic import Diagnostic
from retainlint.report.concise import coded
from retainlint.report.places import in_file
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe, safe_start


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    """A blank line behind each file; findings must come in order of their files."""
    for name, group in groupby(diagnostics, key=lambda diagnostic: diagnostic.primary.span.source.name):
        found = [(in_file(diagnostic.primary.span), diagnostic) for diagnostic in group]
        wide = max(len(at) for at, _ in found)
        lines = [f"{style.paint(safe_start(name), 'strong')}:"]
        for at, diagnostic in found:
            lines.append(f"  {at:<{wide}}  {coded(diagnostic, style)} {safe(diagnostic.message)}")
        yield "\n".join(lines) + "\n\n"
