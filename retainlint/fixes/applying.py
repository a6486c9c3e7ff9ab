"""Builds the fix of a finding, and applies all fixes of a text until none is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from retainlint.diagnostic import Diagnostic
from retainlint.fixes.code import EditableCode, Uneditable
from retainlint.fixes.edits import Applicability, Fix, apart, edited, moved
from retainlint.fixes.proof import Look, Seen, cures
from retainlint.text.source import Source

TRIES = 32
"""How many edits are tried for one finding; each costs a check of the text."""

ROUNDS = 200
"""How many fixes are applied to one text."""


@dataclass(frozen=True)
class Applied:
    """A fix that was applied, and the finding that it cured, as it was found then."""

    diagnostic: Diagnostic
    fix: Fix


@dataclass(frozen=True)
class Fixed:
    """A text after its fixes: what is seen in it then, what was done, and what only more trust would do."""

    seen: Seen
    applied: tuple[Applied, ...]
    held: tuple[Applied, ...] = ()


def fix_of(diagnostic: Diagnostic, seen: Seen, look: Look) -> tuple[Fix, Seen] | None:
    """The first fix of a finding that proves to be one, with what is seen in the text that it makes."""
    known: set[Source | str] = set()
    for tried, fix in enumerate(_candidates(diagnostic, seen.source)):
        if tried == TRIES:
            break
        after = _outcome(fix, seen, known)
        if after is None:
            continue
        found = look(after)
        if found is not None and cures(fix, diagnostic, seen, found):
            return fix, found
    return None


def _outcome(fix: Fix, seen: Seen, known: set[Source | str]) -> Source | None:
    """The text that a fix makes, if it is one that wasn't tried yet."""
    if not fix.edits or not apart(fix.edits):
        return None
    try:
        after = edited(seen.source, fix.edits)
    except ValueError:
        return None
    if after.text == seen.source.text or after.text in known:
        return None
    known.add(after.text)
    return after


def _candidates(diagnostic: Diagnostic, source: Source) -> Iterator[Fix]:
    """What could be done, in the order in which a good engineer would try it."""
    if diagnostic.primary.span.source is not source or not diagnostic.cures:
        return
    from retainlint.fixes.cures import BUILDERS

    try:
        code = EditableCode(source)
    except Uneditable:
        return
    for cure in diagnostic.cures:
        fixes = BUILDERS[type(cure)](code, cure, diagnostic)
        while True:
            try:
                yield next(fixes)
            except (StopIteration, Uneditable):
                break


def fix_all(seen: Seen, look: Look, unsafe: bool, wanted: Callable[[Diagnostic], bool]) -> Fixed:
    """Apply the fixes of all wanted findings, one after the other; a finding that one of them brings up counts too.

    A text that was there before ends it, so that fixes which undo each other do.
    """
    applied: list[Applied] = []
    texts = {seen.source.text}
    while True:  # until a pass over all findings changes nothing
        begun, held, at = len(applied), list[Applied](), (-1, "")
        while (diagnostic := _first_behind(at, seen, wanted)) is not None and len(applied) < ROUNDS:
            at = _order(diagnostic)
            found = fix_of(diagnostic, seen, look)
            if found is None:
                continue
            if not is_applied(found[0], unsafe) or found[1].source.text in texts:
                held.append(Applied(diagnostic, found[0]))
                continue
            applied.append(Applied(diagnostic, found[0]))
            seen = found[1]
            texts.add(seen.source.text)
            at = moved(found[0].edits, at[0]) - 1, ""
        if len(applied) == begun or len(applied) >= ROUNDS:
            return Fixed(seen, tuple(applied), tuple(held))


def _first_behind(at: tuple[int, str], seen: Seen, wanted: Callable[[Diagnostic], bool]) -> Diagnostic | None:
    """The first wanted finding behind another's place and code."""
    behind = (each for each in seen.diagnostics if _order(each) > at and wanted(each))
    return min(behind, key=_order, default=None)


def _order(diagnostic: Diagnostic) -> tuple[int, str]:
    return diagnostic.primary.span.start, diagnostic.code


def is_applied(fix: Fix, unsafe: bool) -> bool:
    """Whether `--fix`, or with `unsafe` also `--unsafe-fixes`, writes it."""
    return unsafe or fix.applicability is Applicability.SAFE
