"""Measures the linter on small projects: `python -m benchmarks.truth.projects.measure --count 500 --seed 7 --jobs 2`."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.truth.projects import judging
from benchmarks.truth.projects.project import Project, generate
from benchmarks.truth.score import Result, Tally


def judged(seed: str, folder: Path, sharing: bool) -> tuple[Project, Result]:
    """Generate one project, and ask both."""
    project = generate(seed)
    return project, judging.compare(project, folder, sharing=sharing)


def results(seeds: list[str], folder: Path, jobs: int, sharing: bool) -> Iterator[tuple[Project, Result]]:
    """Every seed's result, in order."""
    work = partial(judged, folder=folder, sharing=sharing)
    if jobs == 1:
        yield from map(work, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(work, seeds, chunksize=8)


def keep(project: Project, result: Result, folder: Path) -> None:
    """Write a project on which both differ, with what each said."""
    root = judging.write(project, folder / result.verdict.replace(" ", "_"))
    for number, driver in enumerate(project.drivers):
        (root / f"driver{number}.txt").write_text(driver, encoding="utf-8")
    truth, reading = result.truth, result.reading
    said = [
        f"seed {project.name.removeprefix('project_').replace('_', '.')}: {result.verdict}",
        f"torch:  {truth.mistake or _lines(project, truth.lines)}",
        f"linter: {reading.crash or _lines(project, reading.lines)}",
        *(f"gap: {gap}" for gap in reading.gaps),
        f"{1000 * reading.seconds:.0f} ms; tags: {', '.join(sorted(project.tags))}",
    ]
    (root / "verdict.txt").write_text("\n".join([*said, ""]), encoding="utf-8")


def _lines(project: Project, lines: dict[int, str]) -> str:
    return ", ".join(f"{judging.shown(project, at)} {kind}" for at, kind in sorted(lines.items())) or "nothing"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--failures", type=Path, help="folder for the projects on which torch and linter differ")
    options.add_argument("--sharing", action="store_true", help="count the running projects whose walks share a graph")
    options.add_argument("--out", type=Path, help="only write the projects to this folder")
    chosen = options.parse_args()
    seeds = [f"{chosen.seed}.{number}" for number in range(chosen.count)]
    if chosen.out is not None:
        for seed in seeds:
            judging.write(generate(seed), chosen.out)
        return
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for number, (project, result) in enumerate(results(seeds, Path(folder), chosen.jobs, chosen.sharing), 1):
            tally.add(result)
            if result.verdict != "right" and chosen.failures is not None:
                keep(project, result, chosen.failures)
            if number % 100 == 0:
                print(f"{number} of {chosen.count}: {dict(tally.verdicts)}", file=sys.stderr)
    print(tally.table())


if __name__ == "__main__":
    main()
