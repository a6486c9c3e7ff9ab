"""The pipeline: bytes to diagnostics, file by file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from retainlint.config import Configs, Settings, nearest
from retainlint.discovery import MissingPath, discover
from retainlint.modules import Disk, Files, Modules
from retainlint.project import Project, may_start_walks, starts_walks
from retainlint.source import Source, Span, UnreadableSource, is_markdown, is_notebook
from retainlint.walks import may_walk, may_walk_in_cells

if TYPE_CHECKING:  # costly to import, and needed only where something is found
    from retainlint.diagnostic import Diagnostic
    from retainlint.fixes.proof import Seen
    from retainlint.incident import Conduct, Gap
    from retainlint.ir import Program
    from retainlint.suppressions import Suppressions

NOT_CHECKED = ("RTL900", "file-not-checked")
UNUSED = "RTL901"
FRAMES = 6
"""How many of the innermost calls are kept of a crash: a recursion that ran away has a thousand."""


@dataclass(frozen=True)
class FileResult:
    """What one file's check gave. `crash` is the traceback of a bug of ours.

    `beyond` are findings whose place lies in a module that the file imports, neither selected nor suppressed so far.
    `lookups` is all that was asked of other files, by their absolute paths: None for what wasn't there.
    """

    name: str
    diagnostics: tuple[Diagnostic, ...] = ()
    crash: str = ""
    gaps: tuple[Gap, ...] = ()
    beyond: tuple[Diagnostic, ...] = ()
    lookups: Mapping[str, str | None] = field(default_factory=dict)


@dataclass
class Result:
    """What a run gave: the findings in order of file, row, column and code."""

    files: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)
    crashes: list[FileResult] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    names: tuple[str, ...] = ()


def check(
    paths: Iterable[str],
    configs: Configs,
    progress: Callable[[int, int], None] | None = None,
    running: Callable[[Sequence[str], Mapping[str, Settings]], Iterable[FileResult]] | None = None,
) -> Result:
    """Check files and trees. `progress` is told after each file how many are done, of how many.

    `running` gives the results of files in any order, by `check_file` or as that would; by default it is one by one.
    Raises MissingPath and ConfigError, before anything is checked.
    """
    found = discover(paths, configs)
    result = Result(files=len(found.files), names=tuple(found.files))
    settings = {name: configs.settings(name) for name in found.files}
    for name, reason in found.unlisted:
        result.diagnostics += _kept([_not_checked(Source(name, ""), reason)], configs.settings(name))
    telling: dict[str, FileResult] = {}
    for done, one in enumerate((running or _one_by_one)(found.files, settings), 1):
        if one.diagnostics or one.gaps or one.beyond:  # of a million files a few thousand
            telling[one.name] = one
        if progress is not None:
            progress(done, len(found.files))
    beyond: list[Diagnostic] = []
    for one in (telling[name] for name in found.files if name in telling):
        result.diagnostics += one.diagnostics
        result.gaps += one.gaps
        beyond += one.beyond
        if one.crash:
            result.crashes.append(one)
    if beyond or len(result.diagnostics) > 1:
        result.diagnostics = _with_beyond(result.diagnostics, beyond, settings)
    return result


def check_given(name: str, data: bytes, configs: Configs) -> Result:
    """Check a text under the name of a file that need not be there; none if exclusion is forced and covers it.

    Raises ConfigError.
    """
    if configs.force_exclude and configs.of_file(name).excludes_anywhere(os.path.abspath(name)):
        return Result()
    one = check_source(name, data, configs.settings(name), Disk())
    return Result(1, sorted(one.diagnostics, key=_order), [one] if one.crash else [], [*one.gaps], (name,))


def _one_by_one(names: Sequence[str], settings: Mapping[str, Settings]) -> Iterator[FileResult]:
    files = Disk()
    for name in names:
        yield check_file(name, settings[name], files)


def check_file(name: str, settings: Settings, files: Files | None = None) -> FileResult:
    """Read and check one file; the modules of its project that it imports are read through `files`, else the disk."""
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        return FileResult(name, _kept([_not_checked(Source(name, ""), error.strerror or str(error))], settings))
    return check_source(name, data, settings, files or Disk())


def check_source(name: str, data: bytes, settings: Settings, files: Files | None = None) -> FileResult:
    """Check one file's bytes. It raises nothing, and what it takes and gives can be pickled.

    The modules that the file imports are read through `files`, and nothing else is; without, they stay unknown.
    """
    modules = Modules(name, files) if files is not None else None
    if (
        not settings.thorough
        and not _may_hold_walk(name, data)
        and not (modules is not None and starts_walks(modules, data))
    ):
        return FileResult(name, lookups=modules.lookups if modules is not None else {})
    try:
        found = _diagnose(name, data, modules, settings.thorough)
        told = [
            d for each in found for d in (_unsuppressed(each, settings) if settings.suppressions else each.diagnostics)
        ]
        gaps, beyond = tuple(g for each in found for g in each.gaps), tuple(d for each in found for d in each.beyond)
        lookups = modules.lookups if modules is not None else {}
        return FileResult(name, _kept(told, settings), gaps=gaps, beyond=beyond, lookups=lookups)
    except Exception as error:  # noqa: BLE001 -- a bug of ours in one file must not hide the other files' findings
        import traceback

        return FileResult(name, (_bug(name, error),), "".join(traceback.format_exception(error, limit=-FRAMES)))


def may_matter(name: str, data: bytes) -> bool:
    """Whether a file's check needs more than a look at its bytes."""
    return _may_hold_walk(name, data) or may_start_walks(data)


