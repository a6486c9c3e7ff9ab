"""A run: files to what is found in each, and from that to what is told of all of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

from retainlint.project.discovery import MissingPath, discover, holds_projects
from retainlint.text import stubs
from retainlint.text.files import LARGEST, Disk, Listings
from retainlint.text.prefilter import may_hold_backward, may_matter

if TYPE_CHECKING:  # costly to import, and needed only where a file may matter
    from retainlint.cache.ignore_cache import Answers
    from retainlint.checking.recent import Recent
    from retainlint.config import Configs, Settings
    from retainlint.diagnostic import Diagnostic
    from retainlint.incident import Definition, Gap
    from retainlint.text.files import Files

    class Progress(Protocol):
        """Whoever is told how far a run is."""

        def __call__(self, done: int, total: int, found: int) -> None:
            """After each file: how many are done, of how many, and how many findings there are so far."""

        def left(self, share: float) -> None:
            """How much of the work is left that has to be done, as is told from the files' sizes; 1 as it begins."""

        def at(self, names: Sequence[str]) -> None:
            """The files that are in work now, the longest first."""

        def close(self) -> None:
            """Nothing more is told."""


FRAMES = 6
"""How many of the innermost calls are kept of a crash: a recursion that ran away has a thousand."""

_NO_LOOKUPS: Mapping[str, str | None] = {}


class FileResult(NamedTuple):
    """What one file's check gave. `crash` is the traceback of a bug of ours.

    `beyond` are findings whose place lies in a module that the file imports, neither selected nor suppressed so far.
    `unjudged` counts the backward passes of the file among the `gaps`, which are only kept where they are asked for.
    `lookups` is all that was asked of other files, by their absolute paths: None for what wasn't there. `entries` are what
    was run of it, with the steps that took, `followed` what it called of other files; `seconds` is what its check took where
    that was timed, and `came` how it came without one.
    """

    name: str
    diagnostics: tuple[Diagnostic, ...] = ()
    crash: str = ""
    gaps: tuple[Gap, ...] = ()
    beyond: tuple[Diagnostic, ...] = ()
    lookups: Mapping[str, str | None] = _NO_LOOKUPS
    unjudged: int = 0
    entries: tuple[tuple[str, int], ...] = ()
    followed: tuple[Definition, ...] = ()
    seconds: float = 0.0
    came: str = ""


SKIPPED, KEPT = "skipped", "kept"
"""How a result came that needed no check: nothing in the file leads to a backward pass, or an earlier run has it."""

SLOW = 1.0
"""Seconds after which a file is named by `--verbose`."""


class Early(NamedTuple):
    """Who wants to know what was found in a file as soon as it is; with `recent`, even before all of it was run."""

    tell: Callable[[FileResult], None]
    recent: Recent | None = None


class Result:
    """What a run gave: the findings in order of file, row, column and code; and how, for who wants to know."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = tuple(names)
        self.came = {SKIPPED: 0, KEPT: 0, "": 0}
        self.slow: list[FileResult] = []
        self.seconds = 0.0
        """Of work, added up over all processes."""
        self.looking = 0.0
        """Seconds that it took to find the files."""
        self.left_out: dict[str, list[str]] = {}
        self.leading = 0
        """How many other programs were followed as they lead to these files."""
        self.diagnostics: list[Diagnostic] = []
        self.crashes: list[FileResult] = []
        self.gaps: list[Gap] = []
        self.unjudged = 0

    @property
    def files(self) -> int:
        """How many were checked."""
        return len(self.names)

    def note(self, one: FileResult) -> None:
        """Count how a result came."""
        self.came[one.came] += 1
        self.seconds += one.seconds
        if one.seconds > SLOW:
            self.slow.append(one._replace(diagnostics=(), beyond=(), gaps=(), lookups=_NO_LOOKUPS))

    def add(self, one: FileResult) -> None:
        """Take over what was found in a file, but for what lies beyond it."""
        self.diagnostics += one.diagnostics
        self.gaps += one.gaps
        self.unjudged += one.unjudged
        if one.crash:
            self.crashes.append(one)


class World:
    """Some files as one program: what runs for itself in one of them, but was followed from another, is called as that
    calls it, and no other call of it is assumed; where both fail at one place, that is told as another's calls lead there."""

    def __init__(self, results: Iterable[FileResult]) -> None:
        self._followed: dict[str, set[str]] = {}
        self._told: set[tuple[str, int, int, str]] = set()
        results = [*results]
        for one in results:
            for name, qualified in one.followed:
                self._followed.setdefault(os.path.abspath(name), set()).add(qualified)
        self._told.update(_known(each) for one in results for each in self.closed(one).beyond)

    def closed(self, one: FileResult) -> FileResult:
        """A file's result without what fails only where a call is assumed that nobody makes."""
        known = self._followed.get(os.path.abspath(one.name), ())
        if not (known or self._told):
            return one
        own = tuple(d for d in one.diagnostics if not d.alone or not (d.alone in known or _known(d) in self._told))
        return one._replace(diagnostics=own, beyond=tuple(d for d in one.beyond if not d.alone or d.alone not in known))


