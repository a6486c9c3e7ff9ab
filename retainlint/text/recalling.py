"""What is remembered of texts to save time: they may hold so much together, however many they are.

It decides nothing but the time that a check takes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from retainlint.text.source import Source

Key = TypeVar("Key")
Answer = TypeVar("Answer")
Text = TypeVar("Text", bound="str | bytes | Source")

KEPT_TEXT = 1_250_000
"""Characters of the texts asked about in a row, by one question: then what was asked before them is forgotten. What is known
of a text takes ten times as much memory, or more."""

EACH = 1_000
"""Characters that each counts for beside its own."""


class Recalled(Generic[Key, Answer]):
    """The answers to one question, of which each counts as much as the text that it is about."""

    def __init__(self, length: Callable[[Key, Answer], int]) -> None:
        self._length, self._held = length, 0
        self._recent: dict[Key, Answer] = {}
        self._before: dict[Key, Answer] = {}

    def of(self, key: Key, answer: Callable[[], Answer]) -> Answer:
        """What is known, else that answer, which isn't None."""
        found = self._recent.get(key)
        if found is None:
            found = self._before.get(key)
            if found is None:
                found = answer()
            if self._held > KEPT_TEXT:
                self._before, self._recent, self._held = self._recent, {}, 0
            self._recent[key] = found
            self._held += self._length(key, found) + EACH
        return found

    def clear(self) -> None:
        """Know nothing any more."""
        self._recent, self._before, self._held = {}, {}, 0

    def __len__(self) -> int:
        return len(self._recent.keys() | self._before.keys())


def recalled(question: Callable[[Text], Answer]) -> Callable[[Text], Answer]:
    """A function that remembers what it told of the texts that it was asked about last."""
    known = Recalled[Text, Answer](lambda text, _: len(text) if isinstance(text, (str, bytes)) else len(text.text))

    @wraps(question)
    def ask(text: Text) -> Answer:
        return known.of(text, partial(question, text))

    return ask