def _may_hold_walk(name: str, data: bytes) -> bool:
    return may_walk_in_cells(data) if is_notebook(name) else may_walk(data) or b"\0" in data


@dataclass(frozen=True)
class _Found:
    """All findings of a source, each place and code once, in order; `complete` if all of it could be followed.
    `beyond` are those that it leads to in other files."""

    source: Source
    diagnostics: list[Diagnostic]
    complete: bool = False
    beyond: tuple[Diagnostic, ...] = ()
    gaps: tuple[Gap, ...] = ()
    conduct: Conduct | None = None


def look(source: Source, settings: Settings, files: Files | None = None) -> Seen | None:
    """What is seen in a text that isn't written yet, by all rules that are on or usually are; None if it can't be read."""
    found = _examine(source, Modules(source.name, files or Disk()))
    told = _unsuppressed(found, settings) if settings.suppressions else found.diagnostics
    if any(each.code == NOT_CHECKED[0] for each in told):
        return None
    from retainlint.fixes.proof import Seen
    from retainlint.incident import Conduct
    from retainlint.rules import RULES

    usual = {rule.code for rule in RULES if rule.on_by_default}
    wanted = tuple(each for each in told if each.code in usual or settings.wants(each.code))
    conduct, gaps = found.conduct or Conduct(), tuple(gap.span for gap in found.gaps)
    return Seen(source, wanted, conduct.walks, conduct.leaves, conduct.trained, conduct.slips, gaps)


def _diagnose(name: str, data: bytes, modules: Modules | None, thorough: bool) -> list[_Found]:
    """What is found in each program of a file: it is one, but for Markdown."""
    try:
        if is_notebook(name):
            return [_in_notebook(name, data, modules, thorough)]
        source = Source.decode(name, data)
        if is_markdown(name):
            from retainlint import markdown

            return [_examine(program, modules, thorough) for program in markdown.programs(source)]
    except UnreadableSource as error:
        source = Source(name, "")
        return [_Found(source, [_not_checked(source, error.reason)])]
    return [_examine(source, modules, thorough)]


