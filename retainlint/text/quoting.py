"""Source text as a sentence or a note quotes it: on one line, made short."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from retainlint.startup.lazy_patterns import pattern

WIDTH = 44
"""Characters of source text that a sentence can carry."""

_PAIRS = {")": "(", "]": "[", "}": "{"}
_CLOSERS = {opener: closer for closer, opener in _PAIRS.items()}


COMMAND = pattern(r"##(?=\[|vso\[)", re.IGNORECASE)
"""What would begin a build server's command, in whose log a text may be printed."""


def printable(text: str) -> str:
    """The text without what ends a line, turns its direction, is half a character, or commands a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def harmless(text: str) -> str:
    """The same without what commands the log of a build server."""
    return COMMAND.sub(r"#\\x23", printable(text))


def code(text: str, width: int = WIDTH) -> str:
    """Source text in backticks, made short."""
    return f"`{short(text, width)}`"


def short(text: str, width: int = WIDTH) -> str:
    """Source text on one line: control characters escaped, the longest brackets emptied first, then cut."""
    line = _joined(text)
    line = re.sub(r"(?<=[(\[{]) | (?=[)\]}])", "", line) if line != text else line
    line = printable(line)
    line = _emptied(line, width) if len(line) > width else line
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def _joined(text: str) -> str:
    """The rows of a text on one, without their margins and the backslashes that join them."""
    first, *others = re.split(r"[\r\n\f]+", text.strip())
    rows = [first, *(row.lstrip() for row in others)]
    joined = [row.rstrip().removesuffix("\\").rstrip() for row in rows[:-1]]
    return " ".join(filter(None, [*joined, rows[-1]]))


def _emptied(line: str, width: int) -> str:
    """The line without the insides of its longest brackets, as many as make it short enough."""
    holes: list[tuple[int, int]] = []
    closings: dict[int, str] = {}
    left = len(line)
    for start, end in sorted(_brackets(line), key=lambda pair: (pair[0] - pair[1], -pair[1])):
        if left <= width:
            break
        at = bisect_right(holes, (start, end))
        if at and holes[at - 1][1] >= end:
            continue  # it lies in one that is emptied
        kept = max(width - (left - (end - start)) - 1, 0) if start == 1 else 0  # nothing stands before it
        lengths = (n for n in range(kept, 0, -1) if n + len(_closing(line[start : start + n])) <= kept)
        begun = len(line[: start + next(lengths, 0)].rstrip())
        closing = _closing(line[start:begun])
        closings[begun] = closing
        holes.insert(at, (begun, end))
        left -= end - begun - 1 - len(closing)
    ends = [0, *(end for _, end in holes)]
    parts = [line[end:start] + f"…{closings[start]}" for end, (start, _) in zip(ends, holes)]
    return "".join(parts) + line[ends[-1] :]


def _closing(part: str) -> str:
    """What closes the brackets that a part of a line leaves open."""
    opened: list[str] = []
    for character in part:
        if character in _CLOSERS:
            opened.append(_CLOSERS[character])
        elif opened and character == opened[-1]:
            opened.pop()
    return "".join(reversed(opened))


def _brackets(line: str) -> Iterator[tuple[int, int]]:
    """Where the insides of brackets start and end that hold anything to be left out."""
    opened: list[tuple[str, int]] = []
    waiting = dict.fromkeys(_PAIRS.values(), 0)
    for at, character in enumerate(line):
        if character in waiting:
            opened.append((character, at))
            waiting[character] += 1
        elif waiting.get(_PAIRS.get(character, "")):
            opener, start = "", 0
            while opener != _PAIRS[character]:  # others are brackets inside a string
                opener, start = opened.pop()
                waiting[opener] -= 1
            if at > start + 2 or line[start + 1 : at] not in ("", "…"):
                yield start + 1, at
