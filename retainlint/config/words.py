"""Words for people: the nearest right one, and values of others made safe to print."""

from __future__ import annotations

from collections.abc import Iterable

from retainlint.text.quoting import harmless

LONGEST = 60


class ConfigError(Exception):
    """A setting that means nothing; the text is written for people and begins with its place, if it has one."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be."""
    from difflib import SequenceMatcher

    def likeness(candidate: str) -> tuple[float, int]:
        meant = candidate.casefold()
        same_places = sum(a == b for a, b in zip(typed, meant, strict=False))
        return round(SequenceMatcher(None, typed, meant).ratio(), 6), same_places

    typed = word[:LONGEST].casefold()
    best = max(known, key=likeness, default=None)
    return best if best is not None and likeness(best)[0] >= 0.6 else None


def meant(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """`; did you mean 'x'?`, to go behind a message about an unknown word; else `; otherwise`, if that is given."""
    near = nearest(word, known)
    if near is not None:
        return f"; did you mean '{near}'?"
    return f"; {otherwise}" if otherwise else ""


def shown(word: str) -> str:
    """A word in quotes as a terminal may be given it: short, and without control characters."""
    if len(word) > LONGEST:
        word = word[: LONGEST - 3] + "..."
    return f"'{harmless(word)}'"
