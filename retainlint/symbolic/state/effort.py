"""What an entry costs beside its steps: states that are compared and chosen from, graphs and containers that are gone through.

One step costs about the same as another, unless what it touches has grown: then it is told here by its size, in units that
are counted alike on any machine. So a file ends in time whatever it holds.
"""

from __future__ import annotations

from retainlint.symbolic.state import limits


class OutOfSteps(Exception):
    """The budget is spent."""


class Effort:
    """The effort that the running entry has taken, and those before it in the file, their steps included."""

    def __init__(self) -> None:
        self.units = 0
        self.before = 0

    def add(self, units: int) -> None:
        """Count what a step goes through. Raises OutOfSteps."""
        self.units += units
        if self.units > limits.ENTRY_EFFORT:
            raise OutOfSteps

    def begin(self, steps: int, budget: int) -> int:
        """Begin another entry, behind one that took so many steps: its budget, which is little where those before it have
        taken much."""
        self.before += self.units + steps * limits.STEP_EFFORT
        self.units = 0
        if self.before <= limits.FILE_EFFORT:
            return budget
        return min(budget, limits.LATE_ENTRY_STEPS) if self.before <= limits.FILE_EFFORT_LATE else 0

    @property
    def steps(self) -> int:
        """All of it so far, in steps that take as much."""
        return (self.before + self.units) // limits.STEP_EFFORT

    @property
    def is_spent(self) -> bool:
        return self.units > limits.ENTRY_EFFORT

    @property
    def share(self) -> float:
        """How much of what an entry may take is spent."""
        return self.units / limits.ENTRY_EFFORT
