"""Applies all fixes of a text until none is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from retainlint.diagnostic import Applicability, Diagnostic, Fix
from retainlint.fixes.advice import Advisor
from retainlint.fixes.edits import moved
from retainlint.fixes.proof import Look, Seen

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


def fix_all(seen: Seen, look: Look, unsafe: bool, wanted: Callable[[Diagnostic], bool]) -> Fixed:
    """Apply the fixes of all wanted findings, one after the other; a finding that one of them brings up counts too.

    A text that was there before ends it, so that fixes which undo each other do.
    """
    applied: list[Applied] = []
    texts = {seen.source.text}
    advisor = Advisor(seen, look)
    while True:  # until a pass over all findings changes nothing
        begun, held, at = len(applied), list[Applied](), (-1, "")
        while (diagnostic := _first_behind(at, seen, wanted)) is not None and len(applied) < ROUNDS:
            at = _order(diagnostic)
            found = advisor.fix(diagnostic)
            if found is None:
                continue
            if not is_applied(found.fix, unsafe) or found.after.source.text in texts:
                held.append(Applied(diagnostic, found.fix))
                continue
            applied.append(Applied(diagnostic, found.fix))
            seen = found.after
            advisor = Advisor(seen, look)
            texts.add(seen.source.text)
            at = moved(found.fix.edits, at[0]) - 1, ""
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
