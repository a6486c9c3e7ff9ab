"""What the command line can do: one thin file a command, none of which knows how its options were spelt."""

from __future__ import annotations

from collections.abc import Iterable


class CommandError(Exception):
    """The command can't do what was asked, for a reason that lies outside the code checked; written for people."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be."""
    from retainlint.config import nearest as found

    return found(word, known)
