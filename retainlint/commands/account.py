"""What `--verbose` tells of a run: what was looked at, skipped and left out, where the time went, and which files took it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from retainlint.checking.linter import KEPT, SKIPPED
from retainlint.commands.known import plural
from retainlint.config.reading import displayed_path
from retainlint.report.terminal import safe

if TYPE_CHECKING:
    from retainlint.checking.linter import FileResult, Result
    from retainlint.config import Configs

MOST = 10
"""So many places that were left out, and slow files, are named."""


def lines(paths: Sequence[str], configs: Configs, result: Result, seconds: float) -> Iterator[str]:
    """A run of so many seconds, line by line."""
    came, many = result.came, f"{result.files:,} {plural('file', result.files)}"
    yield f"Looked at {many} ({safe(', '.join(paths))}) in {seconds:.2f} s, {result.looking:.2f} s of that to find them."
    yield f"  {came[SKIPPED]:,} skipped: nothing in them leads to a backward pass"
    yield f"  {came[KEPT]:,} as an earlier run left them in {safe(displayed_path(configs.here.path('cache-dir') or ''))}"
    yield f"  {came['']:,} followed, which took {result.seconds:.2f} s of work"
    if result.leading:
        yield f"  {result.leading:,} more of their projects followed, since they lead to these"
    for reason, places in result.left_out.items():
        if places:
            yield f"Left out as {reason}: {_several(sorted(map(displayed_path, places)))}."
    if result.unjudged:
        yield f"{result.unjudged:,} backward {'pass' if result.unjudged == 1 else 'passes'} could not be followed."
    slow = sorted(result.slow, key=lambda one: -one.seconds)
    if slow:
        yield "Took over a second:"
        yield from map(_slow, slow[:MOST])
        yield from [f"  and {len(slow) - MOST} more"][: len(slow) > MOST]


def _several(places: Sequence[str]) -> str:
    more = f" and {len(places) - MOST:,} more" if len(places) > MOST else ""
    return safe(", ".join(places[:MOST])) + more


def _slow(one: FileResult) -> str:
    """A file with what was run of it; by steps, as these are counted."""
    spent = Counter[str]()
    for name, steps in one.entries:
        spent[name] += steps
    whole = spent.total()
    parts = [
        f"{name or 'the module'} {steps / whole:.0%}" for name, steps in spent.most_common(MOST) if steps * 100 > whole
    ]
    return safe(f"  {os.path.normpath(one.name)} {one.seconds:.1f} s{': ' if parts else ''}{', '.join(parts)}")
