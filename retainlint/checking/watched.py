"""Files checked by processes of this machine that are watched: one that dies, stalls or grows costs the file that it was at."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from retainlint.checking.executor import end_with_parent
from retainlint.checking.worker import Answer, Task, checked
from retainlint.config import Settings
from retainlint.startup import process

if TYPE_CHECKING:
    from retainlint.checking.linter import Progress

FILE_SECONDS = 100
"""Seconds of the processor's time after which a file is given up. The machine's own limits end a file within ten, on any
machine that isn't ten times as slow: this is for what nobody thought of, and the only decision that a clock takes."""

STALLED = 20
"""So many times as long by the clock, where the processor's time isn't told, or isn't spent."""

BEAT = 1.0
"""Seconds between two looks at processes from which nothing is heard."""

GRACE = 2.0
"""Seconds that a process has to end by itself."""


class Done(NamedTuple):
    """A file with what its check gave: None if it couldn't be checked there, and has to be here; or why it can't be
    checked anywhere."""

    name: str
    settings: Settings
    answer: Answer | None
    lost: str = ""


class _Worker:
    """A process with the task that it is at, and how far it has come with that."""

    def __init__(self) -> None:
        context: Any = multiprocessing.get_context("fork" if process.forks() else "spawn")
        self.pipe, theirs = context.Pipe()
        self._process: multiprocessing.Process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self.task = Task(())
        self.at = 0

    def give(self, task: Task) -> None:
        self.task, self.at = task, 0
        self._begin()
        with contextlib.suppress(OSError):  # it is gone, which is seen when it is waited for
            self.pipe.send(task)

    def _begin(self) -> None:
        self._since, self._used = time.monotonic(), _processor_time(self._process.pid)

    @property
    def is_idle(self) -> bool:
        return self.at == len(self.task.files)

    def received(self) -> Done:
        """What comes of the next file. Raises EOFError if the process is gone."""
        try:
            answer: Answer | None = self.pipe.recv()
        except OSError as error:
            raise EOFError from error
        name, settings = self.task.files[self.at]
        self.at += 1
        self._begin()
        return Done(name, settings, answer)

    @property
    def is_stuck(self) -> bool:
        spent, used = time.monotonic() - self._since, _processor_time(self._process.pid)
        return spent > FILE_SECONDS * STALLED or (used is not None and used - (self._used or 0) > FILE_SECONDS)

    def is_worn(self, task: Task) -> bool:
        """Whether another process had better do a task."""
        return process.is_worn(self._process.pid, max(map(_size, task.files)))

    @property
    def in_work(self) -> tuple[float, str]:
        """Since when which file is."""
        return self._since, self.task.files[self.at][0]

    def rest(self) -> Task:
        """The files behind the one that it is at."""
        return self.task._replace(files=self.task.files[self.at + 1 :])

    def end(self) -> int | None:
        """End the process, and wait for that: its exit code."""
        self.pipe.close()
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(GRACE)
            if self._process.is_alive():  # in a library that doesn't look at signals
                self._process.kill()
        self._process.join()
        return self._process.exitcode


def watched(tasks: Iterable[Task], jobs: int, progress: Progress | None = None) -> Iterator[Done]:
    """Each file of the tasks, in any order. One whose process dies is tried once more, alone; one that takes too long is
    not. Whatever stops the run stops the processes."""
    waiting, alone = deque(tasks), deque[Task]()
    workers: list[_Worker] = []
    try:
        while waiting or alone or workers:
            while waiting and len(workers) < jobs:
                workers.append(_Worker())
                workers[-1].give(waiting.popleft())
            if not workers:
                yield from _tried(alone.popleft())
                continue
            if progress is not None:
                progress.at([name for _, name in sorted(each.in_work for each in workers)])
            for worker in _heard(workers):
                done = _next(worker, alone)
                if done is None or done.lost:
                    worker.end()
                    workers.remove(worker)
                    waiting.extendleft([worker.rest()] if worker.rest().files else [])
                if done is not None:
                    yield done
            for worker in [each for each in workers if each.is_idle]:
                if waiting and not worker.is_worn(waiting[0]):
                    worker.give(waiting.popleft())
                else:
                    worker.end()
                    workers.remove(worker)
    finally:
        for worker in workers:
            worker.end()


def _heard(workers: list[_Worker]) -> list[_Worker]:
    """Those that have something to say, or from which nothing will be heard any more."""
    ready = wait([worker.pipe for worker in workers], BEAT)
    return [worker for worker in workers if worker.pipe in ready or worker.is_stuck]


def _next(worker: _Worker, alone: deque[Task]) -> Done | None:
    """What comes of the file that a process is at; None if it died, and the file is to be tried alone."""
    name, settings = worker.task.files[worker.at]
    if not worker.pipe.poll():
        return Done(name, settings, None, f"it takes more than {FILE_SECONDS} seconds")
    try:
        return worker.received()
    except EOFError:
        alone.append(worker.task._replace(files=((name, settings),)))
        return None


def _tried(task: Task) -> Iterator[Done]:
    """A file whose process died, in one of its own, while no other runs."""
    worker, left = _Worker(), deque[Task]()
    try:
        worker.give(task)
        while not _heard([worker]):
            pass
        done = _next(worker, left)
    finally:
        code = worker.end()
    yield done or Done(*task.files[0], None, f"the process that checked it ended twice, {_ending(code)}")


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            killed = ", as happens where memory is short" if -code == 9 else ""
            return f"the second time by {signal.Signals(-code).name}{killed}"
    return f"the second time with exit code {code}"


def _serve(pipe: Connection) -> None:
    """In the process: do tasks until there are none."""
    process.ours = True
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C goes to every process of a terminal: the first stops the others
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what is half written is taken away
    end_with_parent()
    process.bound_memory()
    with contextlib.suppress(EOFError, OSError):
        while True:
            for answer in checked(pipe.recv()):
                pipe.send(answer)


def _size(file: tuple[str, Settings]) -> int:
    with contextlib.suppress(OSError, ValueError):
        return os.path.getsize(file[0])
    return 0


def _processor_time(pid: int | None) -> float | None:
    """Seconds that a process has used; None where that isn't told."""
    with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None
