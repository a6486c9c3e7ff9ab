"""A finding as a few lines of plain text, for formats that show no source: the message, the story, the cures."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic
from retainlint.report.places import pointed

NOT_CHECKED = "RTL900"
"""Told of a file that wasn't checked: no finding in its code."""


def told(diagnostic: Diagnostic) -> str:
    """Not yet safe for any reader: source text stands in it as it is."""
    return "\n".join([diagnostic.message, *story(diagnostic), *diagnostic.notes, *helped(diagnostic)])


def story(diagnostic: Diagnostic) -> list[str]:
    """`path:row:column: text` for each mark that says something, in the order of what happens."""
    return [f"{pointed(label.span)}: {label.text}" for label in diagnostic.labels if label.text]


def helped(diagnostic: Diagnostic) -> list[str]:
    return [f"help: {diagnostic.help}"] if diagnostic.help else []
