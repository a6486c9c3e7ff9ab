"""When what is checked: the documents of one directory, in a process of its own, the one just changed before all others."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

from retainlint.checking import linter
from retainlint.commands.server.checks import Answer
from retainlint.commands.server.rendering import Document
from retainlint.commands.server.worker import Lost, Worker
from retainlint.config import Settings
from retainlint.diagnostic import Diagnostic

PAUSE = 0.02
"""Seconds without a further change before a text is checked: who types makes one every tenth of a second or so, and a check
that a change comes too late for is stopped."""


class Open:
    """A document with what was found in the text that it has, or had before it was changed."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.found: tuple[Diagnostic, ...] = ()
        self.lookups: frozenset[str] | None = frozenset()
        self.looked = asyncio.Event()
        """Set while `found` is of the text as it is, though its helps may not be tried yet."""
        self.checked = asyncio.Event()
        """Set once they are."""
        self.task: asyncio.Task[None] | None = None

    def depends_on(self, place: str) -> bool:
        return self.lookups is None or place in self.lookups

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Root:
    """The documents below one directory."""

    def __init__(
        self, place: str, worker: Worker, publish: Callable[[Root, Open], None], tell: Callable[[str], None]
    ) -> None:
        """`publish` is called with each document that is checked, `tell` with what went wrong."""
        self.place = place
        self._worker, self._publish, self._tell = worker, publish, tell
        self.documents: dict[str, Open] = {}
        self._turn = asyncio.Lock()
        self._stale: set[str] = set()  # the URIs of those on which a change elsewhere bears
        self._rest: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[None] | None = None

    def warm_up(self) -> None:
        """Start the process before the first document is opened."""
        self._warming = asyncio.create_task(self._worker.start())

    def open(self, document: Document) -> None:
        self.close(document.uri)
        self.documents[document.uri] = Open(document)
        self.changed(document.uri, pause=0)

    def close(self, uri: str) -> None:
        if (gone := self.documents.pop(uri, None)) is not None:
            gone.stop()
            gone.looked.set()
            gone.checked.set()
            self._stale.discard(uri)
            self.touched(gone.document.place)

    def changed(self, uri: str, pause: float = PAUSE) -> None:
        """Check a document once it rests, and then the others that depend on it."""
        one = self.documents[uri]
        one.stop()
        one.looked.clear()
        one.checked.clear()
        self._stale.discard(uri)
        self._mark(one.document.place, but=uri)
        self._stop_rest()
        one.task = asyncio.create_task(self._check(one, pause))

    def touched(self, place: str = "") -> None:
        """A file was changed elsewhere; "" if everything may have changed."""
        self._mark(place)
        self._begin_rest()

    async def is_checked(self, uri: str, tried: bool = True) -> bool:
        """Wait until a document is checked, with helps that were `tried`; False if it was closed meanwhile."""
        while (one := self.documents.get(uri)) is not None:
            event = one.checked if tried else one.looked
            if event.is_set():
                return True
            await event.wait()
        return False

    async def fixed(self, uri: str) -> bytes | None:
        """The bytes of a document after its safe fixes; None if there are none."""
        document = self.documents[uri].document
        data = document.data()
        async with self._turn:
            try:
                answer = await self._worker.ask("fix", self._name(document), data, self._texts())
            except Lost as lost:
                self._tell(f"{document.place}: not fixed: {lost}")
                return None
        if answer.problem:
            self._tell(answer.problem)
        return answer.fixed if answer.fixed not in (b"", data) else None

    def shut(self) -> None:
        for one in self.documents.values():
            one.stop()
        self._stop_rest()
        self._worker.close()

    # -- one after the other ---------------------------------------------------------------------------------------

    def _mark(self, place: str, but: str = "") -> None:
        self._stale |= {
            uri for uri, one in self.documents.items() if uri != but and (not place or one.depends_on(place))
        }

    def _stop_rest(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _begin_rest(self) -> None:
        if self._rest is None or self._rest.done():
            self._rest = asyncio.create_task(self._check_rest())

    async def _check_rest(self) -> None:
        while self._stale:
            uri = self._stale.pop()
            one = self.documents.get(uri)
            if one is None or not one.checked.is_set():  # it will be anyway
                continue
            try:
                await self._check(one, 0)
            except asyncio.CancelledError:
                self._stale.add(uri)
                raise

    async def _check(self, one: Open, pause: float) -> None:
        """Check a document as it is after the pause; whatever happens, nobody waits for ever."""
        try:
            await self._checked(one, pause)
        except Exception as error:  # noqa: BLE001 -- a bug of ours in one document must not keep the others from being told of
            self._tell(f"{one.document.place}: internal error, please report it: {type(error).__name__}: {error}")
            one.looked.set()
            one.checked.set()

    async def _checked(self, one: Open, pause: float) -> None:
        if pause:
            await asyncio.sleep(pause)
        document = one.document
        name = self._name(document)

        def early(answer: Answer) -> None:
            if not any(each.called for each in one.found):  # or what other programs lead to would come and go
                one.found = answer.diagnostics
                one.looked.set()
                self._publish(self, one)

        async with self._turn:
            try:
                answer = await self._worker.ask("check", name, document.data(), self._texts(), early)
            except Lost as lost:
                self._tell(f"{document.place}: not checked: {lost}")
                given_up = linter.given_up(name, str(lost), Settings())
                answer = Answer(0, diagnostics=given_up.diagnostics)
        self._take(one, answer)
        if one.task is asyncio.current_task():
            self._begin_rest()

    def _take(self, one: Open, answer: Answer) -> None:
        if answer.problem:
            self._tell(answer.problem)
        if answer.crash:
            self._tell(answer.crash)
        one.found, one.lookups = answer.diagnostics, answer.lookups
        one.looked.set()
        one.checked.set()
        self._publish(self, one)

    def _name(self, document: Document) -> str:
        """The name that the command line would use in the directory, so that both know of each other's results."""
        with contextlib.suppress(ValueError):  # another drive
            name = os.path.relpath(document.place, self.place)
            if not name.startswith(os.pardir):
                return name
        return document.place

    def _texts(self) -> dict[str, bytes]:
        return {one.document.place: one.document.data() for one in self.documents.values()}
