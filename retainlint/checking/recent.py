"""What was last found in a text, and from it, early, what is found in the text that an edit has made of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from retainlint.catalogue import NOT_CHECKED
from retainlint.checking import pipeline
from retainlint.config import Settings
from retainlint.diagnostic import Diagnostic, Edit, Label
from retainlint.fixes.code import EditableCode, Uneditable
from retainlint.fixes.difference import Difference
from retainlint.fixes.scope import outermost, reaching, unit_of
from retainlint.incident import Definition, Entry
from retainlint.startup.records import replace
from retainlint.text import is_markdown, is_notebook
from retainlint.text.source import Source, UnreadableSource

if TYPE_CHECKING:
    from retainlint.text.files import Files


ENOUGH = 0.04
"""Seconds after which no further function is run for the first answer."""

MOST = 20
"""So many texts are remembered, those that were looked at last."""


class Recent:
    """The texts that somebody is editing."""

    def __init__(self) -> None:
        self._found: dict[str, pipeline.Found] = {}

    def keep(self, name: str, found: list[pipeline.Found]) -> None:
        """Remember what is found in all of a text; one that can't be read, as while it is written, says nothing of the next."""
        read = len(found) == 1 and not any(each.code == NOT_CHECKED for each in found[0].diagnostics)
        if read and not is_notebook(name) and not is_markdown(name):
            self._found.pop(name, None)
            self._found[name] = found[0]
            if len(self._found) > MOST:
                del self._found[next(iter(self._found))]

    def glimpse(self, name: str, data: bytes, settings: Settings, files: Files | None) -> list[Diagnostic] | None:
        """What is found in a text that an edit has made of one that is known: only what the edit reaches is run again, as far
        as that is quick, and what was found elsewhere is told once more. None where that can't be said."""
        before = self._found.get(name)
        if before is None:
            return None
        try:
            source = Source.decode(name, data)
            old, new = EditableCode(before.source), EditableCode(source)
        except (UnreadableSource, Uneditable):
            return None
        difference = Difference(old, new)
        told = [
            (each, _home(old, each), now)
            for each in pipeline.told(before, settings)
            if (now := _moved(each, difference)) is not None
        ]
        renumbered = {home for each, home, now in told if home and each.primary.span.row != now.primary.span.row}
        within, beyond = reaching(before.entries, difference.seeing | renumbered)  # what was told names rows
        left_out = _LeftOut(beyond, within, difference.edited)
        found = pipeline.examined(source, settings, files, left_out)
        if any(each.code == NOT_CHECKED for each in found):
            return None
        elsewhere = {outermost(each) for entry in left_out.entries for each in (entry.start, *entry.reached)}
        every = {each.place: each for each in (*(now for _, home, now in told if home in elsewhere), *found)}
        return [every[place] for place in sorted(every)]


class _LeftOut:
    """What isn't run for itself: entries that an edit doesn't reach, and, once that has taken long, all but the edited ones."""

    def __init__(self, beyond: Sequence[Entry], within: Sequence[Entry], edited: frozenset[Definition]) -> None:
        self.entries = [*beyond]
        self._within: dict[object, Entry] = {each.start: each for each in within}
        self._beyond = {each for entry in beyond for each in (entry.start, *entry.reached)} - self._within.keys()
        self._edited, self._end, self._has_begun = edited, time.perf_counter() + ENOUGH, False

    def __contains__(self, definition: object) -> bool:
        if definition in self._beyond:
            return True
        entry = self._within.get(definition)
        is_early = not self._has_begun or time.perf_counter() < self._end
        if entry is None or is_early or outermost(entry.start) in self._edited:
            self._has_begun = True
            return False
        self.entries.append(entry)
        return True


def _home(code: EditableCode, diagnostic: Diagnostic) -> Definition | None:
    """The function or class of the module in which something was found."""
    start = diagnostic.primary.span.start
    return unit_of(code, Edit(start, start, "")) if diagnostic.primary.span.source.name == code.source.name else None


def _moved(diagnostic: Diagnostic, difference: Difference) -> Diagnostic | None:
    """A finding of the text before where it stands now, without what was to be done about it."""
    labels = list[Label]()
    for label in diagnostic.labels:
        span = difference.moved(label.span)
        if span is None:
            return None
        labels.append(replace(label, span=span))
    return replace(diagnostic, labels=tuple(labels), helps=(), fix=None)
