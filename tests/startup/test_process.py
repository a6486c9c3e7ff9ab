"""What a process of ours does to itself between two files."""

from __future__ import annotations

import gc
import weakref

import pytest

from retainlint.startup import process


class Circle:
    """It holds itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize("ours", [True, False])
def test_circles_that_were_looked_at_once_go(ours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector looks at what survived it a hundred times more seldom. In a process of others' that is theirs to settle."""
    monkeypatch.setattr(process, "ours", ours)
    was = gc.get_threshold()
    try:
        gc.set_threshold(500_000)
        circle = Circle()
        gc.collect(0)
        seen = weakref.ref(circle)
        del circle
        process.tidy()
        assert (seen() is None) == ours
    finally:
        gc.set_threshold(*was)


@pytest.mark.parametrize(
    ("held", "size", "worn"), [(100, 10**9, False), (140, 100_000, False), (140, 200_000, True), (260, 0, True)]
)
def test_a_process_is_replaced_that_leaves_no_room(
    held: int, size: int, worn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new one would have no more, whatever comes next; else it depends on what that may need."""
    monkeypatch.setattr(process, "resident", lambda _: held * 2**20)
    assert process.is_worn(None, size) == worn
