"""Check texts that try to break the linter: `python -m benchmarks.fuzz --count 1000 --sources DIR --out failures`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.fuzz import cases, shrinking, watching
from benchmarks.fuzz.judging import Failure
from benchmarks.fuzz.watching import Bounds, Outcome

SLOW = 3.0
"""Texts that take more seconds are told of, too."""


TOLD = 500
"""Behind every so many texts it is told how far a run has come."""


@dataclass
class Tally:
    """A run so far."""

    texts: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    slowest: float = 0.0
    most: int = 0
    failed: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, outcome: Outcome) -> None:
        self.texts[kind] += 1
        self.seconds[kind] += outcome.seconds
        self.slowest, self.most = max(self.slowest, outcome.seconds), max(self.most, outcome.memory)
        if outcome.failure is not None:
            self.failed[outcome.failure.kind] += 1

    def lines(self) -> list[str]:
        kinds = (
            f"{kind}: {number} texts, {self.seconds[kind] / number:.3f} s each"
            for kind, number in sorted(self.texts.items())
        )
        failed = ", ".join(f"{number} {kind}" for kind, number in sorted(self.failed.items())) or "none"
        whole = f"{sum(self.texts.values())} texts, {sum(self.seconds.values()):.0f} s; slowest {self.slowest:.1f} s, most memory {self.most} MiB"
        return [*kinds, whole, f"failures: {failed}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if a text failed, else 0."""
    asked = _parser().parse_args(arguments)
    recipe = cases.recipe(asked.seed, asked.kind, asked.sources, whole=asked.whole)
    make = recipe.whole if asked.whole else recipe.make
    if not recipe.sources:
        print("no real files in the sources", file=sys.stderr)
        return 2
    bounds = Bounds(asked.limit, asked.memory)
    begun, tally, known = time.monotonic(), Tally(), set[tuple[str, str]]()
    end = min(asked.start + asked.count, len(recipe.sources)) if asked.whole else asked.start + asked.count
    for outcome in watching.run(range(asked.start, end), make, bounds):
        failure = outcome.failure
        tally.add(cases.WHOLE if asked.whole else recipe.kind(outcome.number), outcome)
        if failure is not None or outcome.seconds > SLOW:
            case = make(outcome.number)
            said = f"{failure.kind}: {failure.mark}" if failure is not None else "slow"
            name = case.name if asked.whole else case.kind
            print(f"{outcome.number} {name} {said} ({outcome.seconds:.1f} s, {outcome.memory} MiB)", flush=True)
            is_new = failure and (failure.kind in watching.KINDS or (failure.kind, failure.mark) not in known)
            if failure is not None and is_new and asked.out is not None:
                known.add((failure.kind, failure.mark))
                data = shrinking.shrunk(case, failure, bounds, asked.patience) if asked.patience else case.data
                _keep(asked.out, case, failure, data)
        if sum(tally.texts.values()) % TOLD == 0:
            print(tally.lines()[-2], flush=True)
        if asked.seconds and time.monotonic() - begun > asked.seconds:
            break
    for line in tally.lines():
        print(line)
    return 1 if tally.failed else 0


def _keep(out: Path, case: cases.Case, failure: Failure, data: bytes) -> None:
    """The text as it was, what is left of it, and what happened."""
    out.mkdir(parents=True, exist_ok=True)
    stem = f"{case.number:06d}_{failure.kind}"
    (out / f"{stem}.whole{Path(case.name).suffix}").write_bytes(case.data)
    (out / f"{stem}{Path(case.name).suffix}").write_bytes(data)
    (out / f"{stem}.json").write_text(json.dumps({"kind": case.kind, **asdict(failure)}, indent=1), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="texts (default: %(default)s)")
    parser.add_argument("--start", type=int, default=0, metavar="N", help="number of the first (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=0, metavar="S", help="begin no text behind so many (default: no end)"
    )
    parser.add_argument(
        "--sources", nargs="*", default=[], metavar="DIR", help="folders of real files (default: the fixtures)"
    )
    parser.add_argument("--whole", action="store_true", help="check the real files as they are")
    parser.add_argument("--kind", action="append", default=[], choices=list(cases.KINDS), help="only these")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where failures are kept")
    parser.add_argument(
        "--patience", type=float, default=60, metavar="S", help="seconds for shrinking one (default: %(default)s)"
    )
    parser.add_argument(
        "--limit", type=float, default=10, metavar="S", help="of the processor's time a text (default: %(default)s)"
    )
    parser.add_argument("--memory", type=int, default=500, metavar="MIB", help="(default: %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
