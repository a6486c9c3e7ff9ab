"""Why a text can't be lowered, in words for people."""

from __future__ import annotations

from retainlint.source import Source


class LoweringError(Exception):
    """A text that isn't Python as we know it, or is too deep to be read safely.

    `reason` is written for people; `row` and `column` count from 1, `offset` from 0, in characters of the text.
    """

    def __init__(self, source: Source, reason: str, offset: int) -> None:
        self.source = source
        self.reason = reason
        self.offset = min(max(offset, 0), len(source.text))
        self.row, self.column = source.place(self.offset)
        super().__init__(f"{source.name}:{self.row}:{self.column}: {reason}")

    def __reduce__(self) -> tuple[type[LoweringError], tuple[Source, str, int]]:
        return LoweringError, (self.source, self.reason, self.offset)  # for it to pass between processes
