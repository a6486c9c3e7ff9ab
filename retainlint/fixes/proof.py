"""Whether a fix is one: the finding gone, nothing new found, nothing lost of what the program walked and trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from retainlint.diagnostic import Applicability, Diagnostic, Edit, Fix
from retainlint.fixes.edits import moved
from retainlint.text.source import Source, Span


@dataclass(frozen=True)
class Seen:
    """What the linter sees in one text: the findings, and how the program behaves when it is run.

    `backward_passes`, `leaves`, `trained` and `missing_reads` are a run's conduct; `gaps` are what couldn't be followed, `steps` what it took.
    """

    source: Source
    diagnostics: tuple[Diagnostic, ...]
    backward_passes: frozenset[Span] = frozenset()
    leaves: frozenset[Span] = frozenset()
    trained: frozenset[tuple[Span, Span]] = frozenset()
    missing_reads: frozenset[Span] = frozenset()
    gaps: tuple[Span, ...] = ()
    steps: int = 0


Look: TypeAlias = Callable[[Source], "Seen | None"]
"""The linter, handed in: what it sees in a text; None for one that it can't check."""


def cures(fix: Fix, diagnostic: Diagnostic, before: Seen, after: Seen) -> bool:
    """Whether `after`, what is seen once `fix` was applied, proves that it cures the finding and harms nothing."""
    lost = len(before.backward_passes) - len(after.backward_passes)
    if lost > fix.merges or (lost > 0 and fix.applicability is Applicability.SAFE):
        return False
    if _texts(after.gaps) - _texts(before.gaps) or _texts(after.missing_reads) - _texts(before.missing_reads):
        return False
    if _untrained(before, after):
        return False
    if fix.applicability is Applicability.SAFE and _texts(after.leaves) != _texts(before.leaves):
        return False
    if not before.trained and _texts(before.leaves) - _texts(after.leaves):
        return False  # nobody knows which of them are to be trained
    others = [each for each in before.diagnostics if each is not diagnostic]
    return not _is_there(fix, diagnostic, after) and not _new(fix.edits, others, before, after)


def _untrained(before: Seen, after: Seen) -> bool:
    """Whether a leaf isn't trained any more, or not by a backward pass that is still there."""
    if _texts(leaf for leaf, _ in before.trained) - _texts(leaf for leaf, _ in after.trained):
        return True
    kept = _texts(after.backward_passes)
    pairs = {(_text(leaf), _text(place)) for leaf, place in after.trained}
    lost = {(_text(leaf), _text(place)) for leaf, place in before.trained} - pairs
    return any(kept[place] >= _texts(before.backward_passes)[place] for _, place in lost)


NEEDLESS = "RTL201"


def _new(edits: tuple[Edit, ...], others: Iterable[Diagnostic], before: Seen, after: Seen) -> bool:
    """Whether something is found besides the others that were there.

    A finding is known again by its code and place, or by its code and text. A walk that had kept its graph against the failure may now keep it for nothing: that is no new harm.
    """
    places = {(each.code, moved(edits, each.primary.span.start)) for each in others}
    texts = Counter((each.code, each.primary.span.text) for each in others)
    backward_passes = _texts(before.backward_passes)
    for each in after.diagnostics:
        if each.code == NEEDLESS and backward_passes[" ".join(each.primary.span.text.split())]:
            continue
        if (each.code, each.primary.span.start) not in places and texts[each.code, each.primary.span.text] <= 0:
            return True
        texts[each.code, each.primary.span.text] -= 1
    return False


def _is_there(fix: Fix, diagnostic: Diagnostic, after: Seen) -> bool:
    """Whether the finding is still there, at its place or where as many of its text are found as before."""
    code, span = diagnostic.code, diagnostic.primary.span
    place = moved(fix.edits, span.start)
    return any(each.code == code and each.primary.span.start == place for each in after.diagnostics)


def _texts(spans: Iterable[Span]) -> Counter[str]:
    return Counter(map(_text, set(spans)))


def _text(span: Span) -> str:
    return " ".join(span.text.split())
