"""The pipeline: one text to what is found in it."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from retainlint.catalogue import NOT_CHECKED, UNUSED
from retainlint.project.call_index import CallIndex
from retainlint.project.import_resolution import INSTALLED, Modules
from retainlint.project.module_loading import Project
from retainlint.startup.records import record
from retainlint.text import is_markdown, is_notebook
from retainlint.text.files import Changed
from retainlint.text.prefilter import may_backpropagate, may_change_leaves, may_hold_backward, may_keep_graphs
from retainlint.text.source import Source, Span, UnreadableSource

if TYPE_CHECKING:  # costly to import, and needed only where something is found
    from retainlint.config import Settings
    from retainlint.diagnostic import Diagnostic, Identity
    from retainlint.fixes.proof import Seen
    from retainlint.incident import Conduct, Definition, Entry, Gap, Incident
    from retainlint.lowering import LoweringError
    from retainlint.program import Program
    from retainlint.suppressions import Suppressions
    from retainlint.text.files import Files

OURS = ("rtl", "retainlint")
"""In a comment that is ours to judge stands one of these."""


@record
class Found:
    """All findings of a source, each place and code once, in order; `complete` if all of it could be followed.
    `beyond` are those that it leads to in other files; `unrolled` if all iterations of its loops told something else, and `shortened` if
    they weren't run. Of the backward passes in `doubtful` little is known, and of those that are `unjudged` nothing is told."""

    source: Source
    diagnostics: list[Diagnostic]
    complete: bool = False
    beyond: tuple[Diagnostic, ...] = ()
    gaps: tuple[Gap, ...] = ()
    conduct: Conduct | None = None
    steps: int = 0
    unjudged: tuple[Gap, ...] = ()
    entries: tuple[Entry, ...] = ()
    followed: frozenset[Definition] = frozenset()
    unrolled: bool = False
    shortened: bool = False
    doubtful: frozenset[Span] = frozenset()


class Costly(Exception):
    """A check needs more than a look at names."""


def diagnose(
    name: str, data: bytes, modules: Modules | None, thorough: bool = False, *, hasty: bool = False
) -> list[Found]:
    """What is found in each program of a file: it is one, but for Markdown, and none where nothing can be found.

    Raises Costly before a program is lowered, if it is to be `hasty`.
    """
    index = CallIndex(modules, data)
    tells_caught = thorough
    thorough = thorough or ((may_keep_graphs(data) or may_change_leaves(data)) and not may_hold_backward(name, data))
    if not (thorough or may_hold_backward(name, data) or index.starts_backward):
        return []
    try:
        if is_notebook(name):
            return [_in_notebook(name, data, modules, thorough, hasty)]
        source = Source.decode(name, data)
        if is_markdown(name):
            from retainlint.text import markdown

            programs = markdown.programs(source)
            return [_examine(each, _index(each, modules), thorough, hasty=hasty) for each in programs]
    except UnreadableSource as error:
        return [_refused(Source(name, ""), error.reason)]
    again = _index(source, modules)
    return [_examine(source, index if again.data == data else again, thorough, data, hasty, tells_caught)]


def _index(source: Source, modules: Modules | None) -> CallIndex:
    return CallIndex(modules, source.text.encode(errors="replace"))


def prepare() -> None:
    """Import what `diagnose` needs for a file that has to be followed."""
    from retainlint.lowering import prepare

    prepare()
    import retainlint.rules
    import retainlint.symbolic  # noqa: F401


def told(found: Found, settings: Settings) -> list[Diagnostic]:
    """What is to be told of a source, if its rule is on."""
    return _unsuppressed(found, settings) if settings.suppressions else found.diagnostics


def advised(
    found: Found, diagnostics: Sequence[Diagnostic], settings: Settings, files: Files | None
) -> list[tuple[Diagnostic, ...]]:
    """What is to be told of a source, with the helps that prove to cure it first, and its fixes; behind each finding those
    that stand behind it at its place."""
    if not settings.tried or not any(each.cures for each in diagnostics) or is_markdown(found.source.name):
        return [(each,) for each in diagnostics]
    from retainlint.fixes.advice import Advisor

    before = seen(found, settings)
    if before is None:
        return [(each,) for each in diagnostics]

    def look_at(source: Source, changed: Sequence[Source], left_out: Container[Definition]) -> Seen | None:
        return look(source, changed, settings, files, left_out, unrolls=found.unrolled)

    def look_at_all(source: Source, changed: Sequence[Source], left_out: Container[Definition]) -> Seen | None:
        return look(source, changed, settings, files, left_out)

    return Advisor(before, look_at, is_own, look_at_all=look_at_all).advised(diagnostics)


