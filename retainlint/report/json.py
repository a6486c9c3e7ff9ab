"""The format for programs: a JSON list with ruff's keys, and besides them the story's places and the witness."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from retainlint.diagnostic import Diagnostic, Label
from retainlint.incident import Witness
from retainlint.report.terminal import Style
from retainlint.source import Span

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"


def render(diagnostics: Iterable[Diagnostic], style: Style) -> Iterator[str]:
    """One list. Only ASCII is written, so that no reader's encoding matters; colours and width don't either."""
    yield json.dumps([entry(diagnostic) for diagnostic in diagnostics], indent=2) + "\n"


def entry(diagnostic: Diagnostic) -> dict[str, Json]:
    """One finding. Rows and columns count from 1, columns in characters; an end is just behind its span."""
    primary = diagnostic.primary
    return {
        "cell": None,
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        **_place(primary.span),
        "fix": None,
        "noqa_row": primary.span.row,
        "url": None,
        "label": primary.text,
        "related": [_related(label) for label in diagnostic.labels if not label.primary],
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
        "witness": None if diagnostic.witness is None else _witness(diagnostic.witness),
    }


def _place(span: Span) -> dict[str, Json]:
    end_row, end_column = span.end_place
    return {
        "filename": os.path.abspath(span.source.name),
        "location": {"row": span.row, "column": span.column},
        "end_location": {"row": end_row, "column": end_column},
    }


def _related(label: Label) -> dict[str, Json]:
    return {**_place(label.span), "message": label.text}


def _witness(witness: Witness) -> dict[str, Json]:
    choices: list[Json] = [
        {**_place(choice.span), "condition": choice.span.text, "taken": choice.taken} for choice in witness.choices
    ]
    return {"choices": choices, "script": witness.script, "error": witness.error, "node": witness.node}
