"""The format for programs: a JSON list with ruff's keys, and besides them the story's places and the witness."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from retainlint.report.places import place
from retainlint.report.run import Run
from retainlint.report.terminal import Style
from retainlint.text.source import Source, Span

if TYPE_CHECKING:
    from retainlint.diagnostic import Diagnostic, Edit, Fix
    from retainlint.incident import Gap, Witness

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    """One list: the findings, then what couldn't be followed, if it was asked for."""
    yield dumped(list(entries(diagnostics, run)), indent=2) + "\n"


def dumped(value: Json, indent: int | None = None) -> str:
    """JSON in ASCII, so that no reader's encoding matters; in a build server's log it holds no command."""
    return json.dumps(value, indent=indent).replace("##", "#\\u0023")


def well_formed(value: Json) -> Json:
    """The value without lone surrogates, at which stricter readers than Python's stop."""
    if isinstance(value, str):
        return value if value.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, list):
        return [well_formed(part) for part in value]
    return {key: well_formed(part) for key, part in value.items()} if isinstance(value, dict) else value


def entries(diagnostics: Iterable[Diagnostic], run: Run) -> Iterator[dict[str, Json]]:
    for diagnostic in diagnostics:
        yield entry(diagnostic, run)
    for gap in run.gaps:
        yield _unknown(gap)


def entry(diagnostic: Diagnostic, run: Run) -> dict[str, Json]:
    """One finding. Rows and columns count from 1, columns in characters; an end is just behind its span."""
    primary = diagnostic.primary
    return {
        "cell": place(primary.span).cell,
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        **_place(primary.span),
        "fix": None if diagnostic.fix is None else _fix(diagnostic.fix, primary.span.source),
        "noqa_row": place(primary.span).row,
        "url": run.url(diagnostic.code),
        "label": primary.text,
        "related": [
            {"cell": place(label.span).cell, **_place(label.span), "message": label.text}
            for label in diagnostic.labels
            if not label.primary
        ],
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
        "witness": None if diagnostic.witness is None else _witness(diagnostic.witness),
    }


def _unknown(gap: Gap) -> dict[str, Json]:
    """What couldn't be followed: no rule's finding, so without a code."""
    named: dict[str, Json] = {"code": None, "name": "not-followed", "severity": "note", "message": gap.reason}
    nothing: dict[str, Json] = {"fix": None, "noqa_row": None, "url": None, "label": "", "related": [], "notes": []}
    return {"cell": place(gap.span).cell, **named, **_place(gap.span), **nothing, "help": "", "witness": None}


def _place(span: Span) -> dict[str, Json]:
    at = place(span)
    return {
        "filename": os.path.abspath(span.source.name),
        "location": {"row": at.row, "column": at.column},
        "end_location": {"row": at.end_row, "column": at.end_column},
    }


def _fix(fix: Fix, home: Source) -> dict[str, Json]:
    """`edits` are those of the finding's file. Of a fix that edits another one as well there are none, as half a fix is no
    fix; all of them stand in `files` then."""
    said: dict[str, Json] = {"applicability": fix.applicability.value, "message": fix.message}
    if not fix.elsewhere:
        return {**said, "edits": [_edit(edit, home) for edit in fix.edits]}
    files: list[Json] = [
        {"filename": os.path.abspath(source.name), "edits": [_edit(edit, source) for edit in edits]}
        for source, edits in fix.by_source(home).items()
    ]
    return {**said, "edits": [], "files": files}


def _edit(edit: Edit, source: Source) -> dict[str, Json]:
    """In a notebook, rows of the cell."""
    _, row, column = source.place_in_cell(edit.start)
    _, end_row, end_column = source.place_in_cell(edit.end)
    return {
        "content": edit.text,
        "location": {"row": row, "column": column},
        "end_location": {"row": end_row, "column": end_column},
    }


def _witness(witness: Witness) -> dict[str, Json]:
    choices: list[Json] = [
        {**_place(choice.span), "condition": choice.span.text, "taken": choice.taken} for choice in witness.choices
    ]
    return {"choices": choices, "script": witness.script, "error": witness.error, "node": witness.node}
