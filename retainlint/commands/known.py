"""The findings of a run against the baselines that its files name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from retainlint.catalogue import NOT_CHECKED
from retainlint.checking import linter
from retainlint.commands import CommandError
from retainlint.config import Configs
from retainlint.config.reading import displayed_path
from retainlint.config.table import COMMAND_LINE
from retainlint.report.terminal import safe_start

if TYPE_CHECKING:
    from collections import Counter

    from retainlint.diagnostic import Diagnostic
    from retainlint.suppressions.baseline import Baseline, BaselineEntry


def may_be_known(diagnostic: Diagnostic) -> bool:
    """Whether a baseline may hold a finding: not that a file can't be checked, which hides all others in it."""
    return diagnostic.code != NOT_CHECKED


def entry(baseline: Baseline, diagnostic: Diagnostic) -> BaselineEntry:
    """The entry that a finding has in a baseline."""
    others = [label.span for label in diagnostic.labels if not label.primary]
    return baseline.entry(diagnostic.code, [diagnostic.primary.span, *others])


class Knowing:
    """Tells new findings from known ones. Each file's baseline is the one that its configuration names."""

    def __init__(self, configs: Configs) -> None:
        self._configs = configs
        self._baselines: dict[str, Baseline] = {}
        self._known = 0
        self._baseline_of(configs.here.path("baseline"), "")

    def unknown(self, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
        """The findings that are in no baseline, in their order. Raises CommandError."""
        met: dict[str, list[Diagnostic]] = {path: [] for path in self._baselines}
        for diagnostic in filter(may_be_known, diagnostics):
            config = self._configs.of_file(diagnostic.primary.span.source.name)
            path = config.path("baseline")
            if self._baseline_of(path, config.stated("baseline").origin) is not None and path is not None:
                met.setdefault(path, []).append(diagnostic)
        known: set[int] = set()
        for path, mine in met.items():
            baseline = self._baselines[path]
            new = baseline.new(entry(baseline, diagnostic) for diagnostic in mine)
            known.update(id(diagnostic) for diagnostic, is_new in zip(mine, new, strict=True) if not is_new)
        self._known = len(known)
        return [diagnostic for diagnostic in diagnostics if id(diagnostic) not in known]

    def notes(self, result: linter.Result) -> Iterator[str]:
        """After `unknown`: how many were known, and which entries fit nothing any more."""
        if self._known:
            yield f"{self._known} known {plural('finding', self._known)} in the baseline {plural('is', self._known)} not shown."
        for path, baseline in self._baselines.items():
            stale = stale_entries(baseline, result, self._configs).total()
            if stale:
                yield (
                    f"{safe_start(displayed_path(path))}: {stale} {plural('entry', stale)} {plural('fits', stale)} no finding any more;"
                    " `retainlint baseline --prune` removes what is stale."
                )

    def _baseline_of(self, path: str | None, origin: str) -> Baseline | None:
        if path is None:
            return None
        if path not in self._baselines:
            if not os.path.exists(path):
                raise CommandError(_missing(path, origin or self._configs.here.stated("baseline").origin))
            self._baselines[path] = loaded(path)
        return self._baselines[path]


def loaded(path: str) -> Baseline:
    """The baseline in a file. Raises CommandError if it isn't there or no baseline."""
    from retainlint.suppressions.baseline import BaselineError, load

    try:
        return load(path, displayed_path(path))
    except BaselineError as error:
        raise CommandError(str(error)) from error


def stale_entries(baseline: Baseline, result: linter.Result, configs: Configs) -> Counter[BaselineEntry]:
    """After `new`: the entries without a finding, of files that are gone or were checked for that rule."""
    checked = {baseline.relative(name): name for name in result.names}
    for crashed in result.crashes:
        checked.pop(baseline.relative(crashed.name), None)

    def is_judged(entry: BaselineEntry) -> bool:
        if entry.file in checked:
            return configs.settings(checked[entry.file]).wants(entry.code)
        return not os.path.exists(os.path.join(os.path.dirname(baseline.path), entry.file))

    return baseline.stale(is_judged)


def _missing(path: str, origin: str) -> str:
    by = "on the command line" if origin == COMMAND_LINE else f"by {origin}"
    return f"{displayed_path(path)}: there is no such baseline (named {by}); `retainlint baseline` writes it"


_PLURALS = {"is": "are", "entry": "entries", "fits": "fit"}


def plural(word: str, number: int) -> str:
    return word if number == 1 else _PLURALS.get(word, word + "s")
