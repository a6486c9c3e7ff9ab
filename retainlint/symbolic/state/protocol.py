"""What a model may ask of the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import field
from typing import Protocol, TypeAlias

from retainlint import ir
from retainlint.autograd.graph import Node
from retainlint.incident import Incident, Iteration, Moment, Witness
from retainlint.program import Program
from retainlint.startup.records import record
from retainlint.symbolic.state.coverage import Sites
from retainlint.symbolic.state.events import Events, Refusal
from retainlint.symbolic.state.graphs import Graphs
from retainlint.symbolic.state.imports import Imports
from retainlint.symbolic.state.path_choice import Chooser
from retainlint.symbolic.state.reports import Reports
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, Ref, Value
from retainlint.text.source import Span

Results: TypeAlias = list[tuple[State, Value]]


@record
class Args:
    """The arguments of a call. `open`: there may be more that we don't know. `spans` are those of `pos`."""

    pos: tuple[Value, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()
    open: bool = False
    spans: tuple[Span | None, ...] = ()
    span: Span | None = None
    places: tuple[tuple[str, Span], ...] = ()  # where the named ones' values stand

    def get(self, index: int, name: str, default: Value = NONE) -> Value:
        """The argument at a position or under a name; index -1 for one that is only named."""
        if 0 <= index < len(self.pos):
            return self.pos[index]
        return dict(self.named).get(name, default)

    def has(self, index: int, name: str) -> bool:
        return 0 <= index < len(self.pos) or name in dict(self.named)

    def place(self, index: int, name: str, call: Span) -> Span:
        """Where such an argument stands; the `call`, where that isn't known."""
        given = self.spans[index] if 0 <= index < len(self.spans) else dict(self.places).get(name)
        return given or call

    @property
    def all(self) -> tuple[Value, ...]:
        return self.pos + tuple([value for _, value in self.named]) if self.named else self.pos

    def behind(self, first: Value, span: Span | None = None) -> Args:
        """The same, with one more in front."""
        return Args((first, *self.pos), self.named, self.open, (span, *self.spans), self.span, self.places)


@record
class Arrivals:
    """By how many ways backward passes of one place came to each leaf: the first, and those of `others`, that come to none of
    these; which leaves one of a later iteration came to by fewer, None if there was none, and which it `left`; and by how many one that
    failed comes to them within its own iteration. `rounds` are the iterations of loops within the first, `span` how many of its own
    loop it came to, `further` the leaves that only later ones came to, ahead of any failure."""

    moment: Moment
    ways: Counter[Node]
    rounds: frozenset[Iteration]
    span: int = 0
    later: frozenset[Node] | None = None
    left: frozenset[Node] = frozenset()
    fresh: Counter[Node] | None = None
    others: Counter[Node] = field(default_factory=Counter)
    further: frozenset[Node] = frozenset()


class Machine(Protocol):
    """The interpreter, as its models see it. Calls may fork, so they return a list of (state, value)."""

    program: Program
    graphs: Graphs
    events: Events  # who listens to what happens
    opened: set[Node]  # of whose graphs unseen parts were taken, by items
    backward_count: int  # how many backward passes ran
    imports: Imports
    steps: int
    budget: int
    running: ir.Code  # the entry
    entered: set[ir.Code]  # the codes of the program that were run
    defined: set[ir.Code]  # the functions that were made
    reached: set[ir.Code]  # those that the entry which runs has called, whether they were run or left unseen
    backpropagated: set[Span]  # where a walk was executed
    changed: set[Span]  # the same of calls that are named as those that change a tensor in place
    leading: set[ir.Code]  # functions in which one was, or in what they called
    unset: dict[
        int, Ref
    ]  # records that stand for attributes which were read, and set elsewhere if at all; their objects
    rounds: dict[Span, frozenset[str]]  # what arms bind whose conditions nobody follows through all turns
    repeated: dict[tuple[int, ...], list[State]]  # the ends of iterations of loops within others, in this entry
    deep: dict[ir.Code, int]  # how often a function called itself more deeply than is usual
    efforts: dict[ir.Code, int]  # the steps that functions which call themselves took in this entry
    tells_caught: bool  # failures count that a `try` around them catches
    tries: list[ir.Try]  # whose bodies are being run, the innermost last
    passed: set[Node]  # that a walk which leaves gradients has passed
    trained: set[
        tuple[Node, Moment]
    ]  # leaves that a step has changed, and the backward pass that gave it their gradients
    arrivals: dict[Span, Arrivals]  # how many ways led to each leaf, by the place of the backward pass
    missing_reads: set[Span]  # where something was taken that isn't there
    chooser: Chooser
    yielding: set[ir.Code]  # generators that yield once their counters have grown
    sampled: int  # loops of which only some iterations were run
    first_only: int  # of these, those of which the first ones were run, as they are
    shortened: bool  # whether more is learnt if the script runs all iterations of one, of which the count is known
    forked: bool  # whether there was more than one way to go on
    unrolls: bool  # whether all iterations are run where that is known
    unreached: Sites  # the walks that the program's loops lead to
    trying: bool  # whether a path is tried that nothing is concluded from
    gpu_asked: int  # how often the program asked for a GPU
    gpu_missed: bool  # whether it then used None as an object: perhaps it has one where there is a GPU
    gpu_open: bool  # whether it isn't told that there is none
    forced: bool  # whether an entry is run once more, since no path came to its walks
    withheld: dict[int, Refusal]  # failures that are expected, by their numbers, as what was raised keeps them
    reports: Reports  # what was told so far
    risks: int  # how much was run in them that may have raised for a reason that nobody sees

    def run(self, block: ir.Block, states: Iterable[State]) -> list[State]:
        """Run a block on each state; what ended early (`flow`) comes back with the rest."""
        ...

    def prune(self, states: list[State], span: Span) -> list[State]:
        """Merge what can be merged, and drop what is too much."""
        ...

    def withhold(self, state: State, failure: Refusal | None) -> None:
        """Raise what torch raises, where the program has a handler for it; the failure is told if it leaves the entry all the
        same. None of what wouldn't be told anyway."""
        ...

    def call(self, state: State, func: Value, args: Args, span: Span) -> Results: ...

    def follows(self, state: State, code: ir.Code) -> bool:
        """Whether a call of a function of the program would be run, as far as that shows before it is."""
        ...

    def attribute(self, state: State, obj: Value, name: str, span: Span) -> Results: ...

    def set_attribute(self, state: State, obj: Value, name: str, value: Value, span: Span) -> list[State]: ...

    def trial(self, counts: Callable[[Incident], bool]) -> AbstractContextManager[Callable[[], bool]]:
        """Try a path that nothing may be concluded from, but the failures that count; tells whether anything failed."""
        ...

    def branch(self, state: State, value: Value, span: Span) -> list[tuple[State, bool]]:
        """The states in which a value is true, and those in which it is false."""
        ...

    def part(self, state: State, value: Value, span: Span) -> list[tuple[State, bool]]:
        """The same of a value of which it is known that this path can't decide it."""
        ...

    def drain(self, state: State, generator: Value) -> Value:
        """Run a generator to its end; a list of what it yields."""
        ...

    def following(self, state: State, generator: Ref, sent: Value, span: Span) -> Results | None:
        """The next item of a generator, which goes on with what it is `sent`; None if that can't be followed."""
        ...

    def gap(self, span: Span, reason: str, *, spoils: bool = True, spent: bool = False) -> None: ...

    def leave_unjudged(self, span: Span, reason: str) -> None:
        """A backward pass was run, and rests on what nobody sees; it hinders nothing else."""
        ...

    def report(
        self,
        incident: Incident,
        proof: Callable[[], Witness | None] | None = None,
        leaves: frozenset[Node] = frozenset(),
    ) -> None:
        """Tell what was seen; `proof` is asked only if this is how it will be told. `leaves` are those of its graph."""
        ...

    def covered(self, state: State, span: Span) -> None:
        """A walk was executed here."""
        ...
