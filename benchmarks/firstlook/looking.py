"""Runs the linter on a tree as a user would, as a process bounded in time, and keeps all that it said."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = ("check", "--isolated", "--no-cache", "--jobs", "1", "--output-format", "json", "--show-unknown", "--quiet")
BACKWARD = re.compile(r"\.backward\(|\bgrad\(")


@dataclass(frozen=True)
class Finding:
    """What the linter told, and where. `cell` counts from 1 in a notebook."""

    repository: str
    commit: str
    path: str
    cell: int | None
    row: int
    code: str
    severity: str
    message: str
    verdict: str = ""
    reason: str = ""
    date: str = ""

    @property
    def place(self) -> str:
        cell = f"cell {self.cell}:" if self.cell else ""
        return f"{self.repository}/{self.path}:{cell}{self.row}"


@dataclass(frozen=True)
class Look:
    """What looking at one repository took, and what it left open.

    `not_followed` counts the notes of what the linter couldn't follow; `backward_not_followed` those of them that stand
    at a row with a backward pass. `trouble` is how the process ended if it did badly.
    """

    repository: str
    commit: str
    files: int
    seconds: float
    not_followed: int
    backward_not_followed: int
    trouble: str = ""


def look(tree: Path, name: str, commit: str, limit: float, select: Sequence[str] = ()) -> tuple[Look, list[Finding]]:
    """Check `tree` once, as a whole; `limit` is in seconds."""
    asked = [argument for rules in select for argument in ("--extend-select", rules)]
    command = [sys.executable, "-m", "retainlint", *COMMAND, *asked, str(tree)]
    begun = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return Look(name, commit, _files(tree), limit, 0, 0, f"over {limit:.0f} s"), []
    seconds = round(time.monotonic() - begun, 1)
    entries = _entries(done.stdout)
    notes = [entry for entry in entries if entry["code"] is None]
    findings = [_finding(entry, tree, name, commit) for entry in entries if entry["code"] is not None]
    backward = sum(1 for entry in notes if BACKWARD.search(_row(entry)))
    trouble = _trouble(done.returncode, done.stderr.decode(errors="replace"))
    return Look(name, commit, _files(tree), seconds, len(notes), backward, trouble), findings


def _entries(answer: bytes) -> list[dict[str, Any]]:
    try:
        return list(json.loads(answer))
    except ValueError:
        return []


def _finding(entry: dict[str, Any], tree: Path, name: str, commit: str) -> Finding:
    path = Path(entry["filename"]).relative_to(tree.absolute()).as_posix()
    place = entry["cell"], entry["location"]["row"]
    return Finding(name, commit, path, *place, entry["code"], entry["severity"], entry["message"])


def _row(entry: dict[str, Any]) -> str:
    """The text at an entry; of a notebook the whole cell can't be told from its rows, so the file's."""
    rows = Path(entry["filename"]).read_text(encoding="utf-8", errors="replace").splitlines()
    row = entry["location"]["row"]
    return rows[row - 1] if entry["cell"] is None and 0 < row <= len(rows) else ""


def _trouble(code: int, said: str) -> str:
    if code in (0, 1):
        return ""
    last = [row for row in said.splitlines() if row.strip()][-1:]
    return f"exit {code}: {''.join(last)}"


def _files(tree: Path) -> int:
    return sum(1 for ending in ("*.py", "*.ipynb") for path in tree.rglob(ending) if path.is_file())


def trees(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    wanted = set(names)
    for path in sorted(folder.iterdir()):
        if path.is_dir() and (not wanted or path.name in wanted):
            yield path
