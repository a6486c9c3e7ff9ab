"""Applies all fixes of a text until none is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from retainlint.diagnostic import Applicability, Diagnostic, Fix
from retainlint.fixes.advice import Advisor
from retainlint.fixes.edits import moved
from retainlint.fixes.proof import Look, Seen
from retainlint.text.source import Source

ROUNDS = 200
"""How many fixes are applied to one text."""


@dataclass(frozen=True)
class Applied:
    """A fix that was applied, and the finding that it cured, as it was found then."""

    diagnostic: Diagnostic
    fix: Fix


@dataclass(frozen=True)
class Fixed:
    """A text after its fixes: what is seen in it then, what was done, what only more trust would do, and each text that
    was edited for it, as it was and as it is then."""

    seen: Seen
    applied: tuple[Applied, ...]
    held: tuple[Applied, ...] = ()
    changed: tuple[tuple[Source, Source], ...] = ()


def fix_all(
    seen: Seen,
    look: Look,
    unsafe: bool,
    wanted: Callable[[Diagnostic], bool],
    may_edit: Callable[[Source], bool] = lambda _: False,
    changed: Sequence[Source] = (),
) -> Fixed:
    """Apply the fixes of all wanted findings, one after the other; a finding that one of them brings up counts too.

    Texts that were there before end it, so that fixes which undo each other do. Files that `may_edit` lets be edited are,
    beside the text itself; `changed` are those that were edited before.
    """
    applied: list[Applied] = []
    edited: dict[str, Source] = {}
    changed = tuple(changed)
    texts = {frozenset[tuple[str, str]]()}
    advisor = Advisor(seen, look, may_edit, changed)
    while True:  # until a pass over all findings changes nothing
        begun, held, at = len(applied), list[Applied](), _START
        while (diagnostic := _first_behind(at, seen, wanted)) is not None and len(applied) < ROUNDS:
            at = _order(diagnostic)
            found = advisor.fix(diagnostic)
            if found is None:
                continue
            was = {source.name: source for source in found.fix.by_source(diagnostic.primary.span.source)} | edited
            then = _texts(found.after, found.changed, was)
            if not is_applied(found.fix, unsafe) or then in texts:
                held.append(Applied(diagnostic, found.fix))
                continue
            applied.append(Applied(diagnostic, found.fix))
            seen, changed, edited = found.after, found.changed, was
            advisor = Advisor(seen, look, may_edit, changed)
            texts.add(then)
            at = *at[:2], moved(found.fix.edits, at[2]) - 1, ""
        if len(applied) == begun or len(applied) >= ROUNDS:
            now = {each.name: each for each in (*changed, seen.source)}
            return Fixed(seen, tuple(applied), tuple(held), tuple((was, now[name]) for name, was in edited.items()))


def _texts(seen: Seen, changed: Sequence[Source], edited: Mapping[str, Source]) -> frozenset[tuple[str, str]]:
    """The texts that aren't as they were; `edited` are those that a fix has edited, as they were."""
    now = {each.name: each.text for each in (*changed, seen.source)}
    return frozenset((name, text) for name, text in now.items() if name in edited and edited[name].text != text)


_Order: TypeAlias = tuple[bool, str, int, str]

_START: _Order = (False, "", -1, "")


def _first_behind(at: _Order, seen: Seen, wanted: Callable[[Diagnostic], bool]) -> Diagnostic | None:
    """The first wanted finding behind another's place and code."""
    behind = (each for each in seen.diagnostics if _order(each) > at and wanted(each))
    return min(behind, key=_order, default=None)


def _order(diagnostic: Diagnostic) -> _Order:
    """What raises first is cured first: what stands behind it may fail otherwise then."""
    span = diagnostic.primary.span
    return diagnostic.waits is not None, span.source.name, span.start, diagnostic.code


def is_applied(fix: Fix, unsafe: bool) -> bool:
    """Whether `--fix`, or with `unsafe` also `--unsafe-fixes`, writes it."""
    return unsafe or fix.applicability is Applicability.SAFE
