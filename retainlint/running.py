"""How the files of a run are checked: from the cache, here, by other processes or machines; the findings are the same."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from retainlint import __version__, linter, packed
from retainlint.config import Settings
from retainlint.linter import FileResult
from retainlint.modules import THERE, Disk

if TYPE_CHECKING:  # costly to import, and not needed by every run
    from concurrent.futures import Executor

    from retainlint.cache import Cache
    from retainlint.shipping import Shipped

Texts: TypeAlias = "tuple[str, str, str]"

PATIENCE = 0.3
"""Seconds of checking after which the time for the rest can be told from the time spent."""

WORTH = 0.8
"""Seconds of checking left that other processes shorten by more than it takes to start them."""

WORTH_SPAWNING = 3.0
"""The same where each process has to start Python, and to import what it needs."""

CHUNK = 60_000
"""At most so many bytes of files are handed to another process at a time, but for one file larger than that."""

SHARES = 32
"""At least so many tasks are made of a run, unless it has fewer files."""

FEW = 50
"""So many files are read as fast as a cache is."""

ROUNDS = 12
"""So often is a machine told what it asks for, before its files are checked here."""


@dataclass(frozen=True)
class Task:
    """Some files for another process; with `parcel` for one on another disk."""

    files: tuple[tuple[str, Settings], ...]
    parcel: Shipped | None = None
    version: str = __version__


@dataclass(frozen=True)
class Answer:
    """One file's check as it is sent back, its findings packed."""

    digest: str
    lookups: dict[str, str | None]
    texts: Texts
    crash: str


@dataclass(frozen=True)
class Answers:
    """Those of a task, None for a file that couldn't be checked there, and what the parcel lacked."""

    files: tuple[Answer | None, ...]
    asked: frozenset[tuple[str, str]] = frozenset()


class OtherVersion(Exception):
    """A worker isn't of our version."""


@dataclass
class Running:
    """A way through the files of a run, for `linter.check`.

    `jobs` processes are used where that pays, in place of them `pool` (anything with `submit` as in
    `concurrent.futures`), whose workers need no disk of ours but the same version of this package. With `gaps` the
    results say what couldn't be followed. `patience` is in seconds.
    """

    cache: Cache | None = None
    jobs: int = 1
    pool: Executor | None = None
    gaps: bool = False
    patience: float = PATIENCE
    worth: float | None = None

    def __call__(self, names: Sequence[str], settings: Mapping[str, Settings]) -> Iterator[FileResult]:
        """The result of each file, in any order."""
        if self.cache is not None:
            self.cache.fresh()
        pending: list[tuple[str, int]] = []
        few = len(names) <= FEW
        for name in names:
            result, size = None if few else self._kept(name, settings[name]), 0
            if result is None:
                result, size = self._skimmed(name, settings[name], keep=not few)
            if result is None and few:
                result = self._kept(name, settings[name])
            if result is None:
                pending.append((name, size))
            else:
                yield result
        yield from self._elsewhere(pending, settings) if self.pool is not None else self._here(pending, settings)
        if self.cache is not None:
            self.cache.save()

    # -- what needs no check ----------------------------------------------------------------------------------------

    def _kept(self, name: str, settings: Settings) -> FileResult | None:
        entry = self.cache.get(name, settings) if self.cache is not None else None
        if entry is None:
            return None
        try:
            return self._unpacked(name, entry.texts)
        except packed.Stale:
            return None

    def _unpacked(self, name: str, texts: Texts) -> FileResult:
        own, beyond, gaps = texts
        if not own and not beyond and not (gaps and self.gaps):
            return FileResult(name)
        return FileResult(
            name,
            packed.unpack_diagnostics(name, own, _read),
            gaps=packed.unpack_gaps(name, gaps, _read) if self.gaps else (),
            beyond=packed.unpack_diagnostics(name, beyond, _read),
        )

    def _skimmed(self, name: str, settings: Settings, keep: bool) -> tuple[FileResult | None, int]:
        """The result of a file that doesn't matter, told by its bytes; and how many these are."""
        data = _read(name)
        if data is None or linter.may_matter(name, data):
            return None, len(data or b"")
        result = FileResult(name)
        if keep:
            self._keep(result, settings, data)
        return result, len(data)

    def _keep(self, result: FileResult, settings: Settings, data: bytes) -> None:
        if self.cache is not None and not result.crash:
            answer = _answer(result, data, "")
            if answer is not None:
                self.cache.put(result.name, settings, answer.digest, answer.lookups, answer.texts)

    # -- here -------------------------------------------------------------------------------------------------------

    def _here(self, pending: list[tuple[str, int]], settings: Mapping[str, Settings]) -> Iterator[FileResult]:
        """One after the other, until it is seen that several processes would be done sooner."""
        files = Disk()
        begun, done, left = time.monotonic(), 0, sum(size for _, size in pending)
        for number, (name, size) in enumerate(pending):
            spent = time.monotonic() - begun
            if self.jobs != 1 and len(pending) - number > 1 and spent >= self.patience:
                jobs = self._that_pay(left * spent / (done or 1))
                if jobs > 1:
                    from retainlint.executor import processes

                    with processes(min(jobs, len(pending) - number)) as pool:
                        yield from self._spread(pool, _tasks(pending[number:], settings))
                    return
            yield self._checked(name, settings[name], files)
            done, left = done + size, left - size

    def _that_pay(self, seconds: float) -> int:
        """How many processes to share so much work between."""
        from retainlint.executor import forks, processors

        worth = self.worth if self.worth is not None else WORTH if forks() else WORTH_SPAWNING
        return (self.jobs or processors()) if seconds >= worth else 1

    def _checked(self, name: str, settings: Settings, files: Disk) -> FileResult:
        data = _read(name)
        if data is None:
            return linter.check_file(name, settings, files)
        result = linter.check_source(name, data, settings, files)
        self._keep(result, settings, data)
        return result if self.gaps else replace(result, gaps=())

    # -- elsewhere --------------------------------------------------------------------------------------------------

    def _elsewhere(self, pending: list[tuple[str, int]], settings: Mapping[str, Settings]) -> Iterator[FileResult]:
        """On machines that don't share our disk: each task carries the files that it will probably ask for."""
        from retainlint.shipping import gathered

        assert self.pool is not None
        tasks: Iterable[Task] = (
            replace(task, parcel=gathered([name for name, _ in task.files])) for task in _tasks(pending, settings)
        )
        yield from self._spread(self.pool, tasks)

    def _spread(self, pool: Executor, tasks: Iterable[Task]) -> Iterator[FileResult]:
        from retainlint.executor import spread

        disk = Disk()
        lost: list[tuple[str, Settings]] = []
        for _ in range(ROUNDS):
            again: list[Task] = []
            for task, answers in spread(pool, work, tasks):
                if answers is None:
                    lost += task.files
                    continue
                missing = []
                for (name, settings), answer in zip(task.files, answers.files, strict=True):
                    result = self._received(name, settings, answer)
                    if result is None:
                        missing.append((name, settings))
                    else:
                        yield result
                if missing and task.parcel is not None and answers.asked:
                    task.parcel.answer(answers.asked, disk)
                    again.append(replace(task, files=tuple(missing)))
                else:
                    lost += missing
            tasks = again
            if not again:
                break
        for name, settings in [*lost, *(file for task in tasks for file in task.files)]:
            yield self._checked(name, settings, disk)

    def _received(self, name: str, settings: Settings, answer: Answer | None) -> FileResult | None:
        if answer is None:
            return None
        try:
            result = self._unpacked(name, answer.texts)
        except packed.Stale:  # the file has changed since
            return None
        if answer.crash:
            return replace(result, crash=answer.crash)
        if self.cache is not None:
            self.cache.put(name, settings, answer.digest, answer.lookups, answer.texts)
        return result


