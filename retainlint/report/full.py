"""The format for people: each finding with the rows it speaks of, its story at the marks, and what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from retainlint.diagnostic import Diagnostic, Label
from retainlint.report.drawing import Drawing
from retainlint.report.terminal import Style, safe


def render(diagnostics: Iterable[Diagnostic], style: Style) -> Iterator[str]:
    """One finding after the other, a blank line behind each."""
    for diagnostic in diagnostics:
        yield "\n".join([header(diagnostic, style), *_body(diagnostic, style)]) + "\n\n"


def header(diagnostic: Diagnostic, style: Style) -> str:
    """`path:row:column: CODE name: message`."""
    span = diagnostic.primary.span
    place = style.paint(f"{safe(span.source.name)}:{span.row}:{span.column}:", "strong")
    code = style.paint(diagnostic.code, diagnostic.severity.value)
    return f"{place} {code} {style.paint(diagnostic.name, 'strong')}: {safe(diagnostic.message)}"


def _body(diagnostic: Diagnostic, style: Style) -> Iterator[str]:
    """The drawing of each file, the finding's own first, and the notes."""
    shown = [label for label in diagnostic.labels if label.span.source.text]
    gutter = max((len(str(label.span.end_place[0])) for label in shown), default=1)
    bar = style.paint(f"{'':{gutter}} |", "gutter")
    home = diagnostic.primary.span.source.name
    by_name: dict[str, list[Label]] = {home: []} if shown else {}
    for label in shown:
        by_name.setdefault(label.span.source.name, []).append(label)
    for name, labels in by_name.items():
        if not labels:
            continue
        if name != home:
            first = min(labels, key=lambda label: label.span.start).span
            arrow = style.paint(f"{'':{gutter}} :::", "gutter")
            yield bar
            yield f"{arrow} {safe(name)}:{first.row}:{first.column}"
        yield bar
        yield from Drawing(labels[0].span.source, labels, gutter, style, diagnostic.severity.value).lines()
    notes = [*diagnostic.notes, *([f"help: {diagnostic.help}"] if diagnostic.help else [])]
    if shown and notes:
        yield bar
    for note in notes:
        yield from _note(note, gutter, style)


def _note(note: str, gutter: int, style: Style) -> Iterator[str]:
    """`= word: text`, what doesn't fit the width continued below the text."""
    word, colon, text = safe(note).partition(": ")
    if not colon or not word.isalpha():
        word, text = "note", safe(note)
    head = f"{'':{gutter}} = {word}: "
    room = max(style.width - len(head), 24)
    rows = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    sign = style.paint("=", "gutter")
    yield f"{'':{gutter}} {sign} {style.paint(word, 'strong')}: {rows[0]}"
    for row in rows[1:]:
        yield " " * len(head) + row
