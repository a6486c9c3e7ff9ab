"""What was reported, as the machine collects it: failures that reach nobody but who waits for them can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from retainlint.autograd.graph import Node
from retainlint.incident import GraphFailure, Incident, Witness
from retainlint.startup.records import record


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
        self._withdrawn: dict[int, Report] = {}
        self._due: set[int] = set()

    def tell(self, report: Report) -> None:
        self.append(report)
        if isinstance(report.incident, GraphFailure):
            self.failed[report.number] = report.incident

    def failures(self, since: int) -> tuple[int, ...]:
        """The numbers of the failures that were told of behind a ticket, and not withdrawn."""
        return tuple(each.number for each in self if each.number > since and each.number in self.failed)

    def withdraw(self, numbers: Collection[int]) -> None:
        """Say nothing of failures that reach nobody who doesn't wait for them."""
        gone = {each.number: each for each in self if each.number in numbers and each.number not in self._due}
        self._withdrawn |= gone
        self[:] = [each for each in self if each.number not in gone]

    def restore(self, numbers: Iterable[int]) -> None:
        """They have reached somebody: tell of them, whoever else waits for them."""
        numbers = tuple(numbers)
        if not self.aside:
            self._due.update(numbers)
        self += [self._withdrawn.pop(each) for each in numbers if each in self._withdrawn]
