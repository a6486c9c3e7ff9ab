"""The figures as Markdown tables, put between two marks of a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.speed.contenders import FLOOR
from benchmarks.speed.timing import Failed, Figure, Run, ratio, work_ratio

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def times(trees: Mapping[str, Mapping[str, list[Run] | Failed]]) -> str:
    """One row a tree and command: medians, and the medians of the ratios to the floor, pair by pair."""
    rows = [
        "| tree | command | seconds | processor seconds | peak MiB | to the floor | on one core | runs |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for tree, commands in trees.items():
        floor = commands[FLOOR]
        for name, runs in commands.items():
            if isinstance(runs, Failed):
                why = (str(runs).strip().splitlines() or ["failed"])[-1].replace("|", " ")
                rows.append(f"| {tree} | {name} | {why} | | | | | |")
                continue
            one = Figure.of(runs)
            to = " | " if isinstance(floor, Failed) else f"{ratio(runs, floor):.2f} | {work_ratio(runs, floor):.2f}"
            rows.append(f"| {tree} | {name} | {one.wall:.2f} | {one.cpu:.2f} | {one.peak:.0f} | {to} | {len(runs)} |")
    return "\n".join(rows)


def stages(trees: Mapping[str, Mapping[str, Any]]) -> str:
    """One row a tree: processor seconds of each stage."""
    names = list(next(iter(trees.values()))["seconds"]) if trees else []
    rows = [
        f"| tree | files | with a backward pass | steps | {' | '.join(names)} |",
        "| --- |" + " ---: |" * (len(names) + 3),
    ]
    for tree, told in trees.items():
        spent = " | ".join(f"{told['seconds'][name]:.2f}" for name in names)
        rows.append(f"| {tree} | {told['files']:,} | {told['candidates']} | {told['steps']:,} | {spent} |")
    return "\n".join(rows)


def put(page: Path, text: str) -> None:
    """Replace what stands between the marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