def _known(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    name, row, column, _, code = diagnostic.place
    return os.path.abspath(name), row, column, code


def check(
    paths: Iterable[str],
    configs: Configs,
    progress: Progress | None = None,
    running: Callable[[Sequence[str], Mapping[str, Settings], Listings], Iterable[FileResult]] | None = None,
    answers: Callable[[str], Answers] | None = None,
) -> Result:
    """Check files and trees. `progress` is told how far it is.

    `running` gives the results of files in any order, by `check_file` or as that would; by default it is one by one.
    `answers` gives what is known of what is ignored in a tree. Raises MissingPath and ConfigError, before anything is checked.
    """
    begun = time.perf_counter()
    found = discover(paths, configs, answers)
    result = Result(found.files)
    result.looking, result.left_out = time.perf_counter() - begun, found.left_out
    many = 0
    settings = {name: configs.settings(name) for name in found.files}
    for name, reason in found.unlisted:
        result.diagnostics += _unchecked(name, reason, configs.settings(name))
    telling: dict[str, FileResult] = {}
    for done, one in enumerate((running or _one_by_one)(found.files, settings, found.listings), 1):
        if one.diagnostics or one.gaps or one.beyond or one.unjudged or one.followed:  # of a million a few thousand
            telling[one.name] = one
        result.note(one)
        if progress is not None:
            many += len(one.diagnostics)
            progress(done, len(found.files), many)
    others = _leading_to(found.files, filter(os.path.isdir, paths), configs, Disk(listings=found.listings))
    settled = {name: configs.settings(name) for name in others}
    result.leading = len(others)
    leading = [*(running or _one_by_one)(others, settled, found.listings)] if others else []
    own = [telling[name] for name in found.files if name in telling]
    world = World((*own, *leading))
    for one in map(world.closed, own):
        result.add(one)
    beyond = [each for one in (*own, *leading) for each in world.closed(one).beyond]
    result.seconds += sum(one.seconds for one in leading)
    if beyond or len(result.diagnostics) > 1:
        from retainlint.checking.diagnostics import joined

        result.diagnostics = joined(result.diagnostics, beyond, settings)
    if progress is not None:
        progress.close()
    return result


def _leading_to(names: Sequence[str], trees: Iterable[str], configs: Configs, files: Disk) -> list[str]:
    """The other files of a project that lead to some, if a check of the whole project would take them. Of what lies in one
    of these trees with all of its project there are none."""
    whole = tuple(os.path.join(os.path.abspath(tree), "") for tree in trees if holds_projects(tree))
    if whole:
        names = [name for name in names if not os.path.abspath(name).startswith(whole)]
    if not any(may_hold_backward(name, files.read(os.path.abspath(name)) or b"") for name in names):
        return []  # which is most often so, and needs no imports
    from retainlint.project.importers import Importers

    return Importers(files, configs).leading_to(names)


class Given:
    """Checks texts under the names of files that need not be there, with the programs that lead to them; what is read and
    found for one is remembered for the next."""

    def __init__(self, configs: Configs, files: Disk | None = None) -> None:
        """`files` is how all others are read, and the texts themselves where they are to count for the programs that lead to
        them: by default only what is on the disk does."""
        self._configs = configs
        from retainlint.project.importers import Importers

        self._files = files or Disk()
        self._is_own = files is None
        self._importers = Importers(self._files, configs)
        self._found: dict[str, FileResult] = {}
        self.lookups: set[str] = set()
        """The files that were read, or looked for in vain."""

    def check(self, name: str, data: bytes, early: Early | None = None, also: Iterable[str] = ()) -> Result:
        """No finding if exclusion is forced and covers it. What the programs `also` lead to counts, too. Raises ConfigError."""
        configs = self._configs
        if configs.force_exclude and configs.of_file(name).excludes_anywhere(os.path.abspath(name)):
            return Result()
        result = Result((name,))
        own = check_timed(name, data, configs.settings(name), Disk() if self._is_own else self._files, early)
        result.note(own if may_matter(name, data) else own._replace(came=SKIPPED))
        self.lookups.update(own.lookups)
        is_known = (Disk() if self._is_own else self._files).read(os.path.abspath(name)) == data
        others = self._importers.leading_to((name,)) if is_known else []
        others = [*dict.fromkeys((*others, *also))]
        leading = [self._of(other) for other in others]
        world = World((own, *leading))
        result.add(world.closed(own))
        beyond = [each for one in (*leading, own) for each in world.closed(one).beyond]
        if beyond:
            from retainlint.checking.diagnostics import joined

            result.diagnostics = joined(result.diagnostics, beyond, {name: configs.settings(name)})
        return result

    def _of(self, name: str) -> FileResult:
        if name not in self._found:
            data = self._files.read(os.path.abspath(name))
            settings = self._configs.settings(name)
            found = FileResult(name) if data is None else check_source(name, data, settings, self._files)
            self._found[name] = found
            self.lookups.update(found.lookups, (os.path.abspath(name),))
        return self._found[name]


def _one_by_one(names: Sequence[str], settings: Mapping[str, Settings], listings: Listings) -> Iterator[FileResult]:
    files = Disk(listings=listings)
    for name in names:
        yield check_file(name, settings[name], files)


def check_file(name: str, settings: Settings, files: Files | None = None) -> FileResult:
    """Read and check one file; the modules of its project that it imports are read through `files`, else the disk."""
    try:
        with open(name, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        return FileResult(name, _unchecked(name, error.strerror or str(error), settings))
    if len(data) > LARGEST:
        return FileResult(name, _unchecked(name, f"the file is too large: more than {LARGEST:,} bytes", settings))
    return check_source(name, data, settings, files or Disk())


def glance(name: str, data: bytes, settings: Settings, files: Files | None = None) -> FileResult | None:
    """What `check_source` gives of a file that may matter, if a look at names is enough for that; None if it has to be
    followed."""
    from retainlint.checking.pipeline import Costly

    try:
        return _check(name, data, settings, files, hasty=True)
    except Costly:
        return None


def check_source(
    name: str, data: bytes, settings: Settings, files: Files | None = None, early: Early | None = None
) -> FileResult:
    """Check one file's bytes. It raises nothing, and what it takes and gives can be pickled.

    The modules that the file imports are read through `files`, and nothing else is; without, they stay unknown. `early` is
    given what was found before its helps are tried, which takes most of the time where there are any.
    """
    return _check(name, data, settings, files, early=early)


def check_timed(
    name: str, data: bytes, settings: Settings, files: Files | None = None, early: Early | None = None
) -> FileResult:
    """What `check_source` gives, which depends on nothing else, and the `seconds` that this took, which do."""
    begun = time.perf_counter()
    return check_source(name, data, settings, files, early)._replace(seconds=time.perf_counter() - begun)


def _check(
    name: str,
    data: bytes,
    settings: Settings,
    files: Files | None,
    *,
    hasty: bool = False,
    early: Early | None = None,
) -> FileResult:
    """Raises Costly where more than a look at names is needed, if it is to be `hasty`."""
    stubs.use(settings.stubs)
    if not (settings.thorough or hasty or may_matter(name, data)):
        return FileResult(name)
    from retainlint.checking import pipeline
    from retainlint.project.import_resolution import Modules

    modules = Modules(name, files) if files is not None else None
    try:
        recent = early.recent if early is not None else None
        if early is not None and recent is not None:
            glimpsed = recent.glimpse(name, data, settings, files)
            if glimpsed is not None:
                early.tell(FileResult(name, _wanted(glimpsed, settings)))
        found = pipeline.diagnose(name, data, modules, settings.thorough, hasty=hasty)
        if recent is not None:
            recent.keep(name, found)
        wanted = [(each, _wanted(pipeline.told(each, settings), settings)) for each in found]
        if early is not None and any(diagnostic.cures for _, own in wanted for diagnostic in own):
            early.tell(FileResult(name, tuple(diagnostic for _, own in wanted for diagnostic in own)))
        told: list[Diagnostic] = []
        beyond: list[Diagnostic] = []
        for each, own in wanted:
            both = pipeline.advised(each, (*own, *each.beyond), settings, files)
            told += chain.from_iterable(both[: len(own)])
            beyond += chain.from_iterable(both[len(own) :])
        gaps = tuple(g for each in found for g in (*each.gaps, *each.unjudged))
        lookups = modules.lookups if modules is not None else _NO_LOOKUPS
        unjudged = len({g.span for g in gaps if g.backward and g.span.source.name == name})
        entries = tuple((entry.start[1], entry.steps) for each in found for entry in each.entries)
        followed = tuple(sorted({each for one in found for each in one.followed}))
        return FileResult(name, tuple(told), "", gaps, tuple(beyond), lookups, unjudged, entries, followed)
    except pipeline.Costly:
        raise
    except Exception as error:  # noqa: BLE001 -- a bug of ours in one file must not hide the other files' findings
        from retainlint.checking.diagnostics import bug, report

        return FileResult(name, (bug(name, error),), report(error, FRAMES))


def given_up(name: str, reason: str, settings: Settings) -> FileResult:
    """The result of a file whose check had to be ended from outside: a bug of ours."""
    from retainlint.checking.diagnostics import ended

    return FileResult(name, _wanted([ended(name, reason)], settings), f"{reason}\n")


def prepare() -> None:
    """Import what following a file needs: once, before a process is split in several that would each import it."""
    from retainlint.checking import pipeline

    pipeline.prepare()


def _unchecked(name: str, reason: str, settings: Settings) -> tuple[Diagnostic, ...]:
    from retainlint.checking.diagnostics import not_checked
    from retainlint.text.source import Source

    return _wanted([not_checked(Source(name, ""), reason)], settings)


def _wanted(diagnostics: Iterable[Diagnostic], settings: Settings) -> tuple[Diagnostic, ...]:
    return tuple(diagnostic for diagnostic in diagnostics if settings.wants(diagnostic.code))


__all__ = [
    "Early",
    "FileResult",
    "Given",
    "MissingPath",
    "Result",
    "check",
    "check_file",
    "check_source",
    "check_timed",
    "glance",
    "may_matter",
    "prepare",
]
