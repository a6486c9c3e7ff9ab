"""Which of too many paths are followed: few that between them take every answer, and every pair of answers, that they can.

What fails needs one condition, seldom two: so a handful of paths that cover all pairs of answers shows nearly all that
thousands of combinations would.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, combinations
from typing import TypeAlias

from retainlint.incident import Condition
from retainlint.startup.records import record
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.effort import Effort
from retainlint.symbolic.state.state import State
from retainlint.text.source import Span


@record
class Breadth:
    """How much is tried side by side: so many states within a block that runs for one state alone, and so many at least
    within calls and arms that are run for each of some states (for each of many it is one). Within `nested` loops, one
    whose turn number decides nothing is run for two turns at most: three levels of four turns each would be sixty-four
    ways through the same body."""

    widest: int
    narrowest: int
    nested: int


OWN = Breadth(limits.PATHS, limits.PATHS_WITHIN, limits.FULL_LOOPS_NESTED)
BEYOND = Breadth(limits.PATHS_BEYOND, limits.PATHS_WITHIN_BEYOND, limits.FULL_LOOPS_NESTED_BEYOND)
"""Where the program holds no backward pass itself, and only leads to those of other modules."""
ASIDE = Breadth(limits.PATHS_ASIDE, limits.PATHS_WITHIN, limits.FULL_LOOPS_NESTED)
"""Within functions that lead to no backward pass: of another module, and of the program behind an entry's first steps."""
UNROLLED = Breadth(limits.UNROLLED_PATHS, limits.PATHS_WITHIN_BEYOND, limits.SINGLE_LOOPS_NESTED)
"""Where all iterations are run: of few paths in place of few iterations of many."""
ONE = Breadth(1, 1, 1)
"""Where one of the ways is gone on with anyway: what the others would have shown is not missed."""


Answers: TypeAlias = "int | tuple[int, int]"
"""A condition and how it was answered, by its number, or two of them."""


class Chooser:
    """Chooses the paths that go on; it remembers what it has chosen where, so that siblings try what others haven't."""

    def __init__(self, effort: Effort | None = None) -> None:
        self.effort = effort or Effort()
        self.breadth = OWN
        self.beside = 1  # how many states wait around the block that is being run, each to be run through it
        self.numbers: dict[Condition, int] = {}
        self.tried: dict[Span, set[Answers]] = {}  # what was chosen in each place

    def room(self, spent: float) -> int:
        """How many states may run side by side in the block that is being run, once that share of the budget is spent:
        better few paths to the end than many half-way."""
        widest = self.breadth.widest // (
            1 if spent < limits.HALF_PATHS_FROM else 2 if spent < limits.QUARTER_PATHS_FROM else 4
        )
        return max(widest // self.beside, self.breadth.narrowest if self.beside <= widest else 1)

    def crowd(self) -> None:
        """Follow one way through what is run next, as if many were waiting."""
        self.beside = max(self.beside, self.breadth.widest + 1)

    @contextmanager
    def shared(self, states: int) -> Iterator[None]:
        """Follow as many ways through what is run for each of some states as all of them together may take."""
        beside, self.beside = self.beside, self.beside * max(states, 1)
        try:
            yield
        finally:
            self.beside = beside

    @contextmanager
    def narrowed(self, breadth: Breadth) -> Iterator[None]:
        """Follow that few ways for a while."""
        own, self.breadth = self.breadth, min(breadth, self.breadth, key=lambda each: each.widest)
        try:
            yield
        finally:
            self.breadth = own

    def few(self, states: list[State], most: int, span: Span, first: int | None = None) -> tuple[list[State], bool]:
        """At most `most` of these states, in their order; and whether each answer to a condition is among theirs. The `first`
        is one of them the first time that it is chosen here."""
        answers = self._answers(states)
        common = frozenset[int]().union(*answers[:1]).intersection(*answers[1:])
        single = [several - common for several in answers]
        double = [frozenset(combinations(sorted(several)[-limits.PAIRED_ANSWERS :], 2)) for several in single]
        self.effort.add(sum(len(state.choices) for state in states) + sum(map(len, double)) * len(states) // 4)
        tried = self.tried.setdefault(span, set())
        singles, doubles = set[int]().union(*single), set[tuple[int, int]]().union(*double)
        kept: list[int] = []
        left = list(range(len(states)))

        def gain(i: int) -> tuple[int, int, int, int, int]:
            """What a state has that no other chosen one has: here so far, or of all that ever came by."""
            new = len(single[i] - tried), len(single[i] & singles), len(double[i] - tried), len(double[i] & doubles)
            return (*new, -i)

        best = None if tried else first
        while left and len(kept) < most and (singles or doubles or len(kept) < self.breadth.narrowest):
            best = max(left, key=gain) if best is None else best
            singles -= single[best]
            doubles -= double[best]
            tried |= single[best] | double[best]
            left.remove(best)
            kept.append(best)
            best = None
        return [states[i] for i in sorted(kept)], not singles

    def _answers(self, states: list[State]) -> list[frozenset[int]]:
        """What each state has answered otherwise than another, as numbers."""
        shared = set(map(id, states[0].choices)).intersection(*(map(id, state.choices) for state in states[1:]))
        given = [[choice for choice in state.choices if id(choice) not in shared] for state in states]
        equivalent = [choice for choice in states[0].choices if id(choice) in shared]
        for choice in chain(equivalent, *given):
            if choice.number < 0:
                choice.number = self.numbers.setdefault(choice.condition, len(self.numbers))
        common = {choice.number for choice in equivalent}
        return [frozenset([choice.number for choice in several]) - common for several in given]
