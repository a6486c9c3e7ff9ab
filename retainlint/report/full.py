"""The format for people: each finding with the rows it speaks of, its story at the marks, and what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from retainlint.report.drawing import Drawing
from retainlint.report.places import pointed, sheet
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe, safe_start

if TYPE_CHECKING:
    from retainlint.diagnostic import Diagnostic, Label


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    """One finding after the other, a blank line behind each."""
    for diagnostic in diagnostics:
        notes = [*diagnostic.notes, *_helps(diagnostic)]
        drawn = body(diagnostic.labels, notes, style, diagnostic.severity.value)
        yield "\n".join([header(diagnostic, style), *drawn]) + "\n\n"


def header(diagnostic: Diagnostic, style: Style) -> str:
    """`path:row:column: severity[CODE] name: message`."""
    place = style.paint(f"{pointed(diagnostic.primary.span)}:", "strong")
    severity = diagnostic.severity.value
    return f"{place} {style.paint(f'{severity}[{diagnostic.code}]', severity)} {style.paint(diagnostic.name, 'strong')}: {safe(diagnostic.message)}"


def body(labels: Iterable[Label], notes: Iterable[str], style: Style, severity: str) -> Iterator[str]:
    """The drawing of each file or cell, that of the primary label first, and the notes."""
    labels, notes = tuple(labels), tuple(notes)
    shown = [label for label in labels if label.span.source.text]
    gutter = max((len(str(label.span.place.end_row)) for label in shown), default=1)
    bar = style.paint(f"{'':{gutter}} |", "gutter")
    home = sheet(next(label for label in labels if label.primary))
    sheets: dict[tuple[str, int | None], list[Label]] = {home: []} if shown else {}
    for label in shown:
        sheets.setdefault(sheet(label), []).append(label)
    for place, marked in sheets.items():
        if len(sheets) > 1:
            if place != home:
                yield bar
            first = min(marked, key=lambda label: (not label.primary, label.span.start)).span
            arrow = style.paint(f"{'':{gutter}}{'-->' if place == home else ':::'}", "gutter")
            yield f"{arrow} {pointed(first)}"
        yield bar
        yield from Drawing(marked[0].span.source, marked, gutter, style, severity).lines()
    if shown and notes:
        yield bar
    for note in notes:
        yield from _note(note, gutter, style)


def _helps(diagnostic: Diagnostic) -> Iterator[str]:
    """The first is the help, each other one a line of its own."""
    for number, each in enumerate(diagnostic.helps):
        yield f"{'or' if number else 'help'}: {each.words}"


def _note(note: str, gutter: int, style: Style) -> Iterator[str]:
    """`= word: text`, what doesn't fit the width continued below the text."""
    word, colon, text = safe(note).partition(": ")
    if not colon or not word.isalpha():
        word, text = "note", safe(note)
    word = f"{word:>4}" if word == "or" else word  # below the end of "help"
    head = f"{'':{gutter}} = {word}: "
    room = max(style.width - len(head), 24)
    rows = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    sign = style.paint("=", "gutter")
    yield f"{'':{gutter}} {sign} {style.paint(word, 'strong')}: {rows[0]}"
    for row in rows[1:]:
        yield " " * len(head) + safe_start(row)
