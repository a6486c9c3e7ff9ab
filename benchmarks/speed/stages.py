"""Where the time goes, stage by stage, in one process: `python -m benchmarks.speed.stages PATH...` prints JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from retainlint.checking import linter
from retainlint.commands.configuring import configured
from retainlint.config import Requested
from retainlint.project.discovery import discover
from retainlint.startup import process
from retainlint.text.prefilter import may_backpropagate

T = TypeVar("T")
STAGES = ("discover", "read", "filter", "import", "outline", "parse and lower", "explore", "explain")


class Clock:
    """Seconds of processor by stage."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(STAGES, 0.0)

    def of(self, stage: str, work: Callable[[], T]) -> T:
        begun = time.process_time()
        try:
            return work()
        finally:
            self.spent[stage] += time.process_time() - begun


def main(paths: list[str]) -> None:
    clock = Clock()
    files = clock.of("discover", lambda: discover(paths, configured(Requested({}, isolated=True))).files)
    texts = [(name, clock.of("read", lambda name=name: _bytes(name))) for name in files]  # type: ignore[misc]
    candidates = clock.of("filter", lambda: [(name, data) for name, data in texts if may_backpropagate(data)])
    steps = walking = 0
    if candidates:
        clock.of("import", _import)
    for name, data in candidates:
        taken = _one(clock, name, data)
        steps += taken
        walking += taken > 0
    json.dump({"files": len(files), "candidates": walking, "steps": steps, "seconds": clock.spent}, sys.stdout)


def _bytes(name: str) -> bytes:
    with open(name, "rb") as file:
        return file.read()


def _import() -> None:
    process.ours = True
    linter.prepare()


def _one(clock: Clock, name: str, data: bytes) -> int:
    """Check one file without its project; the steps that it took."""
    from retainlint.lowering import LoweringError, lower, outline
    from retainlint.project.call_index import CallIndex
    from retainlint.rules import diagnose
    from retainlint.symbolic import explore
    from retainlint.text.source import Source, UnreadableSource

    try:
        source = Source.decode(name, data)
        if not clock.of("filter", lambda: CallIndex(None, source.text.encode(errors="replace")).spells_backward):
            return 0
        outlined = clock.of("outline", lambda: outline(source))
        if outlined is not None and not outlined.backward_passes:
            return 0
        program = clock.of("parse and lower", lambda: lower(source, outlined))
    except (UnreadableSource, LoweringError):
        return 0
    explored = clock.of("explore", lambda: explore(program))
    clock.of("explain", lambda: [diagnose(incident) for incident in explored.incidents])
    return max(explored.steps, 1)


if __name__ == "__main__":
    main(sys.argv[1:])
