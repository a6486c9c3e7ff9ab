"""`retainlint check --diff-base`: which findings a change brought, told by their content and graph, not by their lines."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from retainlint.checking import linter
from retainlint.commands import CommandError
from retainlint.commands.known import entry
from retainlint.config import Configs
from retainlint.diagnostic import Diagnostic
from retainlint.project.revision import Difference, NoRevision, Revision
from retainlint.suppressions.baseline import Baseline, BaselineEntry, functions
from retainlint.text.files import read

CHANGED = 50
"""So many changed files are looked at for findings that were moved from one to another."""

AUTO = "auto"


class Brought:
    """Tells findings that a change brought from those that were there before it."""

    def __init__(self, configs: Configs, base: str) -> None:
        """`base` is a commit, or "auto". Raises CommandError."""
        self._configs = configs
        try:
            self._revision = Revision(os.getcwd(), found_base(os.environ) if base == AUTO else base)
            self._difference: Difference = self._revision.difference()
        except NoRevision as error:
            raise CommandError(
                f"--diff-base {base}: {error}; a shallow clone may not have it: fetch it first"
            ) from error
        self._baseline = Baseline(os.path.join(self._revision.root, ""))
        self.before = 0

    def new(self, found: Sequence[Diagnostic]) -> list[Diagnostic]:
        """The findings that the base hasn't, in their order."""
        if not found:
            return []
        old = self._old(found)
        left = [*found]
        for key in (
            ("file", "code", "function", "marks"),
            ("file", "code", "marks"),
        ):  # a function may have been renamed
            left = _unmatched(left, self._entries(left), old, key)
        gone = Counter({each: number for each, number in old.items() if number > 0 and self._is_gone(each)})
        left = _unmatched(left, self._entries(left), gone, ("code", "marks"))
        self.before = len(found) - len(left)
        return left

    @property
    def note(self) -> str:
        """How many were there before; "" if none was."""
        if not self.before:
            return ""
        were = "finding was" if self.before == 1 else "findings were"
        return f"{self.before} {were} there before, at {self._revision.commit[:12]}, and not shown."

    def _entries(self, found: Iterable[Diagnostic]) -> list[BaselineEntry]:
        return [entry(self._baseline, each) for each in found]

    def _old(self, found: Sequence[Diagnostic]) -> Counter[BaselineEntry]:
        """The findings of the base in the files of these, and in those that were changed; by the names of today."""
        was = self._difference.renamed
        now = {old: new for new, old in was.items()}
        wanted: dict[str, set[str]] = {}
        for each in found:
            place = _real(each.primary.span.source.name)
            others = wanted.setdefault(was.get(place, place), set())
            if each.called is not None:  # it may be another program that leads to it
                program = _real(each.called.source.name)
                others.add(was.get(program, program))
        changed = [place for place in self._difference.changed if place.endswith((".py", ".ipynb"))]
        for place in changed if len(changed) <= CHANGED else ():
            wanted.setdefault(place, set())
        given = linter.Given(self._configs, self._revision)
        old: Counter[BaselineEntry] = Counter()
        for place, others in wanted.items():
            data = self._revision.read(place)
            if data is None:
                continue
            result = given.check(_spelt(place), data, also=[_spelt(each) for each in sorted(others - {place})])
            for one in self._entries(result.diagnostics):
                there = os.path.join(self._revision.root, *one.file.split("/"))
                old[replace(one, file=self._baseline.relative(now.get(there, there)))] += 1
        return old

    def _is_gone(self, old: BaselineEntry) -> bool:
        """Whether the function in which it was isn't there any more: then what is the same elsewhere was moved."""
        data = read(os.path.join(self._revision.root, *old.file.split("/")))
        return data is None or (old.function != "" and old.function not in functions(old.file, data))


def _real(name: str) -> str:
    place = os.path.abspath(name)
    return os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))


def _spelt(place: str) -> str:
    """The name that a run in this directory gives a file."""
    here = os.path.join(os.path.realpath(os.getcwd()), "")
    return place[len(here) :] if place.startswith(here) else place


def _unmatched(
    found: list[Diagnostic], entries: list[BaselineEntry], old: Counter[BaselineEntry], by: Iterable[str]
) -> list[Diagnostic]:
    """The findings that are none of the old ones, of which each is taken once."""
    key = attrgetter(*by)
    known: dict[tuple[str, ...], list[BaselineEntry]] = {}
    for each in old.elements():
        known.setdefault(key(each), []).append(each)
    left = []
    for diagnostic, mine in zip(found, entries, strict=True):
        if same := known.get(key(mine)):
            old[same.pop()] -= 1
        else:
            left.append(diagnostic)
    return left


def found_base(environment: Mapping[str, str]) -> str:
    """What a change is merged into, as the build server tells it. Raises CommandError."""
    if environment.get("GITHUB_BASE_REF"):
        return f"origin/{environment['GITHUB_BASE_REF']}"
    for name in ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "BITBUCKET_PR_DESTINATION_COMMIT"):
        if environment.get(name):
            return environment[name]
    for name in ("SYSTEM_PULLREQUEST_TARGETBRANCH", "BUILDKITE_PULL_REQUEST_BASE_BRANCH", "CHANGE_TARGET"):
        if environment.get(name):
            return f"origin/{environment[name].removeprefix('refs/heads/')}"
    raise CommandError(
        "--diff-base auto: no build server says what this is to be merged into; name a commit or a branch"
    )
