"""What is asked of every text, within the process: the check, a report, for some the fixes; and what may not come of it."""

from __future__ import annotations

import ast
import re
import time
import traceback
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.fuzz.cases import WHOLE, Case
from retainlint.checking import linter
from retainlint.checking.linter import FileResult
from retainlint.commands.fix import Given, fix
from retainlint.config import Configs, Settings
from retainlint.report import FORMATS, render
from retainlint.report.run import Run
from retainlint.report.terminal import Style
from retainlint.text.files import Disk

if TYPE_CHECKING:
    from retainlint.diagnostic import Diagnostic

USUAL, ALL = Settings(), Settings(suppressions=False, thorough=True)

MEANT = re.compile(r"nested too deeply to be checked|too long to be checked|too large")
"""Limits that are told."""

FIXED = 7
"""Every so manieth text with findings is fixed, too, if its check takes less than `QUICK` seconds: that takes many checks."""

QUICK = 0.3


@dataclass(frozen=True)
class Failure:
    """What went wrong: `crash`, `refused`, `misfixed`; those of the watch are `hang`, `memory` and `died`. `mark` tells one
    cause from another."""

    kind: str
    mark: str
    story: str = ""


def judged(case: Case) -> Failure | None:
    """Check a text in every way, and tell what may not be."""
    settings = ALL if case.number % 3 == 0 else USUAL
    begun = time.process_time()
    result = linter.check_source(case.name, case.data, settings, Disk() if case.kind == WHOLE else None)
    is_quick = time.process_time() - begun < QUICK
    if result.crash:
        return Failure("crash", _mark(result.crash), result.crash)
    try:
        for name in FORMATS if case.number % 50 == 0 else (list(FORMATS)[case.number % len(FORMATS)],):
            "".join(render(name, result.diagnostics, Style(), Run(gaps=result.gaps))).encode(
                "utf-8", "backslashreplace"
            )
    except Exception:  # noqa: BLE001 -- whatever it is, it is what we look for
        return _failed("reported")
    refused = _refused(case, result)
    return refused or (_misfixed(case, result.diagnostics) if is_quick and case.number % FIXED == 0 else None)


def _failed(doing: str) -> Failure:
    story = traceback.format_exc(limit=-8)
    return Failure("crash", f"{doing}: {_mark(story)}", story)


def _mark(story: str) -> str:
    """The place in our code where it happened, and what."""
    rows = [row.strip() for row in story.strip().split("\n")]
    places = [row for row in rows if row.startswith("File ") and "retainlint" in row]
    place = places[-1].rpartition("retainlint/")[2].replace('"', "") if places else ""
    return f"{rows[-1].partition(':')[0]} at {place}"


def _refused(case: Case, result: FileResult) -> Failure | None:
    """A program that Python takes has to be checked, too."""
    refusals = [each.message for each in result.diagnostics if each.code == "RTL900"]
    if not refusals or MEANT.search(refusals[0]) or not case.name.endswith(".py"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(case.data)
            compile(case.data, "f.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError, LookupError):
        return None
    return Failure("refused", "".join(c for c in refusals[0] if not c.isdigit())[:80], refusals[0])


def _misfixed(case: Case, found: tuple[Diagnostic, ...]) -> Failure | None:
    """A text that was read is so after its fixes."""
    if not any(each.cures for each in found):
        return None
    given = Given(case.name, case.data)
    options = Configs.alike(USUAL)
    try:
        done = fix(found, (), options, write=True, texts=given)
    except Exception:  # noqa: BLE001 -- as above
        return _failed("fixed")
    if any("internal error" in each for each in done.wrong):
        return Failure("crash", f"fixed: {done.wrong[0][:90]}", "\n".join(done.wrong))
    if given.data == case.data:
        return None
    after = linter.check_source(case.name, given.data, USUAL)
    if any(each.code == "RTL900" for each in after.diagnostics):
        return Failure("misfixed", after.diagnostics[0].message[:80], given.data.decode("utf-8", "replace"))
    return None