def is_own(source: Source) -> bool:
    """Whether a module is one that a fix may edit: of plain Python, and no installed package's."""
    return not source.cells and not source.shown and INSTALLED.isdisjoint(source.name.split(os.sep))


def look(
    source: Source,
    changed: Sequence[Source],
    settings: Settings,
    files: Files | None,
    left_out: Container[Definition] = (),
    *,
    unrolls: bool = True,
) -> Seen | None:
    """What is seen in a text that isn't written yet; None if it can't be read. What it imports is read through `files`, but
    for those that are `changed`; what is `left_out` isn't run for itself. Unless it `unrolls`, no script is run once more."""
    if files is not None and changed:
        files = Changed(files, changed)
    modules = Modules(source.name, files) if files is not None else None
    return seen(_examine(source, _index(source, modules), left_out=left_out, proves=False, unrolls=unrolls), settings)


def examined(
    source: Source, settings: Settings, files: Files | None, left_out: Container[Definition]
) -> list[Diagnostic]:
    """What is to be told of a text, where what is `left_out` isn't run for itself."""
    modules = Modules(source.name, files) if files is not None else None
    return told(replace(_examine(source, _index(source, modules), left_out=left_out), complete=False), settings)


def seen(found: Found, settings: Settings) -> Seen | None:
    """What is found by all rules that are on or usually are; None of a text that can't be read."""
    every = (*told(found, settings), *found.beyond)
    if any(each.code == NOT_CHECKED for each in every):
        return None
    from retainlint.fixes.proof import Seen
    from retainlint.incident import Conduct
    from retainlint.rules import RULES

    usual = {rule.code for rule in RULES if rule.on_by_default}
    wanted = tuple(each for each in every if each.code in usual or settings.wants(each.code))
    gaps = tuple(gap.span for gap in found.gaps if not gap.spent)
    return Seen(
        found.source,
        wanted,
        found.conduct or Conduct(),
        gaps,
        found.steps,
        found.entries,
        found.doubtful,
        found.unrolled,
        found.shortened,
    )


def _in_notebook(name: str, data: bytes, modules: Modules | None, thorough: bool, hasty: bool) -> Found:
    """A cell that isn't Python doesn't keep the others from being checked, as it doesn't keep a kernel from running."""
    from retainlint.incident import Gap
    from retainlint.lowering import LoweringError, lower
    from retainlint.text import notebook

    book = notebook.read(name, data)
    if not thorough and not may_backpropagate(book.source.text.encode(errors="replace")):
        return Found(book.source, [], complete=True)
    if hasty:
        raise Costly
    broken: list[tuple[Span, LoweringError]] = []
    for span in book.broken:
        try:
            lower(Source(book.source.name, span.text))
        except LoweringError as error:
            broken.append((span, error))
    source = book.without(span for span, _ in broken)
    found = _examine(source, _index(source, modules), thorough)
    wrong: list[Diagnostic] = []
    gaps: list[Gap] = []
    for span, why in broken:
        if notebook.is_indented(span.text):
            gaps.append(Gap(Span(source, span.start, span.end), "the rows of this cell are all indented"))
        else:
            wrong += _refused(source, why.reason, span.row + why.row - 1, why.column).diagnostics
    every = sorted([*wrong, *found.diagnostics], key=_place)
    return replace(found, diagnostics=every, gaps=(*found.gaps, *gaps), complete=found.complete and not broken)


def _examine(
    source: Source,
    index: CallIndex,
    thorough: bool = False,
    data: bytes = b"",
    hasty: bool = False,
    tells_caught: bool | None = None,
    left_out: Container[Definition] = (),
    proves: bool = True,
    unrolls: bool = True,
) -> Found:
    """What is found in a program; `index` is that of its text, and `data` is what the file holds, if that is all of it."""
    if not (index.spells_backward or thorough or index.starts_backward):
        return Found(source, [], complete=True)
    if hasty:
        raise Costly
    from retainlint.lowering import LoweringError, words_in

    try:
        program = _program(source, index, thorough, data, later=bool(left_out))
    except LoweringError as error:
        return _refused(source, error.reason, error.row, error.column)
    if program is None:
        return Found(source, [], complete=True)
    from retainlint.symbolic import explore

    project = Project(index, _imported) if index.modules is not None else None
    tells_caught = thorough if tells_caught is None else tells_caught
    explored = explore(
        program, project=project, tells_caught=tells_caught, left_out=left_out, proves=proves, unrolls=unrolls
    )
    incidents = (*explored.incidents, *explored.waste)
    own, beyond = _diagnosed(incidents, source)
    told = {diagnostic.primary.span for diagnostic in (*own, *beyond)}
    return Found(
        source,
        own,
        not explored.gaps,
        tuple(beyond),
        tuple(explored.gaps),
        explored.conduct,
        max(explored.steps, explored.effort)
        + (words_in(source.text) if incidents else 0),  # a word takes about as long as a step
        tuple(gap for gap in explored.unjudged if gap.span not in told),
        explored.entries,
        explored.followed,
        explored.unrolled,
        explored.shortened,
        frozenset(gap.span for gap in explored.unjudged),
    )


