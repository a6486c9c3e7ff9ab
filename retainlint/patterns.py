"""Regular expressions that are compiled when they are first asked for: of a hundred that there are, a file's check asks a third."""

from __future__ import annotations

import re
from typing import Any, AnyStr


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
