"""Work given to other processes or machines, in whatever order it comes back."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from typing import Any, TypeVar

from retainlint.startup import process

Work = TypeVar("Work")
Done = TypeVar("Done")

AHEAD = 64
"""So many tasks are handed out at a time: what they carry stays in memory until they are done."""

DASK = "dask://"


class NoExecutor(Exception):
    """There is no such executor, or it can't be reached; the text is written for people."""


@contextlib.contextmanager
def processes(jobs: int) -> Iterator[Executor]:
    """A pool of processes of this machine; whatever stops the run stops them."""
    context = multiprocessing.get_context("fork" if process.forks() else "spawn")
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    pool.shutdown()


def _begin() -> None:
    """Ctrl-C goes to every process of a terminal: the first one stops the others."""
    process.ours = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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
