"""Checks trees in many ways that must make no difference, and compares what is said: `python -m benchmarks.fuzz.equality DIR...`."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

ROOT = Path(__file__).resolve().parent.parent.parent

COMMAND = (
    "check",
    "--isolated",
    "--exit-zero",
    "--quiet",
    "--select",
    "ALL",
    "--output-format",
    "json",
    "--show-unknown",
)


class Way(NamedTuple):
    """A way to check a tree: options, the paths, from where, with what in the environment, by which Python."""

    name: str
    options: tuple[str, ...] = ("--no-cache", "--jobs", "1")
    paths: tuple[str, ...] = (".",)
    here: str = "."
    environment: tuple[tuple[str, str], ...] = ()
    python: str = sys.executable


def ways(tree: Path, cache: str, pythons: Sequence[str], dice: random.Random) -> Iterator[Way]:
    """All ways; the first is what the others are compared with."""
    yield Way("as it is")
    yield Way("once more")
    for seed in ("0", "1", "4711"):
        yield Way(f"hash seed {seed}", environment=(("PYTHONHASHSEED", seed),))
    for jobs in ("2", "4"):
        yield Way(f"{jobs} jobs", ("--no-cache", "--jobs", jobs))
    for state in ("cold", "warm", "warm again"):
        yield Way(f"{state} cache", ("--cache-dir", cache, "--jobs", "1"))
    yield Way("warm cache, 2 jobs", ("--cache-dir", cache, "--jobs", "2"))
    yield Way("cold cache, 2 jobs", ("--cache-dir", cache + "2", "--jobs", "2"))
    files = files_of(tree)
    shuffled = dice.sample(files, len(files))
    if len(" ".join(files)) < 100_000:
        yield Way("files by name", paths=tuple(files))
        yield Way("files in another order", paths=tuple(shuffled))
    yield Way("from above", paths=(tree.name,), here="..")
    yield Way("by its whole path", paths=(str(tree),), here=os.sep)
    yield Way("optimised", environment=(("PYTHONOPTIMIZE", "2"),))
    for python in pythons:
        yield Way(f"by {python}", python=python)


def files_of(tree: Path) -> list[str]:
    """The names of all that a check of the tree looks at."""
    return sorted(str(path.relative_to(tree)) for kind in ("*.py", "*.ipynb") for path in tree.rglob(kind))


def said(tree: Path, way: Way) -> tuple[str, str]:
    """The findings, as if they were told from within the tree, and what could not be followed. Raises ValueError."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RETAINLINT", "PYTHONHASH"))}
    done = subprocess.run(
        [way.python, "-m", "retainlint", *COMMAND, *way.options, "--", *way.paths],
        cwd=os.path.normpath(tree / way.here), capture_output=True, text=True, errors="surrogateescape",
        env={**kept, "PYTHONPATH": str(ROOT), **dict(way.environment)},
    )  # fmt: skip
    if done.returncode:
        raise ValueError(f"{way.name}: exit code {done.returncode}: {done.stderr[-500:]}")
    return _within(done.stdout, tree), _within(done.stderr, tree)


def _within(text: str, tree: Path) -> str:
    """A report with its files as they are called from within the tree."""
    for prefix in (f"{tree}{os.sep}", f"{tree.relative_to(tree.anchor)}{os.sep}", f"{tree.name}{os.sep}"):
        text = text.replace(json.dumps(prefix)[1:-1], "")
    return text


def compared(tree: Path, pythons: Sequence[str], seed: int = 0) -> list[str]:
    """The ways in which something else was said, each with the first difference."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place, "tree-to-compare")
        shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", ".retainlint_cache"))
        every = list(ways(copy, os.path.join(place, "cache"), pythons, random.Random(seed)))
        first = said(copy, every[0])
        print(f"{tree}: {len(findings(first[0]))} findings, {len(every)} ways", flush=True)
        for way in every[1:]:
            try:
                other = said(copy, way)
            except ValueError as error:
                wrong.append(str(error))
                continue
            for what, one, two in zip(("findings", "gaps"), first, other):
                if one != two:
                    wrong.append(f"{way.name}: {what}: {_difference(one, two)}")
        wrong += _of_parts(copy, first[0], random.Random(seed))
    return wrong


def _of_parts(tree: Path, whole: str, dice: random.Random) -> list[str]:
    """What is said of a part of the files, where it isn't what is said of them all."""
    files = files_of(tree)
    wrong = []
    for share in (2, 10):
        part = sorted(dice.sample(files, max(len(files) // share, 1)))
        lost, more = apart(findings(whole), findings(said(tree, Way("a part", paths=tuple(part)))[0]), part)
        if lost or more:
            places = [each["filename"] for each in (*lost, *more)]
            wrong.append(f"1 of {share} files: {len(lost)} findings lost, {len(more)} more: {places[:3]}")
    return wrong


Finding: TypeAlias = "dict[str, Any]"
"""A finding as the report has it."""


def findings(report: str) -> list[Finding]:
    """Those of a report, which tells what could not be followed, too: that has no code, and depends on who leads where."""
    return [each for each in json.loads(report) if each["code"] is not None]


def apart(whole: list[Finding], found: list[Finding], part: Sequence[str]) -> tuple[list[Finding], list[Finding]]:
    """What was found of all files in those of a part, and isn't of these alone; and what these alone have more.

    A failure in a file that isn't asked for is told where one that is calls it: that is no other one.
    """
    places = {(each["code"], each["filename"], each["location"]["row"]) for each in whole}
    more = [
        each
        for each in found
        if each not in whole
        and places.isdisjoint((each["code"], at["filename"], at["location"]["row"]) for at in each["related"])
    ]
    return [each for each in whole if each["filename"] in part and each not in found], more


def _difference(one: str, two: str) -> str:
    for first, second in zip(one.splitlines(), two.splitlines()):
        if first != second:
            return f"{first.strip()[:150]} | {second.strip()[:150]}"
    return f"{one.count(chr(10))} rows | {two.count(chr(10))} rows"


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if something made a difference."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz.equality", description=__doc__)
    parser.add_argument("trees", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--python", nargs="*", default=[], help="other interpreters, with what retainlint needs")
    asked = parser.parse_args(arguments)
    wrong = [f"{tree}: {each}" for tree in asked.trees for each in compared(tree.resolve(), asked.python)]
    for line in wrong:
        print(line)
    print(f"{len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
