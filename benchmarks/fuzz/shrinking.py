"""Finds a smaller text that fails the same way: fewer rows first, then fewer pieces of a row."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from benchmarks.fuzz import watching
from benchmarks.fuzz.cases import Case
from benchmarks.fuzz.judging import Failure
from benchmarks.fuzz.watching import Bounds

_PIECE = re.compile(rb"\w+|\s+|.", re.DOTALL)


def shrunk(case: Case, failure: Failure, bounds: Bounds, patience: float) -> bytes:
    """The smallest text found in so many seconds that fails with the same mark."""
    until = time.monotonic() + patience

    def holds(data: bytes) -> bool:
        tried = Case(case.number, case.kind, case.name, data)
        (outcome,) = watching.run([case.number], lambda _: tried, bounds)
        return outcome.failure is not None and (outcome.failure.kind, outcome.failure.mark) == (
            failure.kind,
            failure.mark,
        )

    rows = _fewer(case.data.splitlines(keepends=True), holds, until)
    if len(rows) > 40:
        return b"".join(rows)
    return b"".join(_fewer(_PIECE.findall(b"".join(rows)), holds, until))


def _fewer(parts: list[bytes], holds: Callable[[bytes], bool], until: float) -> list[bytes]:
    """Leave out ever smaller runs of parts while what is left still fails, and there is time."""
    size = max(len(parts) // 2, 1)
    while parts:
        at = 0
        while at < len(parts):
            if time.monotonic() > until:
                return parts
            left = parts[:at] + parts[at + size :]
            if left and holds(b"".join(left)):
                parts = left
            else:
                at += size
        if size == 1:
            break
        size = max(size // 2, 1)
    return parts
