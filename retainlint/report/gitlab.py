"""The format of GitLab's code quality report: a JSON list in the words of Code Climate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retainlint.diagnostic import Diagnostic, Json, Severity
from retainlint.report.json import dumped, well_formed
from retainlint.report.places import in_cell, relative
from retainlint.report.plain_text import Fingerprints
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe

_SEVERITY = {Severity.ERROR: "major", Severity.WARNING: "minor"}


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    """Paths are relative to the run's root; the fingerprints keep a finding the same one when code above it changes."""
    fingerprints = Fingerprints(run.root)
    yield dumped(well_formed([_issue(diagnostic, fingerprints, run) for diagnostic in diagnostics]), indent=2) + "\n"


def _issue(diagnostic: Diagnostic, fingerprints: Fingerprints, run: Run) -> Json:
    span = diagnostic.primary.span
    at = span.place
    begin, end = (1, 1) if at.cell else (at.row, at.end_row)
    return {
        "type": "issue",
        "check_name": f"{diagnostic.code} {diagnostic.name}",
        "description": safe(f"{diagnostic.code} {in_cell(span)}{diagnostic.message}"),
        "categories": ["Bug Risk"],
        "severity": _SEVERITY[diagnostic.severity],
        "fingerprint": fingerprints.of(diagnostic),
        "location": {"path": relative(span.source.name, run.root), "lines": {"begin": begin, "end": end}},
    }