def _diagnosed(incidents: Sequence[Incident], source: Source) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """What is to be told of a text, each place and code once, in order; and of others."""
    once: dict[Identity, Diagnostic] = {}
    if incidents:
        from retainlint.rules import diagnose

        for incident in incidents:
            diagnostic = diagnose(incident)
            if diagnostic.primary.span.source is not source:
                diagnostic = replace(diagnostic, called=_call_to(incident, source))
            once.setdefault(diagnostic.place, diagnostic)
    own: list[Diagnostic] = []
    beyond: list[Diagnostic] = []
    for each in sorted(once.values(), key=_place):
        (own if each.primary.span.source is source else beyond).append(each)
    return own, beyond


def _call_to(incident: Incident, source: Source) -> Span | None:
    """Where a program calls what fails in another module, the innermost such place; None for what doesn't fail."""
    from retainlint.incident import Freed, InferenceUsed, LeafModified, Modified, NoGraph, Refused, ViewModified

    match incident:
        case Freed():
            moment = incident.reused.moment
        case Modified() | NoGraph():
            moment = incident.backward_pass.moment
        case LeafModified() | ViewModified():
            moment = incident.modified
        case InferenceUsed():
            moment = incident.used
        case Refused():
            moment = incident.call
        case _:
            return None
    return next((call for call in reversed(moment.frames) if call.source is source), None)


def _program(source: Source, index: CallIndex, thorough: bool, data: bytes, later: bool) -> Program | None:
    """A program, lowered, its functions `later` if asked; None if no backward pass stands in it, and it starts none. Raises
    LoweringError."""
    from retainlint.lowering import lower, outline

    ir_store, digest = index.modules.files.ir_store if index.modules is not None and data else None, ""
    if ir_store is not None:
        from hashlib import sha256

        digest = sha256(data).hexdigest()
        if (kept := ir_store.find(source, digest)) is not None:
            return kept if thorough or kept.module.backward_passes or index.starts_backward else None
    outlined = outline(source)
    if outlined is not None and not (thorough or outlined.backward_passes or index.starts_backward):
        return None
    program = lower(source, outlined, later=later)
    if outlined is None and not (thorough or program.module.backward_passes or index.starts_backward):
        return None
    if ir_store is not None:
        ir_store.keep(program, digest)
    return program


def _refused(source: Source, reason: str, row: int | None = None, column: int | None = None) -> Found:
    """Of a source that can't be checked, because of what stands at a place."""
    from retainlint.checking.diagnostics import not_checked

    return Found(source, [not_checked(source, reason, row, column)])


def _imported(source: Source) -> Program | str:
    """A module that a checked file imports, or why it can't be followed."""
    from retainlint.lowering import LoweringError, lower_partly

    try:
        return lower_partly(source)
    except LoweringError as error:
        return error.reason


def _unsuppressed(found: Found, settings: Settings) -> list[Diagnostic]:
    """The findings that no comment beside their primary mark covers, and the comments that cover none (RTL901).

    That counts whatever is selected: a comment is of use if it would be, were its rule on.
    """
    source = found.source
    if not found.diagnostics:
        text = source.text.lower()
        if not any(word in text for word in OURS):
            return []
    from retainlint import suppressions

    if not found.diagnostics and not suppressions.OURS.search(source.text):
        return []
    comments = suppressions.read(source)
    covered, used = comments.split((d.code, d.name, d.primary.span) for d in found.diagnostics)
    left = [diagnostic for diagnostic, is_covered in zip(found.diagnostics, covered) if not is_covered]
    if settings.wants(UNUSED) and suppressions.OURS.search(source.text):
        left += _unused(comments, used, found.complete, settings)
    return sorted(left, key=_place)


def _unused(comments: Suppressions, used: set[Span], complete: bool, settings: Settings) -> Iterator[Diagnostic]:
    """RTL901; of a file that couldn't be followed to its end only the comments that can't be of use anyway."""
    from retainlint import suppressions
    from retainlint.config import nearest
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


def _place(diagnostic: Diagnostic) -> Identity:
    return diagnostic.place
