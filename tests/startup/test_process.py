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
