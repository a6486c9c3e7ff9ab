"""What an entry costs beside its steps: states that are compared and chosen from, graphs and containers that are gone through.

One step costs about the same as another, unless what it touches has grown: then it is told here by its size, in units that
are counted alike on any machine. So a file ends in time whatever it holds.
"""

from __future__ import annotations

import math

from retainlint.symbolic.state import limits


class OutOfSteps(Exception):
    """The budget is spent."""


class Effort:
    """The effort that the running entry has taken, and those before it in the file, their steps included."""

    def __init__(self) -> None:
        self.units = 0
        self.before = 0
        self.limit = 0.0
        self.begin(0, limits.ENTRY_STEPS)

    def add(self, units: int) -> None:
        """Count what a step goes through. Raises OutOfSteps."""
        self.units += units
        if self.units > self.limit:
            raise OutOfSteps

    def begin(self, steps: int, budget: int) -> int:
        """Begin another entry, behind one that took so many steps: its budget, which is little where those before it have
        taken much; with the effort that it may take it is never more than is left of the file's, of which a quarter
        is kept for that effort: without any, no state may be compared with another."""
        self.end(steps)
        late = limits.LATE_ENTRY_STEPS if self.before > limits.FILE_EFFORT else budget
        budget = min(budget, late, self.steps_left * 3 // 4)
        self.limit = float(min(limits.ENTRY_EFFORT, (self.steps_left - budget) * limits.STEP_EFFORT))
        return budget

    def end(self, steps: int) -> None:
        """No entry is running behind one that took so many steps: what is told of them all is counted, and has no end."""
        self.before += self.units + steps * limits.STEP_EFFORT
        self.units, self.limit = 0, math.inf

    def charge(self, steps: int) -> None:
        """Count steps that the file takes, and not the running entry."""
        self.before += steps * limits.STEP_EFFORT

    @property
    def steps_left(self) -> int:
        """How many steps the file may take yet."""
        return max(limits.FILE_EFFORT_LATE - self.before - self.units, 0) // limits.STEP_EFFORT

    @property
    def steps(self) -> int:
        """All of it so far, in steps that take as much."""
        return (self.before + self.units) // limits.STEP_EFFORT

    @property
    def is_spent(self) -> bool:
        return self.units > self.limit

    @property
    def share(self) -> float:
        """How much of what an entry may take is spent."""
        return self.units / limits.ENTRY_EFFORT