def _in_notebook(name: str, data: bytes, modules: Modules | None, thorough: bool) -> _Found:
    """A cell that isn't Python doesn't keep the others from being checked, as it doesn't keep a kernel from running."""
    from retainlint import notebook
    from retainlint.incident import Gap
    from retainlint.lowering import LoweringError, lower

    book = notebook.read(name, data)
    if not thorough and not may_walk(book.source.text.encode(errors="replace")):
        return _Found(book.source, [], complete=True)
    broken: list[tuple[Span, LoweringError]] = []
    for span in book.broken:
        try:
            lower(Source(book.source.name, span.text))
        except LoweringError as error:
            broken.append((span, error))
    source = book.without(span for span, _ in broken)
    found = _examine(source, modules, thorough)
    wrong: list[Diagnostic] = []
    gaps: list[Gap] = []
    for span, why in broken:
        if notebook.is_indented(span.text):
            gaps.append(Gap(Span(source, span.start, span.end), "the rows of this cell are all indented"))
        else:
            wrong.append(_not_checked(source, why.reason, span.row + why.row - 1, why.column))
    told = sorted([*wrong, *found.diagnostics], key=_order)
    return replace(found, diagnostics=told, gaps=(*found.gaps, *gaps), complete=found.complete and not broken)


def _examine(source: Source, modules: Modules | None, thorough: bool = False) -> _Found:
    from retainlint.lowering import LoweringError, lower, outline

    outlined = outline(source)
    if not thorough and outlined is not None and not outlined.walks:  # it only speaks of one, in a comment or a text
        if modules is None or not starts_walks(modules, source.text.encode(errors="replace")):
            return _Found(source, [], complete=True)
    try:
        program = lower(source, outlined)
    except LoweringError as error:
        return _Found(source, [_not_checked(source, error.reason, error.row, error.column)])
    from retainlint.symbolic import explore

    project = Project(modules, _imported) if modules is not None else None
    explored = explore(program, project=project, tells_caught=thorough)
    once: dict[tuple[str, int, int, str], Diagnostic] = {}
    if explored.incidents or explored.waste:
        from retainlint.rules import diagnose

        for incident in (*explored.incidents, *explored.waste):
            diagnostic = diagnose(incident)
            once.setdefault(_order(diagnostic), diagnostic)
    told = sorted(once.values(), key=_order)
    own, beyond = [d for d in told if _source(d) is source], tuple(d for d in told if _source(d) is not source)
    return _Found(source, own, not explored.gaps, beyond, tuple(explored.gaps), explored.conduct)


def _imported(source: Source) -> Program | str:
    """A module that a checked file imports, or why it can't be followed."""
    from retainlint.lowering import LoweringError, lower

    try:
        return lower(source)
    except LoweringError as error:
        return error.reason


def _with_beyond(own: list[Diagnostic], beyond: list[Diagnostic], settings: Mapping[str, Settings]) -> list[Diagnostic]:
    """The findings of the files that were asked for, in order, with those that their importers led to: the simplest
    story of each place and code."""
    from retainlint import suppressions

    names = {os.path.abspath(name): name for name in settings} if beyond else {}
    once = {_order(d): d for d in own}
    used: set[tuple[str, int]] = set()
    for diagnostic in sorted(beyond, key=_simplicity):
        source, span = _source(diagnostic), diagnostic.primary.span
        name = names.get(os.path.abspath(source.name))
        if name is None:
            continue
        (covered,), places = suppressions.read(source).split([(diagnostic.code, diagnostic.name, span)])
        if covered and settings[name].suppressions:
            used.update((name, place.start) for place in places)
        elif settings[name].wants(diagnostic.code):
            once.setdefault((name, *_order(diagnostic)[1:]), diagnostic)
    told = (d for d in once.values() if d.code != UNUSED or (_source(d).name, d.primary.span.start) not in used)
    return sorted(told, key=_order)


