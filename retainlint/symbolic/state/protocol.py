"""What a model may ask of the machine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import field
from typing import TypeAlias, TypeVar

from retainlint import ir
from retainlint.autograd.graph import Node
from retainlint.incident import Incident, Iteration, Moment, Witness
from retainlint.program import Program
from retainlint.startup.records import record
from retainlint.symbolic.state.coverage import Sites
from retainlint.symbolic.state.events import Events, Refusal
from retainlint.symbolic.state.graphs import Graphs
from retainlint.symbolic.state.imports import Imports, Project
from retainlint.symbolic.state.path_choice import Chooser
from retainlint.symbolic.state.reports import Reports
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, Ref, Value
from retainlint.text.source import Span

Results: TypeAlias = list[tuple[State, Value]]


Item = TypeVar("Item")


def in_turn(
    state: State, items: Iterable[Item], step: Callable[[State, Item], Results]
) -> list[tuple[State, tuple[Value, ...]]]:
    """What a step gives of some items, one after the other, on each way that it goes."""
    ways: list[tuple[State, tuple[Value, ...]]] = [(state, ())]
    for item in items:
        ways = [(after, (*row, value)) for each, row in ways for after, value in step(each, item)]
    return ways


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
    these; which leaves one of a later iteration came to by fewer, None if there was none, and which it `left`; by how many one that
    failed comes to them within its own iteration, and to which it does by fewer in all, as it does something else (`less`).
    `rounds` are the iterations of loops within the first, `span` how many of its own
    loop it came to, `further` the leaves that only later ones came to, ahead of any failure."""

    moment: Moment
    ways: Counter[Node]
    rounds: frozenset[Iteration]
    span: int = 0
    later: frozenset[Node] | None = None
    left: frozenset[Node] = frozenset()
    fresh: Counter[Node] | None = None
    less: frozenset[Node] = frozenset()
    others: Counter[Node] = field(default_factory=Counter)
    further: frozenset[Node] = frozenset()


