"""Looks at many files before any is followed: at their bytes, then at their names; by two processes where that pays."""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from retainlint.checking import linter
from retainlint.text.files import Disk, read

Work = TypeVar("Work")

Done = TypeVar("Done")


MOST = 256
"""A piece is taken by its number, which is a byte."""


_LENGTH = 4
"""Bytes that tell how long an answer is."""


def shared(pieces: Sequence[Work], work: Callable[[Work], Done]) -> Iterator[tuple[Work, Done]]:
    """Each piece with what comes of it, in any order; there are MOST at most. It is sent from one process to the other as
    `marshal` bears it. What the copy loses is done here, all of it where there can't be one. Only where `process.forks`
    says so."""
    heap, filling = os.pipe()
    answers, answering = os.pipe()
    os.write(filling, bytes(range(len(pieces))))
    os.close(filling)
    try:
        child = os.fork()
    except OSError:  # there are too many processes, say
        child = None
    if child == 0:
        os.close(answers)  # or it would wait for ever for itself to listen
        _help(heap, answering, pieces, work)
    os.close(answering)
    received = _Received[Done](answers)
    left = set(range(len(pieces)))
    try:
        while taken := os.read(heap, 1):
            left.discard(taken[0])
            yield pieces[taken[0]], work(pieces[taken[0]])
            for number, done in received.new(wait=False):
                left.discard(number)
                yield pieces[number], done
        for number, done in received.new(wait=True):
            left.discard(number)
            yield pieces[number], done
    finally:
        os.close(heap)
        os.close(answers)
        if child is not None:
            _end(child)
    for number in sorted(left):
        yield pieces[number], work(pieces[number])


def _end(child: int) -> None:
    """It has nothing more to say, or nobody listens."""
    with contextlib.suppress(OSError):  # where a process is started so that it doesn't hear of the end of others
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _help(heap: int, answering: int, pieces: Sequence[Work], work: Callable[[Work], Done]) -> NoReturn:
    """What the copy does; it ends without a word, and without what a process does at its end, which is the other's."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other is told, too, and ends this one
        while taken := os.read(heap, 1):
            done: Any = work(pieces[taken[0]])
            answer = marshal.dumps((taken[0], done))
            _write(answering, len(answer).to_bytes(_LENGTH, "little") + answer)
        os._exit(0)
    finally:
        os._exit(1)


def _write(to: int, data: bytes) -> None:
    while data:
        data = data[os.write(to, data) :]


class _Received(Generic[Done]):
    """Answers that come through a pipe, each behind its length."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._data = b""

    def new(self, *, wait: bool) -> Iterator[tuple[int, Done]]:
        """Those that are there, or if it should `wait` all that come, each behind the number of its piece."""
        while wait or select.select([self._pipe], [], [], 0)[0]:
            data = os.read(self._pipe, 1 << 16)
            self._data += data
            while len(self._data) >= _LENGTH:
                end = int.from_bytes(self._data[:_LENGTH], "little") + _LENGTH
                if len(self._data) < end:
                    break
                number, done = marshal.loads(self._data[_LENGTH:end])
                self._data = self._data[end:]
                yield number, done
            if not data:
                return


if TYPE_CHECKING:
    from retainlint.checking.worker import Answer
    from retainlint.config import Settings

    File = tuple[str, int]
    """A name, and how many bytes the file has."""


MANY = 500
"""So many files are read by two processes sooner than by one."""


PORTIONS = 200
"""The files are taken in so many portions, by whoever is free."""


def skimmed(names: Sequence[str], digests: bool, both: bool) -> Iterator[tuple[str, int, str | None]]:
    """Each file by its name with the number of its bytes, and None if it may matter or can't be read; of one that doesn't
    the SHA-256, if `digests` are asked for. `both` processes may be used that the machine can run at once."""

    def skim(portion: Sequence[str]) -> list[tuple[int, str | None]]:
        return [_skimmed(name, digests) for name in portion]

    for portion, found in _shared(_portions(names), skim, both and len(names) >= MANY):
        for name, (size, digest) in zip(portion, found):
            yield name, size, digest


def _skimmed(name: str, digests: bool) -> tuple[int, str | None]:
    data = read(name)
    if data is None or linter.may_matter(name, data):
        return len(data or b""), None
    if not digests:
        return len(data), ""
    from hashlib import sha256

    return len(data), sha256(data).hexdigest()


def glanced(
    pending: Sequence[File], settings: Mapping[str, Settings], files: Disk, enough: int, both: bool
) -> Iterator[tuple[File, Answer | None]]:
    """Each file, in any order, with what its check gives if a look at names is enough for that, else None. Behind `enough`
    bytes of files that have to be followed no other is looked at."""
    from retainlint.checking.worker import Answer, answer_of

    left = enough // 2 if both else enough

    def glance(portion: Sequence[File]) -> list[tuple[object, ...] | None]:
        nonlocal left
        answers: list[tuple[object, ...] | None] = []
        for name, size in portion:
            data = read(name) if left > 0 else None
            result = linter.glance(name, data, settings[name], files) if data is not None else None
            answer = answer_of(result, data, "") if result is not None and data is not None else None
            left -= size if answer is None else 0
            answers.append(None if answer is None else tuple(answer))
        return answers

    for portion, found in _shared(_portions(pending), glance, both):
        for file, answer in zip(portion, found):
            yield file, None if answer is None else Answer(*answer)  # type: ignore[arg-type]


def _portions(files: Sequence[Work]) -> list[Sequence[Work]]:
    """Neighbours together, which import the same modules."""
    step = len(files) // PORTIONS + 1
    return [files[at : at + step] for at in range(0, len(files), step)]


def _shared(portions: Sequence[Work], work: Callable[[Work], Done], both: bool) -> Iterable[tuple[Work, Done]]:
    if not both:
        return ((portion, work(portion)) for portion in portions)

    return shared(portions, work)