_one_at_a_time = threading.Lock()


def work(task: Task) -> Answers:
    """Do a task, in another process. Raises OtherVersion."""
    if task.version != __version__:
        raise OtherVersion(f"this worker has retainlint {__version__}, and {task.version} is asked for")
    files = task.parcel or Disk()
    every: set[tuple[str, str]] = set()
    answers: list[Answer | None] = []
    with _one_at_a_time:  # a worker of Dask's may be a thread among others, and a check sets the depth of recursion
        for name, settings in task.files:
            if task.parcel is not None:
                task.parcel.asked.clear()
            data = files.read(os.path.abspath(os.path.join(files.here, name)))
            result = None if data is None else linter.check_source(name, data, settings, files)
            if task.parcel is not None and task.parcel.asked:
                every |= task.parcel.asked
                answers.append(None)
            else:
                answers.append(_answer(result, data, files.here) if result is not None and data is not None else None)
    return Answers(tuple(answers), frozenset(every))


def _answer(result: FileResult, data: bytes, here: str) -> Answer | None:
    """None if a place in it can't be told again."""
    from hashlib import sha256

    digest = sha256(data).hexdigest()
    own = os.path.abspath(os.path.join(here, result.name))
    digests = {place: state for place, state in result.lookups.items() if state is not None and state != THERE}
    digests[own] = digest
    try:
        texts = tuple(
            packed.pack(result.name, found, digests, here) for found in (result.diagnostics, result.beyond, result.gaps)
        )
    except packed.Stale:
        return None
    return Answer(digest, dict(result.lookups), (texts[0], texts[1], texts[2]), result.crash)


def _tasks(pending: list[tuple[str, int]], settings: Mapping[str, Settings]) -> list[Task]:
    """The files in portions, neighbours together; the largest first, so that none comes last."""
    most = min(CHUNK, sum(size for _, size in pending) // SHARES)
    portions: list[tuple[int, list[str]]] = []
    for name, size in pending:
        if not portions or portions[-1][0] + size > most:
            portions.append((0, []))
        total, names = portions.pop()
        portions.append((total + size, [*names, name]))
    portions.sort(key=lambda portion: -portion[0])
    return [Task(tuple((name, settings[name]) for name in names)) for _, names in portions]


def _read(name: str) -> bytes | None:
    """The bytes of a regular file: what comes through a pipe comes but once, and is left to the check itself."""
    return Disk().read(name)
