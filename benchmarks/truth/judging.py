"""Asks torch about a program, under every assignment of its flags, and the linter about its text."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.truth.program import Generated

if TYPE_CHECKING:
    from judge_torch import Verdict

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # the judge belongs to the tests

KINDS = {
    "Trying to backward through the graph a second time": "freed",
    "has been modified by an inplace operation": "modified",
    "does not require grad and does not have a grad_fn": "no graph",
    "leaf Variable that requires grad is being used in an in-place operation": "leaf changed",
    "is being modified inplace": "view of several changed",
}
"""What torch says, and the kind of failure that it is."""


@dataclass(frozen=True)
class Truth:
    """What torch did: the first raising line under some assignment, with its kind; `mistake`: any other error."""

    lines: dict[int, str]
    mistake: str = ""


def kind_of(error: str | None, sentence: str | None) -> str | None:
    """The kind of a graph error, None for any other."""
    if error != "RuntimeError":
        return None
    return next((kind for words, kind in KINDS.items() if words in (sentence or "")), None)


def verdicts(program: Generated, text: str, folder: Path) -> Iterator[Verdict]:
    """What torch says of a text under each assignment of the program's flags."""
    from judge_torch import judge

    path = folder / f"{program.name}.py"
    path.write_text(text, encoding="utf-8")
    for values in itertools.product("01", repeat=len(program.flags)):
        os.environ.update(zip(program.flags, values))
        yield judge(path)


def ask_torch(program: Generated, folder: Path) -> Truth:
    """Run the program under all assignments of its flags."""
    lines: dict[int, str] = {}
    for verdict in verdicts(program, program.text, folder):
        if not verdict.raises:
            continue
        kind = kind_of(verdict.error, verdict.sentence)
        if kind is None or verdict.line is None:
            return Truth({}, f"{verdict.line}: {verdict.error}: {verdict.sentence}")
        lines[verdict.line] = kind
    return Truth(lines)


def reached(program: Generated, line: int, folder: Path) -> bool:
    """Whether some assignment of the flags makes a line run at all."""
    lines = program.text.splitlines()
    indent = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]
    lines.insert(line - 1, f"{indent}raise SystemExit('reached')")
    text = "\n".join(lines) + "\n"
    return any(verdict.error == "SystemExit" for verdict in verdicts(program, text, folder))


@dataclass(frozen=True)
class Reading:
    """What the linter said: lines with the class of incident; how long it took, how far it got."""

    lines: dict[int, str]
    gaps: tuple[str, ...]
    steps: int
    seconds: float
    crash: str = ""


CLASSES = {
    "Freed": "freed",
    "Modified": "modified",
    "NoGraph": "no graph",
    "LeafModified": "leaf changed",
    "ViewModified": "view of several changed",
    "Refused": "refused",
}


def ask_linter(program: Generated) -> Reading:
    """Lint the program's text."""
    from retainlint.lowering import lower
    from retainlint.symbolic import explore
    from retainlint.text.source import Source

    start = time.perf_counter()
    try:
        found = explore(lower(Source.decode(f"{program.name}.py", program.text.encode())))
    except Exception as error:  # noqa: BLE001 -- a crash on one program is a result too
        return Reading({}, (), 0, time.perf_counter() - start, f"{type(error).__name__}: {error}")
    lines = {one.primary.row: CLASSES[type(one).__name__] for one in found.incidents}
    gaps = tuple(f"{gap.span.row}: {gap.reason}" for gap in found.gaps)
    return Reading(lines, gaps, found.steps, time.perf_counter() - start)