class Machine(ABC):
    """The interpreter, as its models see it: one for each exploration; states carry all that differs between paths. Calls may fork,
    so they return a list of (state, value)."""

    def __init__(
        self, program: Program, budget: int, project: Project | None, *, tells_caught: bool, unrolls: bool
    ) -> None:
        self.program = program
        self.tells_caught = tells_caught  # failures count that a `try` around them catches
        self.unrolls = unrolls  # whether all iterations are run where that is known
        self.imports = Imports(project)
        self.graphs = Graphs(lambda event: self.events.emit(event))
        self.events = Events()  # who listens to what happens
        self.chooser = Chooser(self.graphs.effort)
        self.reports = Reports()  # what was told so far
        self.running = program.module  # the entry
        self.budget = budget  # the steps that what runs now may take
        self.steps = 0
        self.risks = 0  # how much was run in `tries` that may have raised for a reason that nobody sees
        self.tries: list[ir.Try] = []  # whose bodies are being run, the innermost last
        self.backward_count = 0  # how many backward passes ran
        self.backpropagated: set[Span] = set()  # where one was executed
        self.changed: set[Span] = set()  # the same of calls that are named as those that change a tensor in place
        self.leading: set[ir.Code] = set()  # functions in which a backward pass was, or in what they called
        self.opened: set[Node] = set()  # of whose graphs unseen parts were taken, by items
        self.passed: set[Node] = set()  # that a backward pass which leaves gradients has passed
        self.trained: set[tuple[Node, Moment]] = set()  # leaves that a step changed, by gradients of that backward pass
        self.failed: dict[tuple[Span, Span], tuple[int, ...]] = {}  # in which iterations, by what was built where
        self.unseen: set[tuple[Span, tuple[int, ...]]] = set()  # backward passes of which nothing is known, and so
        self.arrivals: dict[Span, Arrivals] = {}  # how many ways led to each leaf, by the place of the backward pass
        self.missing_reads: set[Span] = set()  # where something was taken that isn't there
        self.entered: set[ir.Code] = set()  # the codes of the program that were run
        self.defined: set[ir.Code] = set()  # the functions that were made
        self.reached: set[ir.Code] = set()  # those that the running entry has called, were they run or left unseen
        self.unreached = Sites(program, self.defined, self.entered)  # the backward passes that its loops lead to
        self.unset: dict[int, Ref] = {}  # records of attributes that were only read, so far; the objects of these
        self.rounds: dict[Span, frozenset[str]] = {}  # what arms bind whose conditions differ between iterations
        self.repeated: dict[tuple[int, ...], list[State]] = {}  # the ends of iterations of inner loops, in this entry
        self.deep: dict[ir.Code, int] = {}  # how often a function called itself more deeply than is usual
        self.efforts: dict[ir.Code, int] = {}  # the steps that functions which call themselves took in this entry
        self.yielding: set[ir.Code] = set()  # generators that yield once their counters have grown
        self.sampled = 0  # loops of which only some iterations were run
        self.first_only = 0  # of these, those of which the first ones were run, as they are
        self.shortened = False  # whether more is learnt if the script runs all iterations of one that has a known count
        self.forked = False  # whether there was more than one way to go on
        self.gpu_asked = 0  # how often the program asked for a GPU
        self.gpu_missed = False  # whether it then used None as an object: perhaps it has one where there is a GPU
        self.gpu_open = False  # whether it isn't told that there is none
        self.forced = False  # whether an entry is run once more, since no path came to its backward passes
        self.trying = False  # whether a path is tried that nothing is concluded from

    @abstractmethod
    def run(self, block: ir.Block, states: Iterable[State]) -> list[State]:
        """Run a block on each state; what ended early (`flow`) comes back with the rest."""

    @abstractmethod
    def prune(self, states: list[State], span: Span) -> list[State]:
        """Merge what can be merged, and drop what is too much."""

    @abstractmethod
    def refuse(self, state: State, error: type[Exception], describe: Callable[[State], Refusal]) -> None:
        """Tell of a failure, and go on as if it were mended; or raise what torch raises, where the program may have a handler."""

    @abstractmethod
    def withhold(self, state: State, error: type[Exception], failure: Refusal | None) -> None:
        """Raise what torch raises; the failure is told if it leaves the entry. None of what wouldn't be told anyway."""

    @abstractmethod
    def call(self, state: State, func: Value, args: Args, span: Span) -> Results: ...

    @abstractmethod
    def follows(self, state: State, code: ir.Code) -> bool:
        """Whether a call of a function of the program would be run, as far as that shows before it is."""

    @abstractmethod
    def attribute(self, state: State, obj: Value, name: str, span: Span) -> Results: ...

    @abstractmethod
    def set_attribute(self, state: State, obj: Value, name: str, value: Value, span: Span) -> list[State]: ...

    @abstractmethod
    def trial(self, counts: Callable[[Incident], bool]) -> AbstractContextManager[Callable[[], bool]]:
        """Try a path that nothing may be concluded from, but the failures that count; tells whether anything failed."""

    @abstractmethod
    def branch(self, state: State, value: Value, span: Span) -> list[tuple[State, bool]]:
        """The states in which a value is true, and those in which it is false."""

    @abstractmethod
    def part(self, state: State, value: Value, span: Span) -> list[tuple[State, bool]]:
        """The same of a value of which it is known that this path can't decide it."""

    @abstractmethod
    def drain(self, state: State, generator: Value) -> Value:
        """Run a generator to its end; a list of what it yields."""

    @abstractmethod
    def following(self, state: State, generator: Ref, sent: Value, span: Span) -> Results | None:
        """The next item of a generator, which goes on with what it is `sent`; None if that can't be followed."""

    @abstractmethod
    def gap(self, span: Span, reason: str, *, spoils: bool = True, spent: bool = False) -> None: ...

    @abstractmethod
    def leave_unjudged(self, span: Span, reason: str) -> None:
        """A backward pass was run, and rests on what nobody sees; it hinders nothing else."""

    @abstractmethod
    def report(
        self,
        incident: Incident,
        proof: Callable[[], Witness | None] | None = None,
        leaves: frozenset[Node] = frozenset(),
    ) -> None:
        """Tell what was seen; `proof` is asked only if this is how it will be told. `leaves` are those of its graph."""

    @abstractmethod
    def covered(self, state: State, span: Span) -> None:
        """A walk was executed here."""
