"""What the linter says of the files of a recorded run, beside what the run has shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from retainlint.checking import linter
from retainlint.commands.advice import FAILURES, MISUSES
from retainlint.config import Configs, Settings
from retainlint.diagnostic import Diagnostic
from retainlint.live.places import Stack, row_of
from retainlint.live.recorder import Recording


@dataclass(frozen=True)
class Prediction:
    """A finding of failure, with how many backward passes failed so at its place, and how many went well there."""

    finding: Diagnostic
    failed: int
    passed: int

    def __str__(self) -> str:
        if self.failed:
            return "confirmed: it failed so in this run"
        if self.passed:
            return f"not in this run: {self.passed} backward pass{'es' * (self.passed > 1)} went well there"
        return "not reached: no backward pass ran there"


def predictions(recording: Recording) -> list[Prediction]:
    """The findings of failure in the files through which backward passes were called, comments and selection set aside."""
    files = sorted({path for stack in (*recording.passed, *recording.failed) for path, _ in _rows(stack)})
    result = linter.check(files, Configs.alike(Settings(suppressions=False)))
    found = [each for each in result.diagnostics if each.code in FAILURES]
    return [Prediction(each, _failed(recording, each), _passed(recording, each)) for each in found]


def _rows(stack: Stack) -> Iterator[tuple[str, int]]:
    for call in stack:
        if os.path.isfile(call.code.co_filename):
            yield os.path.abspath(call.code.co_filename), row_of(call)


def _stands_in(finding: Diagnostic, stack: Stack) -> bool:
    span = finding.primary.span
    name = os.path.abspath(span.source.name)
    return any(path == name and span.row <= row <= span.end_place[0] for path, row in _rows(stack))


def _failed(recording: Recording, finding: Diagnostic) -> int:
    words = tuple(misuse.words for misuse in MISUSES if finding.code in misuse.codes)
    return sum(
        any(each in message for each in words)
        for stack, messages in recording.failed.items()
        if _stands_in(finding, stack)
        for message in messages
    )


def _passed(recording: Recording, finding: Diagnostic) -> int:
    return sum(times for stack, times in recording.passed.items() if _stands_in(finding, stack))
