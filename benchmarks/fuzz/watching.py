"""A process that checks texts, and the one that watches it: what takes too long or too much is ended, noted, and gone on behind."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.fuzz import patterns
from benchmarks.fuzz.cases import Case
from benchmarks.fuzz.judging import Failure, judged
from retainlint.checking import linter
from retainlint.checking.executor import end_with_parent
from retainlint.startup import process

KINDS = ("hang", "memory", "died")
"""Failures that only a watch sees, and that don't tell what caused them."""

BEAT = 0.1
"""Seconds between two looks at a process."""

STALLED = 60
"""A process that used no time of its own gets so many times the limit by the clock: the machine is others', too."""

SELDOM = 500_000
"""The collector looks for circles as seldom as in the command line."""

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Bounds:
    """What a text may take: seconds of the processor's time, and MiB of memory, all that the process has included."""

    seconds: float = 10.0
    memory: int = 500


@dataclass(frozen=True)
class Outcome:
    """What came of a text; `seconds` of the processor's time, `memory` the most that the process had, in MiB."""

    number: int
    failure: Failure | None
    seconds: float
    memory: int


def run(numbers: Sequence[int], make: Callable[[int], Case], bounds: Bounds) -> Iterator[Outcome]:
    """Check the texts of these numbers in a process that is started anew behind each that had to be ended."""
    left = list(numbers)
    while left:
        done = 0
        for outcome in _watched(left, make, bounds):
            done += 1
            yield outcome
        left = left[done:]


def _watched(numbers: Sequence[int], make: Callable[[int], Case], bounds: Bounds) -> Iterator[Outcome]:
    """The outcomes up to the first text with which the process had to be ended, or behind which it ended by itself."""
    linter.prepare()
    patterns.patterns()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(ours, theirs, numbers, make, bounds), daemon=True)
    child.start()
    theirs.close()
    assert child.pid is not None
    try:
        for number in numbers:
            begun, used = time.monotonic(), _seconds(child.pid)
            ended = None
            while ended is None and not ours.poll(BEAT):
                ended = _excess(child.pid, used, begun, bounds)
            try:
                if ended is None:
                    failure, seconds, memory = ours.recv()
                    yield Outcome(number, failure or _after(seconds, memory, bounds), seconds, memory)
                    continue
            except EOFError:
                child.join()
                if child.exitcode == 0:  # it held too much
                    return
                ended = Failure("died", f"the process ended with {child.exitcode}")
            spent, held = _seconds(child.pid) - used, _memory(child.pid)
            child.kill()
            yield Outcome(number, ended, spent, held)
            return
    finally:
        child.kill()
        child.join()
        ours.close()


def _excess(pid: int, used: float, begun: float, bounds: Bounds) -> Failure | None:
    if _memory(pid) > bounds.memory:
        return Failure("memory", f"over {bounds.memory} MiB")
    if _seconds(pid) - used > bounds.seconds or time.monotonic() - begun > bounds.seconds * STALLED:
        return Failure("hang", f"over {bounds.seconds:g} s")
    return None


def _after(seconds: float, memory: int, bounds: Bounds) -> Failure | None:
    """The same where it was faster than we looked."""
    if memory > bounds.memory:
        return Failure("memory", f"over {bounds.memory} MiB")
    return Failure("hang", f"over {bounds.seconds:g} s") if seconds > bounds.seconds else None


def _work(
    others: Connection, out: Connection, numbers: Sequence[int], make: Callable[[int], Case], bounds: Bounds
) -> None:
    """In the process: what each text comes to."""
    others.close()
    end_with_parent()
    limit = bounds.memory * 4 * 2**20
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (max(limit, 3 * 2**30), resource.RLIM_INFINITY))
    process.ours = True
    gc.set_threshold(SELDOM)
    gc.freeze()
    for at, number in enumerate(numbers):
        case = make(number)
        if at and process.is_worn(os.getpid(), len(case.data)):  # one of the linter's is replaced then, too
            return
        _forget_peak()
        begun = time.process_time()
        failure = judged(case)
        out.send((failure, time.process_time() - begun, _peak()))
        process.tidy()


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """The most memory that this process had since then, in MiB."""
    with contextlib.suppress(OSError):
        for row in Path("/proc/self/status").read_text().split("\n"):
            if row.startswith("VmHWM:"):
                return int(row.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _memory(pid: int) -> int:
    """MiB that a process has now; 0 if there is none."""
    return process.resident(pid) // 2**20


def _seconds(pid: int) -> float:
    """Seconds of the processor that a process has used; 0 if there is none."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK
    return 0.0
