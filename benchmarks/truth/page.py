"""The text of a program while it is written: lines, indentation, names that are not taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

INDENT = "    "


class Page:
    """Lines in order; `block` indents what is written inside it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0
        self._numbers: dict[str, int] = {}

    def write(self, line: str) -> None:
        self.lines.append(INDENT * self._depth + line if line else "")

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """`header` and an indented body; a body that stayed empty becomes `pass`."""
        self.write(header)
        self._depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.write("pass")
        self._depth -= 1

    def name(self, stem: str) -> str:
        """`stem`, or `stem2`, `stem3`... where it is taken."""
        number = self._numbers.get(stem, 0) + 1
        self._numbers[stem] = number
        return stem if number == 1 else f"{stem}{number}"

    @property
    def indented(self) -> bool:
        return self._depth > 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
