"""What is seen of statements: what they bind, read and may change."""

from __future__ import annotations

from dataclasses import dataclass, field

from retainlint.parts import Origin, Use


@dataclass
class Facts:
    """What was seen so far."""

    binds: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    keeps: set[str] = field(default_factory=set)  # names whose values may be kept by what is bound
    calls: set[str] = field(default_factory=set)  # the module's functions and classes that may be called
    drops: set[str] = field(default_factory=set)  # those that are called, and nobody has what they give
    imports: dict[Origin, None] = field(default_factory=dict)
    uses: dict[Use, None] = field(default_factory=dict)
    outside: bool = False  # whether something of another module may be changed
    sees: bool = False  # whether names may be read and bound that aren't spelt
    stars: bool = False

    def add(self, called: Facts) -> None:
        """Add what a function does that is called."""
        self.changes |= called.changes
        self.uses.update((use, None) for use in called.uses if use.alone or use.registers)
        self.outside |= called.outside
        self.sees |= called.sees
