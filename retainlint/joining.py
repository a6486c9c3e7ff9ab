"""The findings of a run's files as one list: those to which one file leads in another are told there, each once."""

from __future__ import annotations

import os
from collections.abc import Mapping

from retainlint import suppressions
from retainlint.catalogue import UNUSED
from retainlint.config import Settings
from retainlint.diagnostic import Diagnostic
from retainlint.source import Source


def joined(own: list[Diagnostic], beyond: list[Diagnostic], settings: Mapping[str, Settings]) -> list[Diagnostic]:
    """The findings of the files that were asked for, in order, with those that their importers led to: the simplest
    story of each place and code."""
    names = {os.path.abspath(name): name for name in settings} if beyond else {}
    once = {each.place: each for each in own}
    used: set[tuple[str, int]] = set()
    for diagnostic in sorted(beyond, key=_simplicity):
        source, span = _source(diagnostic), diagnostic.primary.span
        name = names.get(os.path.abspath(source.name))
        if name is None:
            continue
        (covered,), places = suppressions.read(source).split([(diagnostic.code, diagnostic.name, span)])
        if covered and settings[name].suppressions:
            used.update((name, place.start) for place in places)
        elif settings[name].wants(diagnostic.code):
            once.setdefault((name, *diagnostic.place[1:]), diagnostic)
    told = (d for d in once.values() if d.code != UNUSED or (_source(d).name, d.primary.span.start) not in used)
    return sorted(told, key=lambda each: each.place)


def _simplicity(diagnostic: Diagnostic) -> tuple[bool, int, int, list[tuple[str, int, int]]]:
    """Sorts stories: errors first, then those that assume least and lead through the fewest files."""
    places = [(label.span.source.name, label.span.start, label.span.end) for label in diagnostic.labels]
    choices = len(diagnostic.witness.choices) if diagnostic.witness is not None else 0
    warning = diagnostic.severity.value == "warning"
    return warning, choices + len(diagnostic.notes), len({place[0] for place in places}), places


def _source(diagnostic: Diagnostic) -> Source:
    return diagnostic.primary.span.source
