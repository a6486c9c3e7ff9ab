"""What was reported, as the machine collects it: failures that reach nobody but who waits for them are kept back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from retainlint.autograd.graph import Node
from retainlint.incident import GraphFailure, Incident, Witness
from retainlint.startup.records import record
from retainlint.symbolic.state.state import Choice, ticket


@record
class Report:
    """An incident, and how to prove it; `leaves` are those of the graph that it is about."""

    incident: Incident
    proof: Callable[[], Witness | None] | None
    leaves: frozenset[Node] = frozenset()
    number: int = 0


class Reports(list[Report]):
    """All that was reported so far; `aside` is how many calls run whose failures are kept for whoever asks for their results."""

    def __init__(self) -> None:
        super().__init__()
        self.aside = 0
        self._failed: set[int] = set()  # the numbers of the reports of failures
        self._kept: dict[int, tuple[Callable[[], None], int | None]] = {}
        """What tells of them, and what was chosen by then."""
        self._due: set[int] = set()

    def tell(self, report: Report) -> None:
        self.append(report)
        if isinstance(report.incident, GraphFailure):
            self._failed.add(report.number)

    def failures(self, since: int) -> tuple[int, ...]:
        """The numbers of the failures that were told of behind a ticket, and not withdrawn."""
        return tuple(each.number for each in self if each.number > since and each.number in self._failed)

    def keep(self, tell: Callable[[], None], choices: int) -> int:
        """Say nothing of a failure that a program expects, on a path that has chosen so much; its number."""
        number = ticket()
        self._kept[number] = tell, choices
        return number

    def withdraw(self, numbers: Collection[int], choices: int | None = None) -> None:
        """Say nothing more of failures that reach nobody who doesn't wait for them, on a path that has chosen so much."""
        gone = {each.number: each for each in self if each.number in numbers and each.number not in self._due}
        self._kept.update((number, (partial(self.append, each), choices)) for number, each in gone.items())
        self[:] = [each for each in self if each.number not in gone]

    def restore(self, numbers: Iterable[int]) -> None:
        """They have reached somebody: tell of them, whoever else waits for them."""
        for number in numbers:
            self._reached(number, is_told=number in self._kept and self._kept[number][1] is None)

    def left(self, number: int, ways: Sequence[tuple[Choice, ...]]) -> None:
        """Paths with these choices left the program by an error, behind a failure that it expects: it has reached somebody if they
        are all that go on behind it."""
        chosen = self._kept[number][1] if number in self._kept else None
        self._reached(number, is_told=chosen is not None and _are_all([way[chosen:] for way in ways]))

    def _reached(self, number: int, *, is_told: bool) -> None:
        if not self.aside:
            self._due.add(number)
        if is_told:
            tell, _ = self._kept.pop(number)
            tell()


def _are_all(ways: Sequence[tuple[Choice, ...]]) -> bool:
    """Whether no other choices are possible than these, of which each path has made the first first."""
    if not (ways and all(ways)):
        return bool(ways)
    asked = [way for way in ways if way[0].term == ways[0][0].term]
    return all(_are_all([way[1:] for way in asked if way[0].answer is answer]) for answer in (True, False))
