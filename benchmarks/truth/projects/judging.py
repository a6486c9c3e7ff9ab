"""Asks torch about a project, once for each way in which it is run, and the linter about its files.

A place in a project is one number, so that results are those of single programs: the file's, times 10,000, and the row.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.truth.judging import Reading, Truth, kind_of
from benchmarks.truth.program import Generated
from benchmarks.truth.projects.project import Project
from benchmarks.truth.score import Result
from benchmarks.truth.sharing import PROBE

if TYPE_CHECKING:
    from judge_torch import Verdict

ROWS = 10_000
DRIVER = "drive_it.py"
KINDS = {
    "RTL111": "modified",
    "RTL110": "modified",
    "RTL112": "no graph",
    "RTL113": "leaf changed",
    "RTL116": "view of several changed",
}
"""What a rule's finding says; the others tell of a freed graph."""


def place(project: Project, file: str, row: int) -> int:
    return sorted(project.files).index(file) * ROWS + row


def shown(project: Project, at: int) -> str:
    """The same for people."""
    return f"{sorted(project.files)[at // ROWS]}:{at % ROWS}"


def write(project: Project, folder: Path) -> Path:
    """The project's own directory, with its files and nothing else."""
    root = folder / project.name
    shutil.rmtree(root, ignore_errors=True)
    for file, text in project.files.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def verdicts(project: Project, root: Path, before: str = "", *, again: bool = False) -> Iterator[Verdict]:
    """What torch says of each run."""
    from judge_torch import judge

    for text in project.again if again else project.drivers:
        driver = root / DRIVER
        driver.write_text(before + text, encoding="utf-8")
        try:
            yield judge(driver, project=root)
        finally:
            driver.unlink()


def ask_torch(project: Project, root: Path) -> Truth:
    """The places that raise first, under some assignment."""
    lines: dict[int, str] = {}
    for verdict in verdicts(project, root):
        if not verdict.raises:
            continue
        kind = kind_of(verdict.error, verdict.sentence)
        if kind is None or verdict.line is None or verdict.file is None or verdict.file.endswith(DRIVER):
            return Truth({}, f"{verdict.file}:{verdict.line}: {verdict.error}: {verdict.sentence}")
        lines[place(project, os.path.relpath(verdict.file, root), verdict.line)] = kind
    return Truth(lines)


def reached(project: Project, at: int, root: Path) -> bool:
    """Whether a place is come to at all."""
    path = root / sorted(project.files)[at // ROWS]
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    row = at % ROWS - 1
    indent = lines[row][: len(lines[row]) - len(lines[row].lstrip())]
    lines.insert(row, f"{indent}raise SystemExit('reached')")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        return any(verdict.error == "SystemExit" for verdict in verdicts(project, root))
    finally:
        path.write_text(text, encoding="utf-8")


def raised_again(project: Project, root: Path) -> frozenset[int]:
    """What raises only if somebody calls a library's method twice on one object."""
    found = (verdict for verdict in verdicts(project, root, again=True) if verdict.raises)
    places = ((each.file, each.line) for each in found if each.file is not None and not each.file.endswith(DRIVER))
    return frozenset(place(project, os.path.relpath(file, root), line) for file, line in places if line is not None)


def ask_linter(project: Project, root: Path, truth: Truth) -> Reading:
    """Check the folder, as a user would: the errors of RTL1xx, and of its warnings those that are true, as where an option
    isn't what it is by default."""
    from retainlint.checking import linter
    from retainlint.config import Configs, Settings
    from retainlint.diagnostic import Severity

    here, start = os.getcwd(), time.perf_counter()
    os.chdir(root)
    try:
        found = linter.check(["."], Configs.alike(Settings(suppressions=False, tried=False)))
    finally:
        os.chdir(here)
    crash = next((one.message for one in found.diagnostics if one.code.startswith("RTL9")), "")
    lines = {
        place(project, os.path.relpath(one.primary.span.source.name), one.primary.span.row): KINDS.get(
            one.code, "freed"
        )
        for one in found.diagnostics
        if one.code.startswith("RTL1")
    }
    errors = {
        place(project, os.path.relpath(one.primary.span.source.name), one.primary.span.row)
        for one in found.diagnostics
        if one.severity is Severity.ERROR
    }
    lines = {at: kind for at, kind in lines.items() if at in errors or at in truth.lines}
    gaps = tuple(f"{gap.span.source.name}:{gap.span.row}: {gap.reason}" for gap in found.gaps)
    return Reading(lines, gaps, 0, time.perf_counter() - start, crash)


def compare(project: Project, folder: Path, *, sharing: bool = False) -> Result:
    """Ask both; where only the linter sees something, ask torch whether it comes there at all."""
    root = write(project, folder)
    truth = ask_torch(project, root)
    reading = ask_linter(project, root, truth)
    known = Generated(project.name, "", (), project.tags, frozenset())
    if truth.lines or truth.mistake:
        return Result(known, truth, reading)
    unreached = frozenset(at for at in reading.lines if not reached(project, at, root)) | raised_again(project, root)
    shares = sharing and any("SHARED" in verdict.stdout for verdict in verdicts(project, root, PROBE))
    return Result(known, truth, reading, unreached, shares)
