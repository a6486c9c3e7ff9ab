"""The format of reviewdog: its DiagnosticResult as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retainlint.diagnostic import Diagnostic, Json
from retainlint.report.json import dumped, well_formed
from retainlint.report.places import columns_in, in_cell, relative
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe
from retainlint.text.source import Source, Span


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    """Columns are counted in bytes of UTF-8, as reviewdog wants them."""
    found: list[Json] = [_diagnostic(diagnostic, run) for diagnostic in diagnostics]
    yield dumped(well_formed({"source": {"name": "retainlint"}, "diagnostics": found}), indent=2) + "\n"


def _diagnostic(diagnostic: Diagnostic, run: Run) -> Json:
    span = diagnostic.primary.span
    code: dict[str, Json] = {"value": diagnostic.code}
    if url := run.url(diagnostic.code):
        code["url"] = url
    help = f"\n{safe(diagnostic.help)}" if diagnostic.help else ""
    fields: dict[str, Json] = {
        "message": f"{in_cell(span)}{safe(diagnostic.message)}{help}",
        "location": _location(span, run),
        "severity": diagnostic.severity.name,
        "code": code,
    }
    related: list[Json] = [
        {"message": safe(label.text), "location": _location(label.span, run)}
        for label in diagnostic.labels
        if label.text and not label.primary
    ]
    if related:
        fields["relatedLocations"] = related
    return _with_suggestion(fields, diagnostic, run)


def _with_suggestion(fields: dict[str, Json], diagnostic: Diagnostic, run: Run) -> Json:
    """A suggestion is a single edit for reviewdog; of a fix with several none is told, as half a fix is none."""
    fix, source = diagnostic.fix, diagnostic.primary.span.source
    if fix is not None and len(fix.edits) == 1 and not fix.elsewhere and not source.cells:
        edit = fix.edits[0]
        fields["suggestions"] = [{"range": _range(source, edit.start, edit.end), "text": edit.text}]
    return fields


def _location(span: Span, run: Run) -> Json:
    path: dict[str, Json] = {"path": relative(span.source.name, run.root)}
    if span.place.cell is None:
        path["range"] = _range(span.source, span.start, span.end)
    return path


def _range(source: Source, start: int, end: int) -> Json:
    return {"start": _position(source, start), "end": _position(source, end)}


def _position(source: Source, offset: int) -> Json:
    return {"line": source.place(offset)[0], "column": columns_in(source, offset, "utf-8", 1)}
