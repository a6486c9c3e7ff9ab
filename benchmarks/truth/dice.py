"""Chance from a seed: the same seed gives the same program on any machine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """All of a program's choices come from one of these."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def number(self, low: int, high: int) -> int:
        """Both ends included."""
        return self._random.randint(low, high)

    def pick(self, options: Sequence[T]) -> T:
        return options[self._random.randrange(len(options))]

    def weighted(self, options: Sequence[tuple[T, float]]) -> T:
        return self._random.choices([one for one, _ in options], [weight for _, weight in options])[0]

    def some(self, options: Sequence[T], low: int, high: int) -> list[T]:
        """Between `low` and `high` of them, in random order."""
        return self._random.sample(list(options), min(self.number(low, high), len(options)))
