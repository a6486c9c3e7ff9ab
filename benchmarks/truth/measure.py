"""Measures the linter on random programs: `python -m benchmarks.truth.measure --count 2000 --seed 7 --jobs 2`."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.truth.judging import ask_linter, ask_torch, reached
from benchmarks.truth.program import Generated, generate
from benchmarks.truth.score import Result, Tally
from benchmarks.truth.sharing import shares


def judged(seed: str, folder: Path, sharing: bool) -> Result:
    """Generate one program, and ask both."""
    result = compare(generate(seed), folder)
    if sharing and not result.raises and not result.truth.mistake:
        return replace(result, shares=shares(result.program, folder))
    return result


def compare(program: Generated, folder: Path) -> Result:
    """Ask torch and the linter; where only the linter sees something, ask torch whether it comes there at all."""
    truth, reading = ask_torch(program, folder), ask_linter(program)
    if truth.lines or truth.mistake:
        return Result(program, truth, reading)
    unreached = frozenset(line for line in reading.lines if not reached(program, line, folder))
    return Result(program, truth, reading, unreached)


def results(seeds: list[str], folder: Path, jobs: int, sharing: bool) -> Iterator[Result]:
    """Every seed's result, in order; torch is imported once in each of `jobs` processes."""
    work = partial(judged, folder=folder, sharing=sharing)
    if jobs == 1:
        yield from map(work, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(work, seeds, chunksize=8)


def shown(result: Result) -> str:
    """A program with what was expected and what was found, as comments at its top."""
    truth, reading = result.truth, result.reading
    head = [
        f"# {result.verdict}",
        f"# torch:  {truth.mistake or _lines(truth.lines)}",
        f"# linter: {reading.crash or _lines(reading.lines)}",
        *(f"# gap: {gap}" for gap in reading.gaps),
        f"# {reading.steps} steps, {1000 * reading.seconds:.0f} ms; tags: {', '.join(sorted(result.program.tags))}",
    ]
    return result.program.text + "\n".join(["", *head, ""])


def _lines(lines: dict[int, str]) -> str:
    return ", ".join(f"{line} {kind}" for line, kind in sorted(lines.items())) or "nothing"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--failures", type=Path, help="folder for the programs on which torch and linter differ")
    options.add_argument("--sharing", action="store_true", help="count the running programs whose walks share a graph")
    chosen = options.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        seeds = [f"{chosen.seed}.{number}" for number in range(chosen.count)]
        for number, result in enumerate(results(seeds, Path(folder), chosen.jobs, chosen.sharing), 1):
            tally.add(result)
            if result.verdict != "right" and chosen.failures is not None:
                path = chosen.failures / result.verdict.replace(" ", "_") / f"{result.program.name}.py"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(shown(result), encoding="utf-8")
            if number % 100 == 0:
                print(f"{number} of {chosen.count}: {dict(tally.verdicts)}", file=sys.stderr)
    print(tally.table())


if __name__ == "__main__":
    main()
