"""Work that this process shares with a copy of itself: each takes from what is left, so that both are done at once."""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NoReturn, TypeVar

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
