"""The process in which documents are checked: one question after the other, each of which can be stopped."""

from __future__ import annotations

import _thread
import contextlib
import gc
import os
import pickle
import signal
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from retainlint.checking import linter
from retainlint.checking.recent import Recent
from retainlint.checking.scheduler import Running
from retainlint.commands import CommandError
from retainlint.commands import fix as fixes
from retainlint.commands.configuring import configured
from retainlint.commands.known import Knowing
from retainlint.commands.working import cache_of
from retainlint.config import ConfigError, Configs, Requested
from retainlint.diagnostic import Diagnostic
from retainlint.project.discovery import MissingPath
from retainlint.startup import process
from retainlint.startup.records import replace
from retainlint.text import is_notebook
from retainlint.text.files import Edited, read
from retainlint.text.source import Source, UnreadableSource
from retainlint.text.writing import replace as write

if TYPE_CHECKING:
    from retainlint.text.files import ModuleStore

NUDGE = 0.05
"""Seconds after which a check that was asked to stop is asked again: it may have been where nothing can be raised."""


class Question(NamedTuple):
    """What is asked: "check" a text under the name of a file, or "fix" all that is safe in it. `texts` are those that
    the editor holds, by absolute path."""

    number: int
    kind: str
    name: str
    data: bytes
    texts: dict[str, bytes]


class Stop(NamedTuple):
    """The answer to a question isn't needed any more."""

    number: int


class Answer(NamedTuple):
    """What came of a question; one that isn't `final` is followed by another, in which the helps were tried. `lookups` are the files on which it
    depends, None if nobody noted them. `fixed` is the text after its fixes. `problem` is written for people."""

    number: int
    final: bool = True
    diagnostics: tuple[Diagnostic, ...] = ()
    lookups: frozenset[str] | None = frozenset()
    fixed: bytes = b""
    problem: str = ""
    crash: str = ""


class Beginning(NamedTuple):
    """What the process is told first: the options of the server, and where the pages of rules are to be written."""

    requested: Requested
    cached: bool
    pages: str


class _Stopped(BaseException):
    """Raised in the midst of a check that isn't needed any more."""


class _Unkept:
    """Lowered modules as they are kept on the disk, but for texts that only an editor holds: each stays for one moment."""

    def __init__(self, store: ModuleStore, unsaved: frozenset[str]) -> None:
        self._store, self._unsaved = store, unsaved

    def find(self, source: Source, digest: str) -> object:
        return None if digest in self._unsaved else self._store.find(source, digest)

    def find_partly(self, source: Source, digest: str) -> object:
        return None if digest in self._unsaved else self._store.find_partly(source, digest)

    def keep(self, found: object, digest: str) -> None:
        if digest not in self._unsaved:
            self._store.keep(found, digest)


