"""What a program has at some place: its tensors, what can be called, the flags, and what may be assigned there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from benchmarks.truth.operations import Operation


class Live(Enum):
    """Whether a tensor requires grad."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"


@dataclass(eq=False)
class Variable:
    """A tensor that has a name; the name may be a path (`self.hidden`, `state["h"]`).

    `light`: nothing that it was computed by saves. `solid`: its memory may be written. `spent`: a careful author
    doesn't walk below it any more.
    """

    name: str
    shape: str
    live: Live
    leaf: bool = False
    light: bool = False
    solid: bool = True
    spent: bool = False


@dataclass(frozen=True)
class Gathered:
    """A list of tensors of one shape that has a name."""

    name: str
    shape: str


@dataclass(frozen=True)
class Procedure:
    """A function or method that walks: called with tensors of these shapes, and flags, for what it does."""

    name: str
    shapes: tuple[str, ...]
    flags: int = 0
    gives: str = ""


@dataclass(eq=False)
class Scope:
    """A block's view of its surroundings. `owned` are the variables that an assignment here would rebind."""

    variables: list[Variable] = field(default_factory=list)
    callables: list[Operation] = field(default_factory=list)
    procedures: list[Procedure] = field(default_factory=list)
    optimizers: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    gathered: list[Gathered] = field(default_factory=list)
    batches: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    owned: set[Variable] = field(default_factory=set)
    born: set[Variable] = field(default_factory=set)
    grad: bool = True
    calm: bool = False  # no walks here, and nothing that belongs to them
    loops: int = 0
    depth: int = 0
    gives: str = ""  # the shape that the function returns, if this is inside one that returns a tensor
    in_loop: bool = False  # `break` and `continue` may be said

    def inner(self, *, loop: bool = False) -> Scope:
        """The scope of a block below a branch or a loop: what is born there isn't seen outside."""
        return replace(
            self,
            variables=list(self.variables),
            callables=list(self.callables),
            procedures=list(self.procedures),
            gathered=list(self.gathered),
            flags=list(self.flags),
            counters=list(self.counters),
            owned=set(self.owned),
            born=set(),
            loops=self.loops + loop,
            depth=self.depth + 1,
            in_loop=self.in_loop or loop,
        )

    def function(self, gives: str = "") -> Scope:
        """The scope of a function's body: what is outside can be read, not rebound."""
        scope = self.inner()
        scope.owned, scope.in_loop, scope.gives, scope.counters = set(), False, gives, []
        scope.optimizers, scope.models = list(self.optimizers), list(self.models)
        return scope

    def add(self, variable: Variable) -> Variable:
        self.variables.append(variable)
        self.owned.add(variable)
        self.born.add(variable)
        return variable

    def tensors(self, shape: str = "") -> Iterator[Variable]:
        return (v for v in self.variables if not shape or v.shape == shape)

    def spend(self) -> None:
        """After a walk that frees, or a change of what was saved: what has a graph is better not walked again."""
        for variable in self.variables:
            if not variable.leaf and not variable.light and variable.live is not Live.NO:
                variable.spent = True
