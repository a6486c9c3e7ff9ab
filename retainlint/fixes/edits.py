"""A text after edits of it, and where a character of it is then."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate

from retainlint.diagnostic import Applicability, Diagnostic, Edit, Fix, Help, Replacement
from retainlint.startup.records import replace
from retainlint.text.source import Source, Span


def safe(message: str, *edits: Edit) -> Fix:
    return Fix(Applicability.SAFE, message, edits)


def unsafe(
    message: str, *edits: Edit, merges: int = 0, cuts: bool = False, parts: bool = False, tells: bool = False
) -> Fix:
    return Fix(Applicability.UNSAFE, message, edits, merges, cuts, parts, tells=tells)


telling = partial(unsafe, tells=True)
"""A fix that is something else than its help says, and is told in its own words."""


def rewritten(text: str, begin: int, edits: Sequence[Edit]) -> str:
    """A part of a text, which begins at a place there, after edits of it; they are in order."""
    for edit in reversed(edits):
        text = text[: edit.start - begin] + edit.text + text[edit.end - begin :]
    return text


def told_from(fix: Fix, made: Source, home: Source) -> Fix:
    """A fix whose edits are of the text `made`, as one of a finding in `home`."""
    if made is home:
        return fix
    away = tuple(Replacement(Span(made, edit.start, edit.end), edit.text) for edit in fix.edits)
    return replace(fix, edits=(), elsewhere=away)


def told_before(found: Diagnostic, by: Fix, first: Diagnostic) -> Diagnostic:
    """What is found behind a fix, in the text as it is before it: behind the `first` finding there, and with a fix that does
    both."""
    edits = by.by_source(first.primary.span.source)
    before = {source.name: (source, made) for source, made in edits.items()}
    before.update(
        {each.span.source.name: (each.span.source, ()) for each in first.labels if each.span.source not in edits}
    )
    rows: dict[str, str] = {}

    def there(span: Span) -> Span:
        source, made = before.get(span.source.name, (span.source, ()))
        if span == found.primary.span and is_written(made, span.start):  # a backward pass in place of others
            return first.primary.span
        return Span(source, origin(made, span.start), origin(made, span.end))

    def words(text: str) -> str:
        return re.sub(r"(cell \d+, )?\bline \d+", lambda match: rows.get(match[0], match[0]), text)

    home = found.primary.span.source
    for start in home.row_starts:
        row = Span(home, start, start)
        rows[row.line] = there(row).line
    return replace(
        found,
        message=words(found.message) if found.behind else f"behind the first: {words(found.message)}",
        labels=tuple(replace(each, span=there(each.span), text=words(each.text)) for each in found.labels),
        notes=tuple(map(words, found.notes)),
        helps=tuple(Help(words(each.words)) for each in found.helps),
        fix=None if found.fix is None else _both(by, found.fix, edits, home, before),
        behind=found.behind + 1,
    )


def _both(
    first: Fix,
    second: Fix,
    edits: Mapping[Source, Sequence[Edit]],
    home: Source,
    before: Mapping[str, tuple[Source, Sequence[Edit]]],
) -> Fix | None:
    """Two fixes as one of the text before them, of which the second is one of the text that the first has made."""
    made = {source: tuple(own) for source, own in edits.items()}
    try:
        for source, own in second.by_source(home).items():
            was = before[source.name][0] if source.name in before else source
            made[was] = tuple(_by_rows(was.text, edited(source, own).text))
            edited(was, made[was])
    except ValueError:  # it would reach over the end of a cell
        return None
    primary = before[home.name][0] if home.name in before else home
    return replace(
        second,
        applicability=second.applicability if first.applicability is Applicability.SAFE else first.applicability,
        message=f"{first.message}; then: {second.message}",
        edits=made.pop(primary, ()),
        elsewhere=tuple(
            Replacement(Span(source, each.start, each.end), each.text) for source, own in made.items() for each in own
        ),
    )


def _by_rows(one: str, other: str) -> Iterator[Edit]:
    """The rows in which two texts differ, as edits of the one."""
    from difflib import SequenceMatcher

    before, after = one.splitlines(keepends=True), other.splitlines(keepends=True)
    start = next((n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
    starts = list(accumulate(map(len, before), initial=0))
    for tag, low, high, left, right in SequenceMatcher(None, before[start:], after[start:], False).get_opcodes():
        if tag != "equal":
            rows = "".join(after[start + left : start + right])
            yield Edit(starts[start + low], starts[start + high], rows)


def edited(source: Source, edits: Sequence[Edit]) -> Source:
    """The source after the edits, with its cells where they are then.

    Raises ValueError if two of them overlap, or one takes away where a cell starts.
    """
    ordered = _ordered(edits)
    pieces, shown, at = [], [], 0
    shifts: list[tuple[int, int]] = []
    for edit in ordered:
        if not at <= edit.start <= edit.end <= len(source.text):
            raise ValueError("edits overlap")
        if any(edit.start < cell < edit.end or edit.start < cell == edit.end for cell in source.cells):
            raise ValueError("an edit reaches over the end of a cell")
        pieces += [source.text[at : edit.start], edit.text]
        shown += [source.shown[at : edit.start], edit.text]
        at = edit.end
        shifts.append((edit.start, len(edit.text) - (edit.end - edit.start)))
    pieces.append(source.text[at:])
    cells = tuple(cell + sum(by for start, by in shifts if start < cell) for cell in source.cells)
    shown.append(source.shown[at:])
    return Source(source.name, "".join(pieces), cells, "".join(shown) if source.shown else "")


def moved(edits: Sequence[Edit], offset: int) -> int:
    """Where a character is after the edits; one that is replaced goes to the end of what replaces it."""
    ordered = _ordered(edits)
    upto = bisect_right([edit.start for edit in ordered], offset)
    shift = 0
    for edit in ordered[:upto]:
        if offset < edit.end:
            return edit.start + shift + len(edit.text)
        shift += len(edit.text) - (edit.end - edit.start)
    return offset + shift


def origin(edits: Sequence[Edit], offset: int) -> int:
    """Where a character of the text behind the edits was; one that was written by an edit is where that stands."""
    shift = 0
    for edit in _ordered(edits):
        if offset < edit.start + shift:
            break
        if offset < edit.start + shift + len(edit.text):
            return edit.start
        shift += len(edit.text) - (edit.end - edit.start)
    return offset - shift


def is_written(edits: Sequence[Edit], offset: int) -> bool:
    """Whether a character of the text behind the edits is in what one of them has written."""
    return moved(edits, origin(edits, offset)) != offset


def apart(edits: Sequence[Edit]) -> bool:
    """Whether no two edits touch the same characters, nor insert at the same place."""
    ordered = _ordered(edits)
    pairs = zip(ordered, ordered[1:], strict=False)
    return all(one.end <= two.start and (one.start, one.end) != (two.start, two.end) for one, two in pairs)


def _ordered(edits: Sequence[Edit]) -> list[Edit]:
    return sorted(edits, key=lambda edit: (edit.start, edit.end, edit.text))
