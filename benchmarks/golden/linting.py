"""Asks the linter, and puts all that it says into plain data: no other module of this folder imports it."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import TypeAlias

from retainlint import Condition, Diagnostic, Label, Span, Witness
from retainlint.checking import linter
from retainlint.config import Configs, Settings

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"
Entry: TypeAlias = "dict[str, Json]"

EVERYTHING = Settings(suppressions=False, tried=False)
"""All rules, those that are off by default too, no comment obeyed; the helps as the rules give them."""


@dataclass(frozen=True)
class Reading:
    """What was said of `files` files."""

    files: int
    entries: tuple[Entry, ...]


def read_tree(folder: str) -> Reading:
    """Check a tree as a whole, in this process and without a cache, from within: no name tells where it lies."""
    here = os.getcwd()
    os.chdir(folder)
    try:
        found = linter.check(["."], Configs.alike(EVERYTHING))
        return Reading(found.files, _entries(found.diagnostics, ((gap.span, gap.reason) for gap in found.gaps)))
    finally:
        os.chdir(here)


def read_text(name: str, text: str) -> Reading:
    """Check a program that is in no file; its imports stay unknown."""
    found = linter.check_source(name, text.encode(), EVERYTHING)
    return Reading(1, _entries(found.diagnostics, ((gap.span, gap.reason) for gap in found.gaps)))


def _entries(diagnostics: Iterable[Diagnostic], gaps: Iterable[tuple[Span, str]]) -> tuple[Entry, ...]:
    once = dict.fromkeys(gaps)  # as they are shown to people
    return *map(_finding, diagnostics), *(_gap(span, reason) for span, reason in once)


def _finding(one: Diagnostic) -> Entry:
    return {
        "kind": "finding",
        **_place(one.primary.span),
        "code": one.code,
        "name": one.name,
        "severity": one.severity.value,
        "message": one.message,
        "labels": [_label(label) for label in one.labels],
        "notes": list(one.notes),
        "help": one.help,
        "cures": [_plain(cure) for cure in one.cures],
        "witness": None if one.witness is None else _witness(one.witness),
    }


def _gap(span: Span, reason: str) -> Entry:
    """What couldn't be followed."""
    return {"kind": "gap", **_place(span), "reason": reason}


def _place(span: Span) -> Entry:
    """Rows of a notebook are those of its cells in a row."""
    row, column = span.end_place
    name = os.path.relpath(span.source.name).replace(os.sep, "/")
    return {"file": name, "row": span.row, "column": span.column, "end_row": row, "end_column": column}


def _label(label: Label) -> Entry:
    return {**_place(label.span), "text": label.text, "primary": label.primary}


def _witness(witness: Witness) -> Entry:
    return {
        "error": witness.error,
        "node": witness.node,
        "script": witness.script,
        "choices": [_choice(choice) for choice in witness.choices],
    }


def _choice(choice: Condition) -> Entry:
    return {**_place(choice.span), "text": choice.span.text, "taken": choice.taken}


def _plain(value: object) -> Json:
    """A cure as data, whichever it is. Raises TypeError for what no record can hold."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Span):
        return _place(value)
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if is_dataclass(value):
        return {
            "kind": type(value).__name__,
            **{each.name: _plain(getattr(value, each.name)) for each in fields(value)},
        }
    raise TypeError(f"{type(value).__name__} can't be recorded")


def below(prefix: str, value: Json) -> Json:
    """The same data, with every file's name counted from the folder that `prefix` is relative to."""
    if isinstance(value, list):
        return [below(prefix, part) for part in value]
    if isinstance(value, dict):
        return {
            key: posixpath.normpath(posixpath.join(prefix, part))
            if key == "file" and isinstance(part, str)
            else below(prefix, part)
            for key, part in value.items()
        }
    return value
