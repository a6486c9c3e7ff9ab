"""The linter's middle, without files and settings: what the tests of fixes hand in as their look at a text."""

from __future__ import annotations

from collections.abc import Container, Sequence

from retainlint.diagnostic import Diagnostic
from retainlint.fixes import Seen
from retainlint.incident import Definition
from retainlint.lowering import LoweringError, lower
from retainlint.rules import diagnose
from retainlint.symbolic import explore
from retainlint.text.source import Source


def look(source: Source, changed: Sequence[Source] = (), left_out: Container[Definition] = ()) -> Seen | None:
    """Every rule is on, and there are no other files."""
    try:
        explored = explore(lower(source), left_out=left_out)
    except LoweringError:
        return None
    once: dict[tuple[int, str], Diagnostic] = {}
    for incident in (*explored.incidents, *explored.waste):
        diagnostic = diagnose(incident)
        once.setdefault((diagnostic.primary.span.start, diagnostic.code), diagnostic)
    gaps = tuple(gap.span for gap in explored.gaps)
    return Seen(source, tuple(once.values()), explored.conduct, gaps, entries=explored.entries)
