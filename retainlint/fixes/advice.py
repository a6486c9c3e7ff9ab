"""Which help is told first, and which fix is offered: each help that can be tried is, and what proves to cure goes first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from retainlint.diagnostic import Detach, Diagnostic, Fix, Help, KeepGraph
from retainlint.fixes.code import EditableCode, Uneditable
from retainlint.fixes.edits import apart, edited
from retainlint.fixes.proof import Look, Seen, cures
from retainlint.startup.records import replace
from retainlint.text.source import Source

TRIES = 32
"""How many edits are tried for one help; each costs a check of the text."""

STEPS = 100_000
"""How many steps the checks of one text's edits may take together; beyond, its other helps are told untried."""


@dataclass(frozen=True)
class Trial:
    """What came of trying one help: the fix that proved to cure the finding, with what is seen then."""

    fix: Fix
    after: Seen


class Advisor:
    """Tries the helps of one text's findings. `look` is the linter, handed in; `seen` is what it sees in the text."""

    def __init__(self, seen: Seen, look: Look) -> None:
        self._seen, self._look = seen, look
        self._left = STEPS
        self._code: EditableCode | None = None

    def advised(self, diagnostic: Diagnostic) -> Diagnostic:
        """The finding with its helps as they are to be told, the best first, and with its fix.

        What is proven stands before what can't be tried, and nothing that wasn't beside it. Where nothing is proven,
        what would have to be isn't told, if there is anything else to tell.
        """
        if diagnostic.primary.span.source is not self._seen.source or not diagnostic.cures:
            return diagnostic
        trials = [(each, self._try(diagnostic, each)) for each in diagnostic.helps]
        proven = [(help, trial.fix) for help, trial in trials if trial is not None]
        if all(_keeps(help) and help is not diagnostic.helps[0] for help, _ in proven):
            likely = tuple(help for help in diagnostic.helps if not help.needs_proof)
            return replace(diagnostic, helps=likely or diagnostic.helps)
        helps = (*(_told(help, fix) for help, fix in proven), *(help for help in diagnostic.helps if not help.cures))
        kept = [fix for help, fix in proven if not _keeps(help) or help is diagnostic.helps[0]]
        return replace(diagnostic, helps=helps, fix=next(iter(kept), None))

    def fix(self, diagnostic: Diagnostic) -> Trial | None:
        """The fix that `advised` would give, with what is seen in the text that it makes."""
        for help in diagnostic.helps:
            if _keeps(help) and help is not diagnostic.helps[0]:
                continue
            if (trial := self._try(diagnostic, help)) is not None:
                return trial
        return None

    def _try(self, diagnostic: Diagnostic, help: Help) -> Trial | None:
        known: set[str] = {self._seen.source.text}
        if self._left < self._seen.steps:
            return None
        for fix in self._candidates(diagnostic, help):
            if len(known) > TRIES or self._left < self._seen.steps:  # a check of it takes about as much again
                break
            after = _outcome(fix, self._seen.source, known)
            found = self._look(after) if after is not None else None
            if found is None:
                continue
            self._left -= found.steps
            if cures(fix, diagnostic, self._seen, found):
                return Trial(fix, found)
        return None

    def _candidates(self, diagnostic: Diagnostic, help: Help) -> Iterator[Fix]:
        """What could be done, in the order in which a good engineer would try it."""
        if diagnostic.primary.span.source is not self._seen.source or not help.cures:
            return
        from retainlint.fixes.cures import BUILDERS

        try:
            self._code = self._code or EditableCode(self._seen.source)
        except (Uneditable, RecursionError):
            return
        for cure in help.cures:
            fixes = BUILDERS[type(cure)](self._code, cure, diagnostic)
            while True:
                try:
                    yield next(fixes)
                except (
                    StopIteration,
                    Uneditable,
                    RecursionError,
                ):  # the last of what nests deeper than Python's tree bears
                    break


def _outcome(fix: Fix, source: Source, known: set[str]) -> Source | None:
    """The text that a fix makes, if it is one that wasn't tried yet."""
    if not fix.edits or not apart(fix.edits):
        return None
    try:
        after = edited(source, fix.edits)
    except ValueError:
        return None
    if after.text in known:
        return None
    known.add(after.text)
    return after


def _told(help: Help, fix: Fix) -> Help:
    """The help in the words of its fix where that says more: which statement cuts what is carried, and where it stands."""
    is_carried = any(isinstance(cure, Detach) and cure.iteration is not None for cure in help.cures)
    return replace(help, words=fix.message) if is_carried else help


def _keeps(help: Help) -> bool:
    """Whether all that it does is to keep a graph: that mostly hides what is wrong."""
    return all(isinstance(cure, KeepGraph) for cure in help.cures)
