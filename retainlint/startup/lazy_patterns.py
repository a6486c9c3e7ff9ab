"""Regular expressions that are compiled when they are first asked for: of a hundred that there are, a file's check asks a third."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, AnyStr

_NEWLINES: dict[type, Any] = {str: "\n", bytes: b"\n"}


class _Pattern:
    """It stands for a `re.Pattern`, and has its methods once they are asked for."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._asked = text, flags

    def __getattr__(self, name: str) -> Any:
        text, flags = self._asked
        found = getattr(re.compile(text, flags), name)
        setattr(self, name, found)
        return found


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` makes of a text, or will."""
    made: Any = _Pattern(text, flags)
    return made  # type: ignore[no-any-return]


def rows_with(text: AnyStr, word: AnyStr, wanted: re.Pattern[AnyStr]) -> Iterator[re.Match[AnyStr]]:
    """What a pattern finds where rows start, each match behind the one before: it is tried where a word stands in the row,
    without which it finds nothing, for that is found many times as fast."""
    done, at = 0, text.find(word)
    while at >= 0:
        row = text.rfind(_NEWLINES[type(text)], 0, at) + 1
        found = wanted.match(text, row) if row >= done else None
        if found is not None:
            done = found.end()
            yield found
        at = text.find(word, max(at + 1, done))
