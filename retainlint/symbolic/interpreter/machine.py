"""Runs one block of instructions on a set of states; every instruction is one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from retainlint import ir, program
from retainlint.autograd.graph import Node
from retainlint.incident import Entry, Gap, Incident, Witness
from retainlint.lowering.liveness import BRANCHING
from retainlint.startup.records import replace
from retainlint.symbolic.interpreter import attributes, calls, exceptions, generators, instructions, stub_modules
from retainlint.symbolic.interpreter.exceptions import SIGNALS
from retainlint.symbolic.interpreter.instructions import STEPS
from retainlint.symbolic.merging.merge_states import forget_dead, forget_dead_registers, join
from retainlint.symbolic.models.python import options
from retainlint.symbolic.solver import decisions
from retainlint.symbolic.state import events, exception_types, limits
from retainlint.symbolic.state.effort import OutOfSteps
from retainlint.symbolic.state.events import Events
from retainlint.symbolic.state.imports import Project
from retainlint.symbolic.state.path_choice import BEYOND, ONE
from retainlint.symbolic.state.protocol import Args, Arrivals, Machine, Results
from retainlint.symbolic.state.reports import Report, Reports
from retainlint.symbolic.state.state import Choice, Flow, State, ticket
from retainlint.symbolic.state.values import NONE, ClassObj, Failure, Instance, Ref, Term, Value
from retainlint.text.source import Span


def nobody(machine: Interpreter) -> Events:
    """No detector listens."""
    return Events()


class Interpreter(Machine):
    """Runs the instructions of a program, and does what its models ask for."""

    def __init__(
        self,
        program: program.Program,
        budget: int,
        project: Project | None = None,
        *,
        tells_caught: bool = False,
        unrolls: bool = False,
        listeners: Callable[[Interpreter], Events] = nobody,
    ) -> None:
        super().__init__(program, budget, project, tells_caught=tells_caught, unrolls=unrolls)
        self._listeners = listeners
        self.events = listeners(self)
        self.full = budget  # the steps that an entry may take
        self.gaps: dict[Gap, None] = {}
        self.cut_short: dict[ir.Code, str] = {}  # what ran out of steps where it was run for itself, and why
        self.unjudged: dict[Gap, None] = {}  # backward passes of which nothing is known, and why
        self.inheriting: set[tuple[ir.Code, ir.Code]] = set()  # methods that lead to one on objects of these classes
        self.tried_arrivals: dict[Span, Arrivals] = {}  # as they were in trials
        self.presumed: set[Span] = set()  # conditions of the one way in which an object was made
        self.entries: list[Entry] = []
        self.scripted: set[ir.Code] = set()  # functions that were reached from entries which stand for a script
        self.alone = ""  # the name of the entry, if it is a function or method that runs for itself
        self.fitting: tuple[ir.Param, Ref] | None = None  # what a parameter is given, when an entry is run once more
        self.guessed = ""  # the words for that
        self.pruned = False  # whether paths were given up

    # -- what models ask for --------------------------------------------------------------------------------------

    def call(self, state: State, func: Value, args: Args, span: Span) -> Results:
        return calls.call(self, state, func, args, span)

    def attribute(self, state: State, obj: Value, name: str, span: Span) -> Results:
        return attributes.read(self, state, obj, name, span)

    def follows(self, state: State, code: ir.Code) -> bool:
        return calls.follows(self, state, code)

    def drain(self, state: State, generator: Value) -> Value:
        return generators.drain(self, state, generator)

    def following(self, state: State, generator: Ref, sent: Value, span: Span) -> Results | None:
        return generators.following(self, state, generator, sent, span)

    def gap(self, span: Span, reason: str, *, spoils: bool = True, spent: bool = False) -> None:
        """What was not followed may raise; and it `spoils` what is said of waste, if it may use any graph."""
        self.gaps[Gap(span, reason, spent=spent)] = None
        self.risks += 1
        if spoils:
            self.events.emit(events.NotFollowed())

    def refuse(self, state: State, error: type[Exception], describe: Callable[[State], events.Refusal]) -> None:
        if state.guards:
            self.withhold(state, error, describe(state.fork()))
        else:
            self.events.emit(describe(state))

    def withhold(self, state: State, error: type[Exception], failure: events.Refusal | None) -> None:
        number = 0
        if failure is not None:
            number = self.reports.keep(lambda: self.events.emit(failure), len(state.choices))
            state.swallowed += (number,)
        kind = next(each for each in error.__mro__ if each.__module__ == "builtins")
        state.flow = Flow("raise", Failure(kind.__name__, message=str(error()), number=number))

    def leave_entry(self, states: Iterable[State]) -> None:
        """Run the threads that still wait; and tell of the failures that were expected, and end the program all the same: of the one that
        an error of autograd's is, or of all that were dealt with where it ends by another error."""
        leaving: dict[int, list[tuple[Choice, ...]]] = {}
        for state in (after for each in states for after in stub_modules.ended(self, each)):
            if state.flow is None or state.flow.kind != "raise" or (raised := state.flow.value) is None:
                continue
            quiet = exception_types.kind_of(state, raised).type in {"SystemExit", *SIGNALS}
            ends = () if quiet else state.swallowed
            if isinstance(raised, Failure) and (raised.kept or raised.message is not None):
                ends = raised.kept or (raised.number,)
            for number in dict.fromkeys(ends):
                leaving.setdefault(number, []).append(state.choices)
        for number, ways in sorted(leaving.items()):
            self.reports.left(number, ways)

    def leave_unjudged(self, span: Span, reason: str) -> None:
        self.unjudged[Gap(span, reason, backward=True)] = None

    def covered(self, state: State, span: Span) -> None:
        self.backpropagated.add(span)
        for frame in (state.frames[each] for each in state.stack):
            self.leading.add(frame.code)
            held = state.get(frame.names.get(frame.code.params[0].name, NONE)) if frame.code.params else None
            if isinstance(held, Instance) and isinstance(cls := state.get(held.cls), ClassObj):
                self.inheriting.add((frame.code, cls.code))

    def report(
        self,
        incident: Incident,
        proof: Callable[[], Witness | None] | None = None,
        leaves: frozenset[Node] = frozenset(),
    ) -> None:
        if not self.imports.loading:
            if (
                self.unrolls
                and self.forked
                and any(each.incident.primary == incident.primary for each in self.reports[:-1])
            ):
                self.budget = self.steps  # it fails again and again: no more will be learnt
            told = replace(incident, alone=self.alone, guessed=self.guessed)
            self.reports.tell(Report(told, proof, leaves, ticket()))

    def close(self) -> None:
        """Part from the listeners, which hold the machine: a circle would keep all its states until it is found."""
        self.events = Events()
        self.graphs.emit = self.events.emit
        self.reports = Reports()

    @contextmanager
    def trial(self, counts: Callable[[Incident], bool]) -> Iterator[Callable[[], bool]]:
        known, listening, passed, trained = len(self.reports), self.events, self.passed, self.trained
        count, arrivals = self.backward_count, self.arrivals
        self.arrivals = dict(arrivals)
        self.trying, self.events, self.passed, self.trained = True, self._listeners(self), set(passed), set(trained)
        try:
            yield lambda: len(self.reports) > known
        finally:
            self.trying, self.events, self.passed, self.trained = False, listening, passed, trained
            self.tried_arrivals |= {
                place: replace(each, later=None, left=frozenset()) for place, each in self.arrivals.items()
            }
            self.backward_count, self.arrivals = count, arrivals
            self.reports[known:] = [report for report in self.reports[known:] if counts(report.incident)]

    def set_attribute(self, state: State, obj: Value, name: str, value: Value, span: Span) -> list[State]:
        return attributes.write(self, state, obj, name, value, span)

    def branch(self, state: State, value: Value, span: Span) -> list[tuple[State, bool]]:
        truth = decisions.decide(state, value)
        return [(state, truth)] if truth is not None else self.part(state, value, span)

    def part(self, state: State, value: Value, span: Span) -> list[tuple[State, bool]]:
        self.forked = True
        negated = False
        while isinstance(value, Term) and (value.op == "not" or decisions.is_cast(value)):
            negated ^= value.op == "not"
            value = value.args[0]
        value = decisions.asked(state, value)
        if isinstance(value, Term) and value.op == "not":
            negated, value = not negated, value.args[0]
        other, usual = state.fork(), options.usual(state, value)
        state.assume(value, not negated, span, True, usual=usual)
        other.assume(value, negated, span, False, usual=usual)
        decisions.follow(state, value, not negated)
        decisions.follow(other, value, negated)
        return [(state, True), (other, False)]

    def begin_entry(self) -> None:
        """Let what runs next take an entry's steps; few, if the file has taken too much by now."""
        self.budget = self.graphs.effort.begin(self.steps, self.full)
        self.steps = 0
        self.repeated.clear()

    # -- running --------------------------------------------------------------------------------------------------

    def run(self, block: ir.Block, states: Iterable[State]) -> list[State]:
        live = list(states)
        done: list[State] = []
        chooser = self.chooser
        beside = chooser.beside
        try:
            for index, instr in enumerate(block):
                step = STEPS[type(instr)]
                if len(live) == 1:
                    state = live[0]
                    self.steps += 1
                    if self.steps > self.budget:
                        raise OutOfSteps
                    if self.tries:
                        self.risks += exceptions.may_raise(state, instr)
                    if index and type(instr) is ir.If:  # whose arms each copy what is alive
                        forget_dead_registers(state, block, index - 1)
                    after = step(self, instr, state)
                    if after is None and state.flow is None:
                        continue
                    chooser.beside = beside
                    live = self.behind(instr, state, live if after is None else after, done)
                    if not live:
                        break
                    continue
                chooser.beside = beside * len(live)
                self.forked |= len(live) > 1
                following: list[State] = []
                before = self.steps
                for state in live:
                    self.steps += 1
                    if self.steps > self.budget:
                        raise OutOfSteps
                    if self.tries:
                        self.risks += exceptions.may_raise(state, instr)
                    after = step(self, instr, state)
                    if after is None:
                        (following if state.flow is None else done).append(state)
                        continue
                    for each in after:
                        (following if each.flow is None else done).append(each)
                chooser.beside = beside
                if not following and type(instr) is ir.Load:
                    following, done = instructions.bound_elsewhere(instr, live, done)
                if len(following) > 1 and self.steps - before > len(live):
                    following = self.together(following, block, index)
                if len(following) > 1 and len(following) > self.room:
                    following = self.prune(following, instr.span)
                live = following
                if not live:
                    break
        finally:
            chooser.beside = beside
        return done + live

    def behind(self, instr: ir.Instr, state: State, after: list[State], done: list[State]) -> list[State]:
        """Those that go on behind an instruction that one state was run through; the others are put to what is `done`."""
        live: list[State] = []
        for each in after:
            (live if each.flow is None else done).append(each)
        if not live and type(instr) is ir.Load:
            live, done[:] = instructions.bound_elsewhere(instr, [state], done)
        return self.prune(live, instr.span) if len(live) > 1 and len(live) > self.room else live

    def together(self, states: list[State], block: ir.Block, index: int) -> list[State]:
        """Merge those that come out of one instruction side by side, and are alike: what told them apart before it may be
        dead by now."""
        instr = block[index]
        if isinstance(instr, BRANCHING):
            for each in states:
                forget_dead(each, instr.live)
        else:
            for each in states:
                forget_dead_registers(each, block, index)
        return join(self.graphs, states, beside=self.chooser.beside, exact=True)

    def _takes_too_much(self, state: State) -> bool:
        """Whether a path has chosen so much that nothing which fails on it will be told."""
        asked = {choice.condition.span for choice in state.choices} - self.presumed
        return len(asked) > limits.CONDITIONS_TOLD

    @property
    def room(self) -> int:
        """How many states may run side by side in the block that is being run."""
        share = self.graphs.effort.share
        room = self.chooser.room(max(self.steps / self.full, 2 * share)) if share < limits.ONE_PATH_FROM else 1
        defines = self.running is self.program.module and self.steps > limits.DEFINING_STEPS and not self.backpropagated
        return min(room, BEYOND.widest) if defines else room

    def prune(self, states: list[State], span: Span) -> list[State]:
        states = join(self.graphs, states, beside=self.chooser.beside)
        room = self.room
        if len(states) <= room:
            return states
        self.pruned = True
        if self.unrolls and all(self._takes_too_much(each) for each in states):
            raise OutOfSteps
        few, whole = self.chooser.few(states, room, span, options.way(states))
        if self.chooser.breadth is ONE:
            return few
        self.gap(span, "too many combinations of conditions: not all were followed", spoils=False, spent=True)
        self.events.emit(events.PathsDropped(whole))
        return few
