"""Which of too many paths are followed: few that between them take every answer, and every pair of answers, that they can.

What fails needs one condition, seldom two: so a handful of paths that cover all pairs of answers shows nearly all that
thousands of combinations would.
"""

from __future__ import annotations

from itertools import combinations
from typing import TypeAlias

from retainlint.incident import Condition
from retainlint.source import Span
from retainlint.symbolic.state import State

WIDEST = 12
"""How many states may run side by side within a block that runs for one state alone."""
NARROWEST = 2
"""The same within calls and arms that are run for each of some states; for each of many it is one."""

TIRED, WEARY = 0.5, 0.75
"""Shares of the budget behind which half as many are followed, and a quarter."""

Answers: TypeAlias = "int | tuple[int, int]"
"""A condition and how it was answered, by its number, or two of them."""


class Chooser:
    """Chooses the paths that go on; it remembers what it has chosen where, so that siblings try what others haven't."""

    def __init__(self) -> None:
        self.beside = 1  # how many states wait around the block that is being run, each to be run through it
        self.numbers: dict[Condition, int] = {}
        self.tried: dict[Span, set[Answers]] = {}  # what was chosen in each place

    def room(self, spent: float) -> int:
        """How many states may run side by side in the block that is being run, once that share of the budget is spent:
        better few paths to the end than many half-way."""
        widest = WIDEST if spent < TIRED else WIDEST // 2 if spent < WEARY else WIDEST // 4
        return max(widest // self.beside, NARROWEST if self.beside <= widest else 1)

    def few(self, states: list[State], most: int, span: Span) -> list[State]:
        """At most `most` of these states, in their order."""
        answers = self._answers(states)
        common = frozenset[int]().union(*answers[:1]).intersection(*answers[1:])
        single = [several - common for several in answers]
        double = [frozenset(combinations(sorted(several), 2)) for several in single]
        tried = self.tried.setdefault(span, set())
        singles, doubles = set[int]().union(*single), set[tuple[int, int]]().union(*double)
        kept: list[int] = []
        left = list(range(len(states)))

        def gain(i: int) -> tuple[int, int, int, int, int]:
            """What a state has that no other chosen one has: here so far, or of all that ever came by."""
            new = len(single[i] - tried), len(single[i] & singles), len(double[i] - tried), len(double[i] & doubles)
            return (*new, -i)

        while left and len(kept) < most and (singles or doubles or len(kept) < NARROWEST):
            best = max(left, key=gain)
            singles -= single[best]
            doubles -= double[best]
            tried |= single[best] | double[best]
            left.remove(best)
            kept.append(best)
        return [states[i] for i in sorted(kept)]

    def _answers(self, states: list[State]) -> list[frozenset[int]]:
        """What each state has answered, as numbers."""
        known: dict[int, int] = {}  # by the identity of a choice, which states share
        for state in states:
            for choice in state.choices:
                if id(choice) not in known:
                    known[id(choice)] = self.numbers.setdefault(choice.condition, len(self.numbers))
        return [frozenset(known[id(choice)] for choice in state.choices) for state in states]
