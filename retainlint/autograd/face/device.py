"""The one device there is."""

from __future__ import annotations

from typing import Any

from retainlint.autograd.face.lacking import LackingUse


class device:  # noqa: N801 -- torch's name
    """The CPU; asking for another is an error that names it."""

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        name = str(type)
        kind, _, number = name.partition(":")
        if kind != "cpu":
            raise LackingUse(f"device {name!r}")
        self.type = kind
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


CPU = device()
