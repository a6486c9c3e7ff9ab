"""Which help is told first, and which fix is offered: each help that can be tried is, and what proves to cure goes first."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, islice, zip_longest

from retainlint import diagnostic as cures
from retainlint.diagnostic import Cure, Diagnostic, Fix, Help, Identity, Severity
from retainlint.fixes import proof
from retainlint.fixes.code import EditableCode, Uneditable
from retainlint.fixes.edits import apart, edited, told_before, told_from
from retainlint.fixes.proof import Look, Seen
from retainlint.fixes.scope import beyond_reach
from retainlint.incident import Definition
from retainlint.startup.records import replace
from retainlint.text.source import Source, Span

TRIES = 32
"""How many edits are tried for one help; each costs a check of the text."""

STEPS = 120_000
"""How many steps all checks of one text may take together, its own and those of its edits; beyond, its other helps are told
untried."""

LEAST = 4
"""How many edits are tried of a text that takes most of that itself, unless they take three times as much."""


@dataclass(frozen=True)
class Trial:
    """What came of trying one help: the fix that proved to cure the finding, with what is seen then, and the other files
    as they are then; `partly` if the graph is still reached by another way, or is kept for nothing, or more is cut than is meant. `cured` are the errors that are gone; `whole` if
    nothing was left out."""

    fix: Fix
    after: Seen
    changed: tuple[Source, ...] = ()
    partly: bool = False
    cured: int = 0
    whole: bool = True


def _by_name(*sources: Source) -> dict[str, Source]:
    return {each.name: each for each in sources}


def _texts_of(*sources: Source) -> frozenset[tuple[str, str]]:
    return frozenset((each.name, each.text) for each in sources)


class Advisor:
    """Tries the helps of one text's findings. `look` is the linter, handed in; `seen` is what it sees in the text where
    other files are `changed`. Of these it edits those that `may_edit` lets it. `look_at_all`, in which all iterations of a
    script are run, tells what stands behind a fix."""

    def __init__(
        self,
        seen: Seen,
        look: Look,
        may_edit: Callable[[Source], bool],
        changed: Sequence[Source] = (),
        look_at_all: Look | None = None,
    ) -> None:
        self._seen, self._look, self._may_edit, self._changed = seen, look, may_edit, tuple(changed)
        self._look_at_all = look_at_all
        self._left = max(STEPS - seen.steps, min(LEAST * seen.steps, 3 * STEPS))
        self._parts: dict[frozenset[Definition], Seen | None] = {}
        self._codes: dict[Source, EditableCode | None] = {}
        self._refused: set[Help] = set()
        self._kept: dict[Identity, Trial] = {}
        """The trials of the fixes that are told, by the places of their findings."""
        self._left_behind: dict[Identity, Seen | None] = {}
        """All that is seen once one of these was applied."""
        self._passed = {_texts_of(seen.source, *changed)}
        """The texts that the fixes ahead of this one have made: what leads back to one of them leads nowhere."""

    def advised(self, diagnostics: Sequence[Diagnostic]) -> list[tuple[Diagnostic, ...]]:
        """What is to be told of each finding; nothing of one that is cured with what raises before it."""
        told = [() if self._is_cured_before(each) else self._advised(each) for each in diagnostics]
        return [() if self._is_cured_before(each) else own for each, own in zip(diagnostics, told)]

    def _advised(self, diagnostic: Diagnostic) -> tuple[Diagnostic, ...]:
        """The finding with its helps as they are to be told, the best first, and with its fix; then those that the program
        comes to once the first help is followed.

        Beside what is proven nothing else is told. Where nothing is, what would have to be and what the run has refused
        isn't told either, if there is anything else to tell.
        """
        if not diagnostic.cures:
            return (diagnostic,)
        proven = self._proven(diagnostic, diagnostic.helps)
        if not any(_is_told(diagnostic, help) for help, _ in proven):
            likely = tuple(help for help in diagnostic.helps if not help.needs_proof) or diagnostic.helps
            bearable = tuple(help for help in likely if help not in self._refused)
            return (replace(diagnostic, helps=bearable or likely),)
        helps = tuple(_told(help, trial.fix) for help, trial in proven)
        kept = next((trial for help, trial in proven if _is_told(diagnostic, help)), None)
        if kept is not None:
            self._kept[diagnostic.place] = kept
        first = replace(diagnostic, helps=helps, fix=None if kept is None else kept.fix)
        return first, *self._behind(diagnostic, proven[0][1])

    def _is_cured_before(self, diagnostic: Diagnostic) -> bool:
        """Whether the fix of what raises before a finding leaves nothing of it: the program doesn't fail there after that."""
        known = (
            each for each in self._seen.diagnostics if each.primary.span == diagnostic.waits and each.waits is None
        )
        for first in known:
            trial = self._kept.get(first.place)
            if trial is None or trial.partly:
                continue
            if first.place not in self._left_behind:  # one more check, whatever the helps have taken
                self._left_behind[first.place] = self._all_behind(trial, unrolled=trial.after.shortened)
            after = self._left_behind[first.place]
            if after is not None and not proof.remains(trial.fix, first, diagnostic, after):
                return True
        return False

    def _all_behind(self, trial: Trial, *, unrolled: bool) -> Seen | None:
        """All that is seen behind a trial, with all iterations if it is to be `unrolled`."""
        look = self._look_at_all if unrolled else None
        if trial.whole and look is None:
            return trial.after
        return (look or self._look)(trial.after.source, trial.changed, ())

    def _behind(self, diagnostic: Diagnostic, trial: Trial) -> Iterator[Diagnostic]:
        """What fails behind a trial, with what is to be done about it there."""

        def fails(seen: Seen | None) -> list[Diagnostic]:
            if seen is None:
                return []
            come = {id(each) for each in proof.come_to(trial.fix, diagnostic, self._seen, seen)}
            self._left -= len(seen.diagnostics)
            return [
                each
                for each in seen.diagnostics
                if id(each) in come or proof.is_behind(trial.fix, diagnostic, each, partly=True)
            ]

        is_seen = bool(fails(trial.after))
        look_at_all = self._look_at_all if trial.after.shortened and not is_seen else None
        if not is_seen and look_at_all is None:
            return
        after: Seen | None = trial.after
        if look_at_all is not None or not trial.whole:
            if self._left < self._seen.steps:
                return
            after = self._all_behind(trial, unrolled=look_at_all is not None)
            self._left -= 0 if after is None else after.steps
        if after is not None and _texts_of(after.source, *trial.changed) not in self._passed:
            advisor = Advisor(after, look_at_all or self._look, self._may_edit, trial.changed, self._look_at_all)
            advisor._left = self._left
            advisor._passed |= self._passed
            for each in fails(after):
                for told in advisor._advised(each):
                    yield told_before(told, trial.fix, diagnostic)
            self._left = advisor._left

    def fix(self, diagnostic: Diagnostic) -> Trial | None:
        """The fix that `advised` would give, with what is seen in the text that it makes."""
        kept = [each for each in diagnostic.helps if _is_told(diagnostic, each)]
        return next((trial for _, trial in self._proven(diagnostic, kept, whole=True)), None)

    def _proven(
        self, diagnostic: Diagnostic, helps: Sequence[Help], *, whole: bool = False
    ) -> list[tuple[Help, Trial]]:
        """The helps that cure it, the best first; where one of them cures other errors, too, those that do."""
        proven: list[tuple[Help, Trial]] = []
        for help in helps:
            if (
                _only(help, cures.NotRecorded)
                and proven
                and not all(_is_left(trial, diagnostic) for _, trial in proven)
            ):
                continue  # that is for what has made several graphs
            trial = self._try(diagnostic, help, whole=whole, others=help is not helps[-1])
            if trial is not None:
                proven.append((help, trial))
        if any(
            isinstance(cure, cures.ComputeInEach | cures.Clear | cures.MakeLeaf)
            for help, _ in proven[:1]
            for cure in help.cures
        ):
            # what trains as is meant is to be had
            proven = [(help, trial) for help, trial in proven if not _only(help, cures.Detach)]
        if any(_only(help, cures.MoveHook) for help, _ in proven[:1]):  # what else is called there is for others
            proven = [(help, trial) for help, trial in proven if not _only(help, cures.MoveInto)]
        if any(_only(help, cures.CreateGraph) for help, _ in proven[:1]):  # None is no gradient to learn from
            proven = [(help, trial) for help, trial in proven if not _only(help, cures.AllowUnused)]
        most = max((trial.cured for _, trial in proven), default=0)
        proven = _as_meant(_fuller_first([(help, trial) for help, trial in proven if trial.cured == most]))
        if any(isinstance(cure, cures.Detach) and cure.meant for help, _ in proven[:1] for cure in help.cures):
            # computed again beside that, what the first loss has left in the gradients would be stepped with
            proven = [(help, trial) for help, trial in proven if not _only(help, cures.ComputeAnew)]
        if any(_only(help, cures.SumLosses) for help, _ in proven[:1]) and any(
            _only(help, cures.KeepGraph) for help, _ in proven
        ):
            # what has drawn anything by chance would draw anew for each loss
            proven = [(help, trial) for help, trial in proven if not _only(help, cures.MoveInto)]
        return proven

    def _try(self, diagnostic: Diagnostic, help: Help, *, whole: bool = False, others: bool = False) -> Trial | None:
        """The first fix of a help that proves to cure the finding: what it can't reach isn't run again for that, but for the
        last proof of one that is to be seen `whole`. Once it was tried it leaves a try for the `others` behind it."""
        known: set[tuple[tuple[str, str], ...]] = set()
        home, part = diagnostic.primary.span.source, None
        may_waste = any(isinstance(cure, cures.Detach) and cure.iteration is not None for cure in help.cures)
        for fix in self._candidates(diagnostic, help):
            if len(known) > TRIES:
                break
            outcome = self._outcome(fix, home)
            key = tuple((each.name, each.text) for each in outcome)
            if not outcome or key in known:
                continue
            before, left_out = self._before(diagnostic, beyond_reach(self._seen, fix, home, self._code))
            if self._left < before.steps * (2 if others and known else 1):  # a check of it takes about as much again
                break
            known.add(key)
            trial = self._checked(fix, diagnostic, outcome, before, left_out, may_waste)
            if trial is not None and whole and left_out:
                trial = self._checked(fix, diagnostic, outcome, self._seen, frozenset(), may_waste)
            if trial is not None and _hands_on(help) and not proof.revives(before, trial.after):
                trial = None  # a state that begins with zeros is to be carried on
            if trial is not None and _only(help, cures.CallResets) and proof.leaves_behind(before, trial.after):
                trial = None  # what is kept is made again without a graph before it is used
            if (
                trial is not None
                and _is_lost(help, "apart")
                and not proof.reaches_more(before, trial.after, diagnostic.primary.span)
            ):
                trial = None  # nobody knows any more whether the input is reached
            if trial is not None and _is_lost(help, "frozen") and _steps(diagnostic):
                if not proof.trains(fix, diagnostic, trial.after):
                    trial = None  # the optimiser was made before what is to learn, or trains something else
            if trial is not None and not trial.partly and not _is_half(help, trial, diagnostic):
                return trial
            part = part or trial
        if known and part is None:
            self._refused.add(help)
        return part

    def _before(self, diagnostic: Diagnostic, left_out: frozenset[Definition]) -> tuple[Seen, frozenset[Definition]]:
        """What is seen before a fix where some of it is left out; all, where the finding is not to be seen so."""
        if left_out and left_out not in self._parts:
            self._parts[left_out] = self._look(self._seen.source, self._changed, left_out)
            self._left -= 0 if (part := self._parts[left_out]) is None else part.steps
        part = self._parts.get(left_out)
        if part is None or diagnostic.place not in part.places:
            return self._seen, frozenset()
        return part, left_out

    def _checked(
        self,
        fix: Fix,
        diagnostic: Diagnostic,
        outcome: Sequence[Source],
        before: Seen,
        left_out: frozenset[Definition],
        may_waste: bool,
    ) -> Trial | None:
        """What is seen behind a fix, if it proves to cure the finding."""
        source, changed = self._seen.source, _by_name(*self._changed, *outcome)
        source = changed.pop(source.name, source)
        found = self._look(source, tuple(changed.values()), left_out)
        self._left -= max(found.steps, before.steps) if found is not None else before.steps
        if found is None:
            return None
        if found.unjudged - before.unjudged and self._is_cured_at_home(fix, diagnostic, changed):
            found = dataclasses.replace(found, unjudged=before.unjudged)
        for partly, wasteful in ((False, False), (True, False), (False, True))[: 3 if may_waste else 2]:
            if proof.cures(fix, diagnostic, before, found, partly=partly, wasteful=wasteful):
                cured = _errors(before) - _errors(found)
                more = partly or wasteful or (fix.cuts and proof.cuts_others(fix, diagnostic, before, found))
                return Trial(fix, found, tuple(changed.values()), more, cured, not left_out)
        return None

    def _is_cured_at_home(self, fix: Fix, diagnostic: Diagnostic, changed: Mapping[str, Source]) -> bool:
        """Whether the module that a finding stands in proves a fix where it is run for itself: a script that leads there goes on
        behind a failure that is cured, perhaps for more steps than it may take."""
        home = diagnostic.primary.span.source
        if home.name == self._seen.source.name or self._left < self._seen.steps:
            return False
        others = (each for each in changed.values() if each.name != home.name)
        before = self._look(home, [each for each in self._changed if each.name != home.name], frozenset())
        after = self._look(changed.get(home.name, home), [*others], frozenset())
        self._left -= sum(each.steps for each in (before, after) if each is not None)
        if before is None or after is None or diagnostic.place not in before.places:
            return False
        return proof.cures(fix, diagnostic, before, after)

    def _candidates(self, diagnostic: Diagnostic, help: Help) -> Iterator[Fix]:
        """What could be done, in the order in which a good engineer would try it."""
        from retainlint.fixes.cures import BUILDERS
        from retainlint.fixes.cures.containers import is_container

        home = diagnostic.primary.span.source
        for cure in help.cures:
            sources = _sources(cure, diagnostic)
            if _is_lost(help, "apart"):  # what cuts it off may stand wherever gradients are asked for
                sources += sorted(
                    {each.source for each in self._seen.conduct.backward_passes} - {*sources}, key=lambda s: s.name
                )
            codes = [code for source in sources if (code := self._code(source)) is not None]
            if isinstance(cure, cures.Detach):  # where it is put into a list
                codes.sort(key=lambda code: not any(is_container(code, _own(each.name)) for each in cure.holders))
            if isinstance(cure, cures.Clear) and (read := cure.read) is not None:  # where it is read
                codes.sort(key=lambda code: code.source is not read.source)
            each = [_made(BUILDERS[type(cure)](code, cure, diagnostic), code.source, home) for code in codes]
            if isinstance(cure, cures.Detach) and cure.iteration is not None:  # in any of them an iteration may end
                yield from (fix for fixes in zip_longest(*each) for fix in fixes if fix is not None)
            else:
                yield from chain.from_iterable(islice(fixes, TRIES // len(codes)) for fixes in each)

    def _code(self, source: Source) -> EditableCode | None:
        """A text, parsed; None for one that isn't edited."""
        if source not in self._codes:
            self._codes[source] = None
            if source is self._seen.source or self._may_edit(source):
                with contextlib.suppress(Uneditable, RecursionError):
                    self._codes[source] = EditableCode(source)
        return self._codes[source]

    def _outcome(self, fix: Fix, home: Source) -> list[Source]:
        """The texts that a fix makes of those that it edits; none if it can't be done."""
        try:
            made = fix.by_source(home).items()
            outcome = [edited(source, edits) for source, edits in made if apart(edits)]
        except ValueError:
            return []
        is_change = any(source.text != after.text for (source, _), after in zip(made, outcome))
        return outcome if len(outcome) == len(made) and is_change else []


def _made(fixes: Iterator[Fix], source: Source, home: Source) -> Iterator[Fix]:
    """The fixes that can be made of one text, as they are told of another."""
    with contextlib.suppress(Uneditable, RecursionError):  # the last: it nests deeper than ast bears
        for fix in fixes:
            yield told_from(fix, source, home)


def _own(name: str) -> str:
    """An attribute, as its own object calls it."""
    return f"self.{name.rpartition('.')[2]}"


def _sources(cure: Cure, diagnostic: Diagnostic) -> list[Source]:
    """The texts in which a cure may be written: where it points to, then where the finding's story leads through."""
    own = [value for value in (getattr(cure, field.name) for field in fields(cure)) if isinstance(value, Span)]
    story = [label.span for label in diagnostic.labels]
    return list(dict.fromkeys(span.source for span in (*own, diagnostic.primary.span, *story)))


def _told(help: Help, fix: Fix) -> Help:
    """The help in the words of its fix where that says more: which statement cuts what is carried, and where it stands, or
    that something else is cut."""
    is_chosen = any(
        cure.iteration is not None
        if isinstance(cure, cures.Detach)
        else isinstance(cure, cures.Clear | cures.NotRecorded | cures.AllowUnused)
        for cure in help.cures
    )
    words = f"{fix.message[:1].lower()}{fix.message[1:]}"
    return replace(help, words=words) if is_chosen or fix.tells else help


def _fuller_first(proven: list[tuple[Help, Trial]]) -> list[tuple[Help, Trial]]:
    """The same, where what is cut would train less than the list does once it is emptied: that first."""
    if not proven or not _only(proven[0][0], cures.Detach):
        return proven
    cut = proven[0][1].after
    fuller = [each for each in proven if _only(each[0], cures.Clear) and proof.arrives_more(cut, each[1].after)]
    return [*fuller, *(each for each in proven if each not in fuller)]


def _as_meant(proven: list[tuple[Help, Trial]]) -> list[tuple[Help, Trial]]:
    """Of a gradient for which the graph may be kept, or one of its own be built, what its use asks for: it is part of a loss if a
    later backward pass comes to what it trains by more ways with that graph, and by all other helps it would be a constant."""
    kept = next((trial for help, trial in proven if _only(help, cures.KeepGraph)), None)
    created = next((trial for help, trial in proven if _only(help, cures.CreateGraph)), None)
    if kept is None or created is None:
        return proven
    is_trained_through = proof.arrives_more(kept.after, created.after)
    return [(help, trial) for help, trial in proven if _only(help, cures.CreateGraph) == is_trained_through]


def _is_half(help: Help, trial: Trial, diagnostic: Diagnostic) -> bool:
    """Whether another candidate may do more: all that a graph is made of is moved; two gradients need a graph of their own, or
    keep the one that they share."""
    if _only(help, cures.MoveInto):
        return _is_left(trial, diagnostic)
    both = (isinstance(cure, cures.CreateGraph | cures.KeepGraph) and cure.other is not None for cure in help.cures)
    return any(both) and _errors(trial.after) > 0


def _is_left(trial: Trial, diagnostic: Diagnostic) -> bool:
    """Whether another graph fails at the place of a finding once that is cured."""
    return any(proof.is_behind(trial.fix, diagnostic, each, partly=False) for each in trial.after.diagnostics)


def _errors(seen: Seen) -> int:
    return sum(each.severity is Severity.ERROR for each in seen.diagnostics)


def _is_lost(help: Help, reason: str) -> bool:
    """Whether it gives a graph back that was lost in this way."""
    return any(isinstance(cure, cures.Uncut) and cure.reason == reason for cure in help.cures)


def _steps(diagnostic: Diagnostic) -> bool:
    """Whether an optimiser steps in a text that a finding's story leads through."""
    return any(".step(" in label.span.source.text for label in diagnostic.labels)


def _is_told(diagnostic: Diagnostic, help: Help) -> bool:
    """Whether a help is more than to keep a graph, or the best there is."""
    return not _only(help, cures.KeepGraph) or help is diagnostic.helps[0]


def _hands_on(help: Help) -> bool:
    """Whether it has each iteration begin anew what each might be meant to hand on."""
    return all(isinstance(cure, cures.StartAgain) and not cure.is_sum for cure in help.cures)


def _only(help: Help, kind: type[Cure]) -> bool:
    """Whether it does nothing but this; to keep a graph mostly hides what is wrong."""
    return all(isinstance(cure, kind) for cure in help.cures)