class Checks:
    """Answers questions; what one of them has read and lowered of other modules is at hand for the next."""

    def __init__(self, beginning: Beginning) -> None:
        self._begun = beginning
        self._caches: dict[str, Running] = {}
        self._paged: set[str] = set()
        self._recent = Recent()

    def answer(self, question: Question, first: Callable[[Answer], None]) -> Answer:
        """`first` is given what the text alone leads to, before helps are tried and other programs followed."""
        try:
            configs = configured(self._begun.requested)  # read again each time: a change of it counts at once
            if configs.of_file(question.name).excludes_anywhere(os.path.abspath(question.name)):
                return Answer(question.number)
            if question.kind == "fix":
                return self._fixed(question, configs)
            return self._checked(question, configs, first)
        except (CommandError, ConfigError, MissingPath) as error:
            return Answer(question.number, problem=str(error))

    def _checked(self, question: Question, configs: Configs, first: Callable[[Answer], None]) -> Answer:
        lookups: frozenset[str] | None = None
        unsaved = {place: data for place, data in question.texts.items() if not _is_saved(place, data)}

        def shown(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
            return tuple(fixes.fixable(Knowing(configs).unknown([*found]), configs))

        def early(found: linter.FileResult) -> None:
            if found.name == question.name:
                untried = (replace(each, helps=()) for each in found.diagnostics)
                first(Answer(question.number, False, shown(untried)))

        running, listener = self._running(configs), linter.Early(early, self._recent)
        if not unsaved and os.path.isfile(question.name):
            running.early = listener
            result = linter.check([question.name], configs, running=running)
        else:
            files = Edited({**unsaved, os.path.abspath(question.name): question.data}, _store(running, unsaved))
            given = linter.Given(configs, files)
            result = given.check(question.name, question.data, listener)
            lookups = frozenset(given.lookups)
        crash = result.crashes[0].crash if result.crashes else ""
        return Answer(question.number, True, shown(result.diagnostics), lookups, crash=crash)

    def _fixed(self, question: Question, configs: Configs) -> Answer:
        result = linter.Given(configs).check(question.name, question.data)
        shown = Knowing(configs).unknown(result.diagnostics)
        given = fixes.Given(question.name, question.data)
        done = fixes.fix(shown, result.diagnostics, configs, write=True, texts=given)
        return Answer(question.number, fixed=given.data, problem="; ".join(done.wrong))

    def _running(self, configs: Configs) -> Running:
        """The project's cache, if one is wanted, as a run of the command line uses it."""
        if not self._begun.cached:
            return Running(jobs=1)
        directory = configs.here.path("cache-dir") or ""
        if directory not in self._caches:
            self._caches[directory] = Running(cache_of(configs), jobs=1)
        return self._caches[directory]

    def write_pages(self, answer: Answer) -> None:
        """The page of each rule of which something was found, for who follows a finding's link."""
        for code in {each.code for each in answer.diagnostics} - self._paged:
            from retainlint.commands.explain import page_for

            with contextlib.suppress(OSError):
                write(page_of(self._begun.pages, code), page_for(code).encode())
            self._paged.add(code)


def page_of(pages: str, code: str) -> str:
    """The path of a rule's page."""
    return os.path.join(pages, f"{code}.md")


def _is_saved(place: str, data: bytes) -> bool:
    """Whether a file's text is what an editor holds, in whatever bytes."""
    there = read(place)
    if there is None or there == data:
        return there is not None
    try:
        if not is_notebook(place):
            return Source.decode(place, there).text == Source.decode(place, data).text
        from retainlint.text import notebook

        one, two = notebook.read(place, there).source, notebook.read(place, data).source
        return (one.text, one.shown, one.cells) == (two.text, two.shown, two.cells)
    except UnreadableSource:
        return False


def _store(running: Running, unsaved: dict[str, bytes]) -> ModuleStore | None:
    from hashlib import sha256

    store = running.cache.ir_store() if running.cache is not None else None
    return None if store is None else _Unkept(store, frozenset(sha256(data).hexdigest() for data in unsaved.values()))


# -- the process ---------------------------------------------------------------------------------------------------


def frame(message: object) -> bytes:
    """A message with its length before it."""
    data = pickle.dumps(message)
    return struct.pack(">I", len(data)) + data


LENGTH = struct.calcsize(">I")


def length(head: bytes) -> int:
    (found,) = struct.unpack(">I", head)
    return int(found)


class _Process:
    """A thread listens; the checks run in the main thread, which alone can be interrupted."""

    def __init__(self, questions: BinaryIO, answers: BinaryIO) -> None:
        self._questions, self._answers = questions, answers
        self._waiting: deque[Question] = deque()
        self._heard = threading.Condition()
        self._at = 0  # the number of the question that is being answered
        self._unneeded = 0  # the newest that needs no answer
        self._open = True

    def run(self) -> None:
        beginning = self._received()
        if not isinstance(beginning, Beginning):
            return
        signal.signal(signal.SIGINT, self._interrupted)
        for work in (self._listen, self._nudge):
            threading.Thread(target=work, daemon=True).start()
        checks = Checks(beginning)
        linter.prepare()
        gc.freeze()  # what was imported stays, and needn't be looked through after each answer
        while True:
            question = self._next()
            answer = Answer(question.number)
            with contextlib.suppress(_Stopped):  # a second one, while the first is dealt with
                try:
                    self._at = question.number
                    if self._unneeded < question.number:
                        answer = checks.answer(question, self._send)
                    self._at = 0
                except _Stopped:
                    self._at = 0
            self._at = 0
            self._send(answer)
            checks.write_pages(answer)
            if not self._waiting:
                gc.collect()

    def _next(self) -> Question:
        with self._heard:
            while not self._waiting:
                self._heard.wait()
            return self._waiting.popleft()

    def _send(self, answer: Answer) -> None:
        at, self._at = self._at, 0  # half an answer would be worse than one that nobody needs
        self._answers.write(frame(answer))
        self._answers.flush()
        self._at = at

    def _listen(self) -> None:
        message = self._received()
        while message is not None:
            if isinstance(message, Stop):
                self._unneeded = message.number
                self._nudge_once()
            elif isinstance(message, Question):
                with self._heard:
                    self._waiting.append(message)
                    self._heard.notify()
            message = self._received()
        os._exit(0)  # who asked is gone

    def _received(self) -> object:
        head = self._questions.read(LENGTH)
        if len(head) < LENGTH:
            return None
        size = length(head)
        data = self._questions.read(size)
        return pickle.loads(data) if len(data) == size else None

    def _nudge(self) -> None:
        pause = threading.Event()
        while not pause.wait(NUDGE):
            self._nudge_once()

    def _nudge_once(self) -> None:
        if 0 < self._at <= self._unneeded:
            _thread.interrupt_main()

    def _interrupted(self, _number: int, _frame: object) -> None:
        if 0 < self._at <= self._unneeded:
            raise _Stopped


def main() -> None:
    """Answer what comes through standard input; whatever is printed goes to standard error."""
    process.ours = True
    gc.set_threshold(100_000)
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    process.bound_memory()
    _Process(questions, answers).run()
