"""What was last found in a text, and from it, early, what is found in the text that an edit has made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retainlint.catalogue import NOT_CHECKED
from retainlint.checking import pipeline
from retainlint.config import Settings
from retainlint.diagnostic import Applicability, Diagnostic, Edit, Fix
from retainlint.fixes.code import EditableCode, Uneditable
from retainlint.fixes.edits import moved
from retainlint.fixes.scope import beyond_reach, outermost, unit_of
from retainlint.startup.records import replace
from retainlint.text import is_markdown, is_notebook
from retainlint.text.source import Source, Span, UnreadableSource

if TYPE_CHECKING:
    from retainlint.text.files import Files


MOST = 20
"""So many texts are remembered, those that were looked at last."""


class Recent:
    """The texts that somebody is editing."""

    def __init__(self) -> None:
        self._found: dict[str, pipeline.Found] = {}

    def keep(self, name: str, found: list[pipeline.Found]) -> None:
        """Remember what is found in all of a text."""
        if len(found) == 1 and not is_notebook(name) and not is_markdown(name):
            self._found.pop(name, None)
            self._found[name] = found[0]
            if len(self._found) > MOST:
                del self._found[next(iter(self._found))]

    def glimpse(self, name: str, data: bytes, settings: Settings, files: Files | None) -> list[Diagnostic] | None:
        """What is found in a text, where an edit within few functions has made it of one that is known: only these are run
        again, and what was found elsewhere is told once more. None where that can't be said, or isn't quicker."""
        before = self._found.get(name)
        if before is None:
            return None
        try:
            source = Source.decode(name, data)
            old = EditableCode(before.source)
        except (UnreadableSource, Uneditable):
            return None
        edit = _difference(before.source.text, source.text)
        seen = pipeline.seen(before, settings)
        if seen is None or before.source.text.count("\n") != source.text.count("\n"):
            return None  # what was told names rows
        left_out = beyond_reach(seen, Fix(Applicability.UNSAFE, "", (edit,)), before.source, lambda _: old)
        if not left_out:
            return None
        found = pipeline.examined(source, settings, files, left_out)
        if any(each.code == NOT_CHECKED for each in found):
            return None
        untouched = {outermost(each) for each in left_out}
        kept = (
            _carried(each, source, edit)
            for each in pipeline.told(before, settings)
            if unit_of(old, Edit(each.primary.span.start, each.primary.span.start, "")) in untouched
        )
        every = {each.place: each for each in (*kept, *found)}
        return [every[place] for place in sorted(every)]


def _difference(old: str, new: str) -> Edit:
    """What has to be put in place of what, from the first row that differs to the last, to make one text of another."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    start = _alike(before, after)
    end = min(_alike(before[::-1], after[::-1]), len(before) - start, len(after) - start)
    upto = len("".join(before[: len(before) - end]))
    return Edit(len("".join(before[:start])), upto, "".join(after[start : len(after) - end]))


def _alike(one: list[str], other: list[str]) -> int:
    """How many rows are the same from the first on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (old, new) in pairs if old != new), min(len(one), len(other)))


def _carried(diagnostic: Diagnostic, source: Source, edit: Edit) -> Diagnostic:
    """A finding of the text before the edit where it stands behind it, without what was to be done about it."""
    labels = tuple(
        replace(label, span=Span(source, moved((edit,), label.span.start), moved((edit,), label.span.end)))
        if label.span.source.name == source.name
        else label
        for label in diagnostic.labels
    )
    return replace(diagnostic, labels=labels, helps=(), fix=None)
