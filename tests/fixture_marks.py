"""Reads the marks that examples and fixtures carry at the end of a line: `#~ built`, `#~ reused RTL101`."""

from __future__ import annotations

import re
from dataclasses import dataclass

ROLES = ("built", "freed", "modified", "reused", "backward", "wasted", "misused")
_MARK = re.compile(rf"#~ ({'|'.join(ROLES)})(?: (RTL\d{{3}}))?(?= *(?:#~|$))")


@dataclass(frozen=True)
class Mark:
    """What happens on a line (from 1); `code` stands on the one line where the program raises."""

    line: int
    role: str
    code: str | None


def marks(text: str, name: str = "") -> list[Mark]:
    """Every mark of a program, in order; ValueError where a comment looks like a mark and isn't one."""
    found: list[Mark] = []
    for number, line in enumerate(text.splitlines(), start=1):
        on_line = [Mark(number, match[1], match[2]) for match in _MARK.finditer(line)]
        if len(on_line) != line.count("#~"):
            raise ValueError(f"{name}:{number}: unreadable mark: {line.strip()}")
        found += on_line
    return found


def failing(text: str, name: str = "") -> Mark | None:
    """The mark where the program raises, None if it has no marks; ValueError if there are marks but not one such."""
    found = marks(text, name)
    coded = [mark for mark in found if mark.code]
    if found and len(coded) != 1:
        raise ValueError(f"{name}: {len(coded)} marks with a code, wanted one")
    return coded[0] if coded else None
