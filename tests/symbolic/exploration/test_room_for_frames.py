"""Frames find room without asking the system for it, however deep the machine stands."""

from __future__ import annotations

import mmap
import sys
from types import FunctionType

import pytest

from retainlint.symbolic.exploration.explorer import with_room

resource = pytest.importorskip("resource")

CALLS = 300


def _nothing() -> None:
    pass


_large = FunctionType(_nothing.__code__.replace(co_stacksize=500), globals())
"""A quarter of a piece of memory for frames: at some depths it doesn't fit any more."""


def _down(depth: int) -> None:
    for _ in range(CALLS):
        _large()
    if depth:
        _down(depth - 1)


def _all_the_way() -> None:
    _down(200)


def _faults() -> int:
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames lie elsewhere before")
def test_no_call_in_a_loop_asks_for_memory() -> None:
    before = _faults()
    with_room(_all_the_way)()
    assert _faults() - before < CALLS


def test_without_memory_for_it_the_function_is_called_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", none_left)
    called: list[int] = []
    with_room(lambda value: called.append(value))(3)
    assert called == [3]
