"""What was reported, as the machine collects it: failures that reach nobody but who waits for them are kept back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial

from retainlint.autograd.graph import Node
from retainlint.incident import GraphFailure, Incident, Witness
from retainlint.startup.records import record
from retainlint.symbolic.state.state import ticket


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
        self.failed: dict[int, Incident] = {}  # all failures, by the numbers of their reports
        self._kept: dict[
            int, tuple[Callable[[], None], int | None]
        ] = {}  # what tells of them, and what was chosen by then
        self._due: set[int] = set()

    def tell(self, report: Report) -> None:
        self.append(report)
        if isinstance(report.incident, GraphFailure):
            self.failed[report.number] = report.incident

    def failures(self, since: int) -> tuple[int, ...]:
        """The numbers of the failures that were told of behind a ticket, and not withdrawn."""
        return tuple(each.number for each in self if each.number > since and each.number in self.failed)

    def keep(self, tell: Callable[[], None], choices: int) -> int:
        """Say nothing of a failure that a program expects, on a path that has chosen so much; its number."""
        number = ticket()
        self._kept[number] = tell, choices
        return number

    def withdraw(self, numbers: Collection[int]) -> None:
        """Say nothing more of failures that reach nobody who doesn't wait for them."""
        gone = {each.number: each for each in self if each.number in numbers and each.number not in self._due}
        self._kept.update((number, (partial(self.append, each), None)) for number, each in gone.items())
        self[:] = [each for each in self if each.number not in gone]

    def restore(self, numbers: Iterable[int], choices: int | None = None) -> None:
        """They have reached somebody: tell of them, whoever else waits for them. What a program expects reaches nobody but by a path
        that has chosen no more since."""
        for number in numbers:
            if not self.aside:
                self._due.add(number)
            tell, chosen = self._kept.get(number, (None, choices))
            if tell is not None and chosen == choices:
                del self._kept[number]
                tell()
