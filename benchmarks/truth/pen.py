"""What every part of the writer shares: the dice, the page, how careful this program's author is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.truth.dice import Dice
from benchmarks.truth.page import Page

if TYPE_CHECKING:
    from benchmarks.truth.scope import Scope


@dataclass
class Pen:
    """One program's author. `slips`: how often a graph is used again without a thought; `keeps`: how often a walk
    retains its graph; `cuts`: how often a tensor is detached on its way."""

    dice: Dice
    statements: Callable[[Pen, Scope, int], None]
    page: Page = field(default_factory=Page)
    tags: set[str] = field(default_factory=set)
    rows: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    slips: float = 0.1
    keeps: float = 0.3
    cuts: float = 0.05
    room: int = 40  # statements that may still be written

    def tag(self, *names: str) -> None:
        self.tags.update(names)

    def write(self, line: str) -> None:
        self.page.write(line)
        self.room -= 1

    def body(self, scope: Scope, size: int) -> None:
        """About `size` random statements."""
        self.statements(self, scope, size)

    def name(self, stem: str) -> str:
        return self.page.name(stem)
