"""What paths have replaced on their heaps since they were one: only there can their records differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retainlint.symbolic.state import State


class Past:
    """The records that a path replaced before it was forked, back to the fork `before` that."""

    __slots__ = ("before", "depth", "written")

    def __init__(self, written: set[int], before: Past | None) -> None:
        self.written, self.before = written, before
        self.depth: int = 0 if before is None else before.depth + 1


def replaced(a: State, b: State) -> set[int]:
    """The records that either of two paths has replaced since they were one."""
    found = a.written | b.written
    one, other = a.past, b.past
    while one is not other:
        if one is None or (other is not None and other.depth > one.depth):
            one, other = other, one
        assert one is not None
        found |= one.written
        one = one.before
    return found
