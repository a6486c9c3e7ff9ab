"""Time the linter, the floor and other linters in turn, on single files and on the trees that are given."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.speed import files, page
from benchmarks.speed.contenders import WARM, contenders, environment
from benchmarks.speed.timing import Failed, Run, in_turn

README = Path(__file__).with_name("README.md")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument(
        "trees", nargs="*", metavar="NAME=PATH", help="trees to check, such as torch=.../site-packages/torch"
    )
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each command (default: %(default)s)")
    parser.add_argument(
        "--limit", type=float, default=900, help="seconds that a command may take (default: %(default)s)"
    )
    parser.add_argument("--tools", default="", metavar="DIR", help="where the other linters' programs are")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="leave a command out")
    parser.add_argument("--readme", action="store_true", help="write the figures into benchmarks/speed/README.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        trees = {name: str(path) for name, path in files.write(Path(scratch)).items()}
        trees |= dict(tree.split("=", 1) for tree in asked.trees)
        surroundings = dict(environment(os.path.join(scratch, "compiled")))
        timed: dict[str, dict[str, list[Run] | Failed]] = {}
        told: dict[str, dict[str, Any]] = {}
        for name, path in trees.items():
            print(f"{name} ...", file=sys.stderr, flush=True)
            commands = {
                each: command for each, command in contenders(path, asked.tools).items() if each not in asked.without
            }
            timed[name] = in_turn(commands, asked.runs, surroundings, asked.limit, frozenset({WARM}))
            print(page.times({name: timed[name]}), file=sys.stderr, flush=True)
            stages = _stages(path, surroundings, asked.limit)
            if stages is not None:
                told[name] = stages
    text = f"{_machine()}\n\n{page.times(timed)}\n\n{page.stages(told)}"
    print(text)
    if asked.readme:
        page.put(README, text)


def _stages(path: str, surroundings: dict[str, str], limit: float) -> dict[str, Any] | None:
    command = [sys.executable, "-m", "benchmarks.speed.stages", path]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=surroundings, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _machine() -> str:
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return f"Python {platform.python_version()}, {os.cpu_count()} processors, load averages at the end {load}."


if __name__ == "__main__":
    main()
