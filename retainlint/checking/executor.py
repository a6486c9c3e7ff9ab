"""Work given to other processes or machines, in whatever order it comes back."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from itertools import islice
from typing import Any, TypeVar

from retainlint.startup import process

Work = TypeVar("Work")
Done = TypeVar("Done")

AHEAD = 64
"""So many tasks are handed out at a time: what they carry stays in memory until they are done."""

AT_A_TIME = 3
"""The same of work that is shared with a copy of this process: enough to keep it busy."""

DASK = "dask://"


class NoExecutor(Exception):
    """There is no such executor, or it can't be reached; the text is written for people."""


@contextlib.contextmanager
def processes(jobs: int, work: Callable[..., Any] | None = None) -> Iterator[Executor]:
    """A pool of processes of this machine; whatever stops the run stops them. They know the `work` that is given to
    `_work`, whatever it is, if they are forked."""
    context = multiprocessing.get_context("fork" if process.forks() else "spawn")
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, context, _begin, (work,))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
            child.join()
        pool.shutdown()  # its thread ends now, without which no process can be forked
        raise
    pool.shutdown()


_given: Callable[..., Any] | None = None


def _begin(work: Callable[..., Any] | None) -> None:
    """Ctrl-C goes to every process of a terminal: the first one stops the others. If that is killed, they end."""
    global _given
    process.ours, _given = True, work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent()


def end_with_parent() -> None:
    """Have this process end when the one that started it does, however that is."""

    def end() -> None:
        if (parent := multiprocessing.parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _work(piece: Any) -> Any:
    assert _given is not None
    return _given(piece)


def shared(pieces: Iterable[Work], work: Callable[[Work], Done]) -> Generator[tuple[Work, Done], None, None]:
    """Each piece with what comes of it, in any order, by this process and a copy of it. What the copy loses is done here,
    all of it where there can't be one. Only where `process.forks` says so."""
    left, given = iter(pieces), deque[tuple[Work, "Future[Done] | None"]]()
    with processes(1, work) as pool:
        for piece in left:
            given += ((other, _submitted(pool, other)) for other in islice(left, AT_A_TIME - len(given)))
            yield piece, work(piece)
            while given and (given[0][1] is None or given[0][1].done()):
                yield _received(*given.popleft(), work)
        while given:
            yield _received(*given.popleft(), work)


def _submitted(pool: Executor, piece: Work) -> Future[Any] | None:
    """None if there is no other process, or none any more."""
    with contextlib.suppress(OSError, RuntimeError):
        return pool.submit(_work, piece)
    return None


def _received(piece: Work, future: Future[Done] | None, work: Callable[[Work], Done]) -> tuple[Work, Done]:
    return piece, work(piece) if future is None or future.exception() is not None else future.result()


def spread(
    pool: Executor, function: Callable[[Work], Done], work: Iterable[Work]
) -> Iterator[tuple[Work, Done | None]]:
    """Each piece of work with what came of it, None if it was lost: its worker died, or couldn't be reached."""
    waiting: dict[Future[Done], Work] = {}
    ahead = iter(work)
    while True:
        for piece in ahead:
            try:
                waiting[pool.submit(function, piece)] = piece
            except Exception:  # noqa: BLE001 -- each kind of pool has errors of its own for being broken
                yield piece, None
            if len(waiting) >= AHEAD:
                break
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            piece = waiting.pop(future)
            yield piece, None if future.cancelled() or future.exception() is not None else future.result()


@contextlib.contextmanager
def named(name: str) -> Iterator[Executor | None]:
    """The pool of that name: None for `local`; `dask://HOST:PORT` for a scheduler of Dask's. Raises NoExecutor."""
    if name in ("", "local"):
        yield None
        return
    if not name.startswith(DASK):
        raise NoExecutor(f"there is no executor '{name}'; write local or {DASK}HOST:PORT")
    try:
        import distributed
    except ImportError as error:
        raise NoExecutor(f"{name} needs Dask: pip install 'retainlint[dask]'") from error
    try:
        connect: Callable[..., Any] = distributed.Client
        client = connect(name.replace(DASK, "tcp://", 1), set_as_default=False, timeout="10s")
    except (OSError, ValueError) as error:
        raise NoExecutor(f"{name} can't be reached: {error}") from error
    with client:
        yield client.get_executor(pure=False)
