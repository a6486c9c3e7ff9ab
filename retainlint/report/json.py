"""The format for programs: a JSON list with ruff's keys, and besides them the story's places and the witness."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from retainlint.diagnostic import Diagnostic, place_fields
from retainlint.report.run import Run
from retainlint.report.terminal import Style

if TYPE_CHECKING:
    from retainlint.diagnostic import Json
    from retainlint.incident import Gap


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
    return {**diagnostic.to_dict(), "url": run.url(diagnostic.code)}


def _unknown(gap: Gap) -> dict[str, Json]:
    """What couldn't be followed: no rule's finding, so without a code."""
    named: dict[str, Json] = {"code": None, "name": "not-followed", "severity": "note", "message": gap.reason}
    nothing: dict[str, Json] = {"fix": None, "noqa_row": None, "url": None, "label": "", "related": [], "notes": []}
    return {"cell": gap.span.place.cell, **named, **place_fields(gap.span), **nothing, "help": "", "witness": None}
