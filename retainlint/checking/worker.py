"""Work for other processes: files with their settings go out, what was found in them comes back packed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from retainlint.cache import finding_codec
from retainlint.checking import linter
from retainlint.checking.linter import FileResult
from retainlint.config import Settings
from retainlint.startup import process
from retainlint.startup.version import __version__
from retainlint.text.files import THERE, Disk

if TYPE_CHECKING:
    from retainlint.project.remote_files import Shipped
    from retainlint.text.files import ModuleStore

CHUNK = 60_000
"""At most so many bytes of files are handed to another process at a time, but for one file larger than that."""

SHARES = 32
"""At least so many tasks are made of a run, unless it has fewer files."""


class Task(NamedTuple):
    """Some files for another process; with `parcel` for one on another disk, else with the `shelf` that is on ours."""

    files: tuple[tuple[str, Settings], ...]
    parcel: Shipped | None = None
    ir_store: ModuleStore | None = None
    version: str = __version__


class Answer(NamedTuple):
    """One file's check as it is sent back, its findings packed."""

    digest: str
    lookups: dict[str, str | None]
    found: str
    crash: str
    seconds: float = 0.0
    entries: tuple[tuple[str, int], ...] = ()


class Answers(NamedTuple):
    """Those of a task, None for a file that couldn't be checked there, and what the parcel lacked."""

    files: tuple[Answer | None, ...]
    asked: frozenset[tuple[str, str]] = frozenset()


class OtherVersion(Exception):
    """A worker isn't of our version."""


def checked(task: Task) -> Iterator[Answer | None]:
    """Do a task on our disk, file by file."""
    files = Disk(task.ir_store)
    for name, settings in task.files:
        data = files.read(os.path.abspath(name))
        answer = None if data is None else answer_of(linter.check_timed(name, data, settings, files), data, "")
        process.tidy()
        yield answer


_one_at_a_time = threading.Lock()


def work(task: Task) -> Answers:
    """Do a task, in another process. Raises OtherVersion."""
    if task.version != __version__:
        raise OtherVersion(f"this worker has retainlint {__version__}, and {task.version} is asked for")
    files = task.parcel or Disk(task.ir_store)
    every: set[tuple[str, str]] = set()
    answers: list[Answer | None] = []
    with _one_at_a_time:  # a worker of Dask's may be a thread among others, and a check sets the depth of recursion
        for name, settings in task.files:
            if task.parcel is not None:
                task.parcel.asked.clear()
            data = files.read(os.path.abspath(os.path.join(files.here, name)))
            result = None if data is None else linter.check_timed(name, data, settings, files)
            if task.parcel is not None and task.parcel.asked:
                every |= task.parcel.asked
                answers.append(None)
            else:
                answers.append(answer_of(result, data, files.here) if result is not None and data is not None else None)
            process.tidy()
    return Answers(tuple(answers), frozenset(every))


def answer_of(result: FileResult, data: bytes, here: str) -> Answer | None:
    """None if a place in it can't be told again."""
    digest = sha256(data).hexdigest()
    own = os.path.abspath(os.path.join(here, result.name))
    digests = {place: state for place, state in result.lookups.items() if state is not None and state != THERE}
    digests[own] = digest
    found = finding_codec.Found(result.diagnostics, result.beyond, result.gaps, result.followed)
    try:
        packed = finding_codec.pack(result.name, found, digests, here)
    except finding_codec.Stale:
        return None
    return Answer(digest, dict(result.lookups), packed, result.crash, result.seconds, result.entries)


def portioned(pending: list[tuple[str, int]], settings: Mapping[str, Settings]) -> list[Task]:
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