def _simplicity(diagnostic: Diagnostic) -> tuple[bool, int, int, list[tuple[str, int, int]]]:
    """Sorts stories: errors first, then those that assume least and lead through the fewest files."""
    places = [(label.span.source.name, label.span.start, label.span.end) for label in diagnostic.labels]
    choices = len(diagnostic.witness.choices) if diagnostic.witness is not None else 0
    warning = diagnostic.severity.value == "warning"
    return warning, choices + len(diagnostic.notes), len({place[0] for place in places}), places


def _source(diagnostic: Diagnostic) -> Source:
    return diagnostic.primary.span.source


def _order(diagnostic: Diagnostic) -> tuple[str, int, int, str]:
    span = diagnostic.primary.span
    return span.source.name, span.row, span.column, diagnostic.code


def _kept(diagnostics: Iterable[Diagnostic], settings: Settings) -> tuple[Diagnostic, ...]:
    return tuple(diagnostic for diagnostic in diagnostics if settings.wants(diagnostic.code))


def _unsuppressed(found: _Found, settings: Settings) -> list[Diagnostic]:
    """The findings that no comment beside their primary mark covers, and the comments that cover none (RTL901).

    That counts whatever is selected: a comment is of use if it would be, were its rule on.
    """
    from retainlint import suppressions

    by_source: dict[Source, list[Diagnostic]] = {found.source: []}
    for diagnostic in found.diagnostics:
        by_source.setdefault(diagnostic.primary.span.source, []).append(diagnostic)
    left: list[Diagnostic] = []
    for source, diagnostics in by_source.items():
        comments = suppressions.read(source)
        covered, used = comments.split((d.code, d.name, d.primary.span) for d in diagnostics)
        left += [diagnostic for diagnostic, is_covered in zip(diagnostics, covered) if not is_covered]
        if source is found.source and settings.wants(UNUSED) and suppressions.OURS.search(source.text):
            left += _unused(comments, used, found.complete, settings)
    return sorted(left, key=_order)


def _unused(comments: Suppressions, used: set[Span], complete: bool, settings: Settings) -> Iterator[Diagnostic]:
    """RTL901; of a file that couldn't be followed to its end only the comments that can't be of use anyway."""
    from retainlint import suppressions
    from retainlint.rules import RULES
    from retainlint.rules.rtl901_unused_suppression import UnusedSuppression

    names = {rule.code: rule.name for rule in RULES}
    judged = {code for code in names if complete and settings.wants(code)}
    usual = {rule.code for rule in RULES if rule.on_by_default}
    for one in suppressions.unused(comments, used, names, judged, complete and usual <= judged):
        near = nearest(one.unknown[0], [*names, *names.values()]) if one.unknown else None
        yield UnusedSuppression().tell(
            one.span, one.edit, one.left, useless=one.useless, unknown=one.unknown, misplaced=one.misplaced, near=near
        )


def _not_checked(source: Source, reason: str, row: int | None = None, column: int | None = None) -> Diagnostic:
    """RTL900: a file, or its place that stops us."""
    from retainlint.diagnostic import Diagnostic, Label, Severity

    at = 0
    if source.text and row is not None:
        row = min(max(row, 1), len(source.row_starts))
        at = source.offset(row, min(max(column or 1, 1), len(source.row_text(row)) + 1))
    label = Label(Span(source, at, at), "here" if source.text else "", primary=True)
    return Diagnostic(*NOT_CHECKED, Severity.ERROR, f"not checked: {reason}", (label,))


def _bug(name: str, error: Exception) -> Diagnostic:
    import traceback

    from retainlint.diagnostic import Diagnostic, Label, Severity

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename.rpartition('retainlint/')[2]}:{frames[-1].lineno}" if frames else ""
    what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return Diagnostic(
        *NOT_CHECKED,
        Severity.ERROR,
        f"not checked: internal error{where}: {what}",
        (Label(Span(Source(name, ""), 0, 0), "", primary=True),),
        help="this is a bug in retainlint, not in your code: please report it, with the file if you can",
    )


__all__ = ["FileResult", "MissingPath", "Result", "check", "check_file", "check_source", "look"]
