"""Commands timed as whole processes, in turn: A B C, A B C, ..., so that a machine whose speed drifts drifts for all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from threading import Timer

MIB = 1024 * (1024 if sys.platform == "darwin" else 1)
"""In the unit that the operating system gives peak memory in."""


@dataclass(frozen=True)
class Run:
    """One process: seconds on the wall, seconds of processors, and its peak memory in MiB."""

    wall: float
    cpu: float
    peak: float


@dataclass(frozen=True)
class Figure:
    """The median of some runs."""

    wall: float
    cpu: float
    peak: float

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Figure:
        return cls(*(median(getattr(run, name) for run in runs) for name in ("wall", "cpu", "peak")))


class Failed(Exception):
    """A command that ended otherwise than a linter ends; the text is what it said."""


PATIENCE = 20.0
"""A command that needs more seconds is run but once."""


def once(command: Sequence[str], environment: Mapping[str, str], limit: float) -> Run:
    """Run a command with its output thrown away. Raises Failed if it can't be run, takes more seconds than `limit`, or
    ends with neither 0 nor 1."""
    begun = time.perf_counter()
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(environment), start_new_session=True
        )
    except OSError as error:
        raise Failed(str(error)) from error
    assert process.stderr is not None
    stop = Timer(limit, os.killpg, (process.pid, signal.SIGKILL))  # with the processes that it has started
    stop.start()
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    stop.cancel()
    wall = time.perf_counter() - begun
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        if wall >= limit:
            raise Failed(f"took longer than {limit:.0f} s")
        raise Failed(said.decode(errors="replace")[-500:] or f"exit code {process.returncode}")
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / MIB)


def in_turn(
    commands: Mapping[str, Sequence[str]],
    runs: int,
    environment: Mapping[str, str],
    limit: float,
    filling: frozenset[str] = frozenset(),
) -> dict[str, list[Run] | Failed]:
    """The runs of each command, after one of each that isn't counted, unless it takes so long that it stays the only
    one. What fails isn't run again. The first of those in `filling` fills what the others read, and is never counted."""
    found: dict[str, list[Run] | Failed] = {}
    slow: set[str] = set()
    for turn in range(runs + 1):
        for name, command in commands.items():
            earlier = found.setdefault(name, [])
            if isinstance(earlier, Failed) or name in slow:
                continue
            try:
                run = once(command, environment, limit)
            except Failed as failed:
                found[name] = failed
                continue
            if not turn and run.wall > PATIENCE and name not in filling:
                slow.add(name)
            if turn or name in slow:
                earlier.append(run)
    return found


def ratio(of: Sequence[Run], to: Sequence[Run]) -> float:
    """The median of the ratios of the times on the wall, pair by pair."""
    return median(one.wall / other.wall for one, other in zip(of, to, strict=False))


def work_ratio(of: Sequence[Run], to: Sequence[Run]) -> float:
    """The same of the times of processors: what the ratio would be with a single one."""
    return median(one.cpu / other.cpu for one, other in zip(of, to, strict=False))
