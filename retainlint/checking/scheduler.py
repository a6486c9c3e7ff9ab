"""How the files of a run are checked: from the cache, here, by other processes or machines; the findings are the same."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from retainlint.checking import linter
from retainlint.checking.linter import FileResult
from retainlint.startup import process
from retainlint.text.files import NO_LISTINGS, Disk, Listings, read

if TYPE_CHECKING:  # costly to import, and not needed by every run
    from concurrent.futures import Executor

    from retainlint.cache.cache import Cache
    from retainlint.cache.ir_store import IrStore
    from retainlint.checking.worker import Answer, Task
    from retainlint.config import Settings

PATIENCE = 0.3
"""Seconds of checking after which the time for the rest can be told from the time spent."""

WORTH = 0.8
"""Seconds of checking left that other processes shorten by more than it takes to start them."""

WORTH_SPAWNING = 3.0
"""The same where each process has to start Python, and to import what it needs."""

RATE = 5e-6
"""Seconds that a byte costs of a file that has to be followed, roughly: so much is known before one is."""

SURE = 2.0
"""Seconds of checking, by that rate, that are shared whatever the other files need."""

FEW = 50
"""So many files are read as fast as a cache is."""

ROUNDS = 12
"""So often is a machine told what it asks for, before its files are checked here."""


class Running:
    """A way through the files of a run, for `linter.check`."""

    def __init__(
        self,
        cache: Cache | None = None,
        jobs: int = 1,
        pool: Executor | None = None,
        gaps: bool = False,
        patience: float = PATIENCE,
        worth: float | None = None,
        progress: linter.Progress | None = None,
    ) -> None:
        """`jobs` processes are used where that pays, in place of them `pool` (anything with `submit` as in
        `concurrent.futures`), whose workers need no disk of ours but the same version of this package. With `gaps` the
        results say what couldn't be followed. `patience` and `worth` are in seconds. `progress` is told what is in work.
        """
        self.cache, self.jobs, self.pool, self.gaps = cache, jobs, pool, gaps
        self.patience, self.worth, self.progress = patience, worth, progress
        self._listings = NO_LISTINGS
        self.early: linter.Early | None = None

    def __call__(
        self, names: Sequence[str], settings: Mapping[str, Settings], listings: Listings = NO_LISTINGS
    ) -> Iterator[FileResult]:
        """The result of each file, in any order. `listings` are directories of which it is known what is in them."""
        self._listings = listings
        if self.cache is not None:
            self.cache.fresh(listings)
        pending = yield from (self._few if len(names) <= FEW else self._many)(names, settings)
        yield from self._elsewhere(pending, settings) if self.pool is not None else self._here(pending, settings)
        if self.cache is not None:
            self.cache.save()

    # -- what needs no check ----------------------------------------------------------------------------------------

    def _few(
        self, names: Sequence[str], settings: Mapping[str, Settings]
    ) -> Generator[FileResult, None, list[tuple[str, int]]]:
        """The files that have to be checked, with the number of their bytes; the others are done."""
        pending: list[tuple[str, int]] = []
        for name in names:
            data = read(name)
            if data is not None and not linter.may_matter(name, data):
                yield FileResult(name, came=linter.SKIPPED)
            elif (kept := self._kept(name, settings[name])) is not None:
                yield kept
            else:
                pending.append((name, len(data or b"")))
        return pending

    def _many(
        self, names: Sequence[str], settings: Mapping[str, Settings]
    ) -> Generator[FileResult, None, list[tuple[str, int]]]:
        """The same; what is kept isn't read."""
        unread: list[str] = []
        for name in names:
            kept = self._kept(name, settings[name])
            if kept is None:
                unread.append(name)
            else:
                yield kept
        if not unread:
            return []
        from retainlint.checking.prescan import skimmed

        sizes: dict[str, int] = {}
        for name, size, digest in skimmed(unread, self.cache is not None, self._both):
            if digest is None:
                sizes[name] = size
                continue
            if self.cache is not None:
                self.cache.put(name, settings[name], digest, {}, "")
            yield FileResult(name, came=linter.SKIPPED)
        return [(name, sizes[name]) for name in unread if name in sizes]

    @property
    def _both(self) -> bool:
        """Whether a second process may look at files."""
        return self.jobs != 1 and self.pool is None and (self.jobs or process.processors()) > 1 and process.forks()

    def _kept(self, name: str, settings: Settings) -> FileResult | None:
        text = self.cache.get(name, settings) if self.cache is not None else None
        found = self._unpacked(name, text) if text is not None else None
        return found and found._replace(came=linter.KEPT)

    def _unpacked(self, name: str, text: str) -> FileResult | None:
        """None if a text isn't any more what it was when it was checked."""
        if not text:
            return FileResult(name)
        from retainlint.cache import finding_codec

        try:
            found = finding_codec.unpack(name, text, read, self.gaps)
        except finding_codec.Stale:
            return None
        return FileResult(name, **found._asdict())

    def _keep(self, result: FileResult, settings: Settings, data: bytes) -> None:
        if self.cache is not None and not result.crash:
            from retainlint.checking.worker import answer_of

            answer = answer_of(result, data, "")
            if answer is not None:
                self.cache.put(result.name, settings, answer.digest, answer.lookups, answer.found)

    # -- here -------------------------------------------------------------------------------------------------------

    def _here(self, pending: list[tuple[str, int]], settings: Mapping[str, Settings]) -> Iterator[FileResult]:
        """One after the other, until it is seen that several processes would be done sooner."""
        files = Disk(self._ir_store() if pending else None, self._listings)
        if process.ours:
            process.bound_memory()
        if self.jobs != 1 and len(pending) > 1 and self._that_pay(_work(pending)) > 1:
            pending = yield from self._glanced(pending, settings, files)
            jobs = self._that_pay(_work(pending))
            if jobs > 1 and len(pending) > 1:
                yield from self._shared(pending, settings, files, jobs)
                return
        begun, done, left = time.monotonic(), 0, sum(size for _, size in pending)
        telling = _Left(pending, self.progress)
        for number, (name, size) in enumerate(pending):
            if self.progress is not None:
                self.progress.at([name])
            spent = time.monotonic() - begun
            if self.jobs != 1 and len(pending) - number > 1 and spent >= self.patience:
                jobs = self._that_pay(left * spent / (done or 1))
                if jobs > 1:
                    yield from self._shared(pending[number:], settings, files, jobs)
                    return
            yield self._checked(name, settings[name], files)
            process.tidy()
            done, left = done + size, left - size
            telling.done(size)

    def _glanced(
        self, pending: list[tuple[str, int]], settings: Mapping[str, Settings], files: Disk
    ) -> Generator[FileResult, None, list[tuple[str, int]]]:
        """The files that have to be followed, and those that weren't looked at since there is work enough; the others are
        done by a look at names, so that what is heavy isn't begun before it is known what there is to share."""
        from retainlint.checking.prescan import glanced

        followed: set[str] = set()
        both = self._both
        for (name, _), answer in glanced(pending, settings, files, int(SURE / RATE), both):
            result = self._received(name, settings[name], answer)
            if result is not None:
                yield result
                continue
            if both and not followed:
                linter.prepare()  # while the other process looks at what is left
            followed.add(name)
        return [file for file in pending if file[0] in followed]

    def _shared(
        self, pending: list[tuple[str, int]], settings: Mapping[str, Settings], files: Disk, jobs: int
    ) -> Iterator[FileResult]:
        """By other processes."""
        from retainlint.checking.worker import portioned

        if process.forks():
            linter.prepare()
        tasks = [task._replace(ir_store=files.ir_store) for task in portioned(pending, settings)]
        sizes, left = dict(pending), _Left(pending, self.progress)
        for result in self._watched(tasks, min(jobs, len(pending)), files):
            left.done(sizes[result.name])
            yield result

    def _watched(self, tasks: Iterable[Task], jobs: int, files: Disk) -> Iterator[FileResult]:
        from retainlint.checking.watched import watched

        for name, settings, answer, lost in watched(tasks, jobs, self.progress):
            if lost:
                yield linter.given_up(name, lost, settings)
            else:
                yield self._received(name, settings, answer) or self._checked(name, settings, files)

    def _ir_store(self) -> IrStore | None:
        return self.cache.ir_store() if self.cache is not None else None

    def _that_pay(self, seconds: float) -> int:
        """How many processes to share so much work between."""
        if seconds < (WORTH if self.worth is None else self.worth):
            return 1
        worth = self.worth if self.worth is not None else WORTH if process.forks() else WORTH_SPAWNING
        return (self.jobs or process.processors()) if seconds >= worth else 1

    def _checked(self, name: str, settings: Settings, files: Disk) -> FileResult:
        data = read(name)
        if data is None:
            return linter.check_file(name, settings, files)
        result = linter.check_timed(name, data, settings, files, self.early)
        self._keep(result, settings, data)
        return result if self.gaps else result._replace(gaps=())

    # -- elsewhere --------------------------------------------------------------------------------------------------

    def _elsewhere(self, pending: list[tuple[str, int]], settings: Mapping[str, Settings]) -> Iterator[FileResult]:
        """On machines that don't share our disk: each task carries the files that it will probably ask for."""
        from retainlint.checking.worker import portioned
        from retainlint.project.remote_files import gathered

        assert self.pool is not None
        tasks: Iterable[Task] = (
            task._replace(parcel=gathered([name for name, _ in task.files])) for task in portioned(pending, settings)
        )
        yield from self._spread(self.pool, tasks)

    def _spread(self, pool: Executor, tasks: Iterable[Task]) -> Iterator[FileResult]:
        from retainlint.checking.executor import spread
        from retainlint.checking.worker import Task, work

        disk = Disk(self._ir_store())
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
                    again.append(task._replace(files=tuple(missing)))
                else:
                    lost += missing
            tasks = again
            if not again:
                break
        lost += (file for task in tasks for file in task.files)
        if process.ours and lost:  # one of them may have killed its worker, and would kill us
            yield from self._watched([Task((file,), ir_store=disk.ir_store) for file in lost], 1, disk)
            return
        for name, settings in lost:
            yield self._checked(name, settings, disk)

    def _received(self, name: str, settings: Settings, answer: Answer | None) -> FileResult | None:
        if answer is None:
            return None
        result = self._unpacked(name, answer.found)
        if result is None:
            return None
        result = result._replace(seconds=answer.seconds, entries=answer.entries)
        if answer.crash:
            return result._replace(crash=answer.crash)
        if self.cache is not None:
            self.cache.put(name, settings, answer.digest, answer.lookups, answer.found)
        return result


def _work(pending: list[tuple[str, int]]) -> float:
    """Seconds that files may take that have to be followed."""
    return RATE * sum(size for _, size in pending)


class _Left:
    """Tells how much is left of the files that have to be checked, by their sizes."""

    def __init__(self, pending: list[tuple[str, int]], progress: linter.Progress | None) -> None:
        self._whole = self._left = sum(size for _, size in pending) or 1
        self._progress = progress
        self.done(0)

    def done(self, size: int) -> None:
        self._left -= size
        if self._progress is not None:
            self._progress.left(self._left / self._whole)
