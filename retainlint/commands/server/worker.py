"""The server's side of the process that checks: questions go out, answers come back, and what isn't needed is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from pathlib import Path

from retainlint.checking.watched import FILE_SECONDS
from retainlint.commands.server.checks import LENGTH, Answer, Beginning, Question, Stop, frame, length

GRACE = 2.0
"""Seconds in which a check that was asked to stop must have done so, or its process is ended."""

_BOOT = """\
import sys
sys.path[:1] = [place for place in sys.path[:1] if place]
sys.path.append({place!r})
from retainlint.commands.server.checks import main
main()
"""
"""The directory that is checked is no place to import from: nothing in it is run."""


class Lost(Exception):
    """The process ended, or had to be ended, before it answered; the text is written for people."""


class Worker:
    """One process, started when it is first asked, and again after it was lost."""

    def __init__(self, directory: str, beginning: Beginning) -> None:
        self._directory, self._beginning = directory, beginning
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._early: dict[int, Callable[[Answer], None]] = {}
        self._starting = asyncio.Lock()

    async def ask(
        self, kind: str, name: str, data: bytes, texts: dict[str, bytes], early: Callable[[Answer], None] | None = None
    ) -> Answer:
        """The answer; `early` is given one that others follow. Cancelled, the check stops. Raises Lost."""
        process = await self._running()
        self._number += 1
        number = self._number
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        if early is not None:
            self._early[number] = early
        self._tell(process, Question(number, kind, name, data, texts))
        try:
            return await asyncio.wait_for(asyncio.shield(future), FILE_SECONDS)
        except asyncio.CancelledError:
            self._tell(process, Stop(number))
            asyncio.get_running_loop().call_later(GRACE, self._end, process, number)
            raise
        except asyncio.TimeoutError as error:
            self._end(process, number)
            raise Lost(f"it takes more than {FILE_SECONDS} seconds") from error
        finally:
            self._early.pop(number, None)

    async def start(self) -> None:
        """Have the process begin with what it needs for any check."""
        await self._running()

    def close(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def _running(self) -> Process:
        async with self._starting:
            if self._process is None or self._process.returncode is not None or self._reading is None:
                above = str(Path(__file__).resolve().parents[3])
                boot = _BOOT.format(place=above)
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, "-c", boot, cwd=self._directory, stdin=PIPE, stdout=PIPE
                )
                self._reading = asyncio.create_task(self._read(self._process))
                self._tell(self._process, self._beginning)
            return self._process

    def _tell(self, process: Process, message: object) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):  # it is gone, which is seen when it is read from
            process.stdin.write(frame(message))

    def _end(self, process: Process, number: int) -> None:
        """End a process that is still at this question."""
        if number in self._waiting and process.returncode is None:
            process.kill()

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                head = await process.stdout.readexactly(LENGTH)
                answer: Answer = pickle.loads(await process.stdout.readexactly(length(head)))
                if not answer.final:
                    if (early := self._early.get(answer.number)) is not None:
                        early(answer)
                elif not (future := self._waiting.pop(answer.number)).done():
                    future.set_result(answer)
        lost, self._waiting, self._reading = self._waiting, {}, None  # what is asked from now on is asked of another
        code = await process.wait()
        for future in lost.values():
            if not future.done():
                future.set_exception(Lost(f"the process that checked it ended with exit code {code}"))
                future.exception()  # nobody may wait any more
