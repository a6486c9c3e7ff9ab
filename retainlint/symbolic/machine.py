"""Runs one block of instructions on a set of states; every instruction is one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from retainlint import ir
from retainlint.autograd.graph import Node
from retainlint.incident import Gap, Incident, Witness
from retainlint.source import Span
from retainlint.symbolic import (
    attributes,
    branches,
    calls,
    contexts,
    definitions,
    facts,
    failures,
    generators,
    imports,
    items,
    loops,
    raised,
    risks,
)
from retainlint.symbolic.context import Args, OutOfSteps, Results
from retainlint.symbolic.graphs import Graphs
from retainlint.symbolic.merge import join
from retainlint.symbolic.models import containers, operations, unknown
from retainlint.symbolic.project import Imports, Project
from retainlint.symbolic.state import Flow, Frame, State
from retainlint.symbolic.values import Const, External, Failure, Term, Value
from retainlint.symbolic.waste import Account

WIDEST = 24
"""How many states may run side by side; more are dropped, and that is said."""


@dataclass(frozen=True)
class Report:
    """An incident, and how to prove it."""

    incident: Incident
    proof: Callable[[], Witness | None] | None


class Interpreter:
    """The machine. One for each exploration; states carry all that differs between paths."""

    def __init__(
        self, program: ir.Program, budget: int, project: Project | None = None, *, tells_caught: bool = False
    ) -> None:
        self.program = program
        self.tells_caught = tells_caught
        self.imports = Imports(project)
        self.graphs = Graphs()
        self.waste = Account(self.graphs)
        self.budget = budget
        self.steps = 0
        self.reports: list[Report] = []
        self.gaps: dict[Gap, None] = {}
        self.walked: set[Span] = set()
        self.passed: set[Node] = set()
        self.trained: set[Node] = set()
        self.slips: set[Span] = set()
        self.entered: set[ir.Code] = set()
        self.running = program.module  # the entry
        self.unset: set[int] = set()
        self.deep: dict[ir.Code, int] = {}
        self.watching = 0
        self.risks = 0

    # -- what models ask for --------------------------------------------------------------------------------------

    def call(self, state: State, func: Value, args: Args, span: Span) -> Results:
        return calls.call(self, state, func, args, span)

    def attribute(self, state: State, obj: Value, name: str, span: Span) -> Results:
        return attributes.read(self, state, obj, name, span)

    def drain(self, state: State, generator: Value) -> Value:
        return generators.drain(self, state, generator)

    def gap(self, span: Span, reason: str) -> None:
        self.gaps[Gap(span, reason)] = None
        self.risks += 1  # what was not followed may raise
        self.waste.spoil()

    def covered(self, span: Span) -> None:
        self.walked.add(span)

    def report(self, incident: Incident, proof: Callable[[], Witness | None] | None = None) -> None:
        if not self.imports.loading:
            self.reports.append(Report(incident, proof))

    def set_attribute(self, state: State, obj: Value, name: str, value: Value, span: Span) -> list[State]:
        return attributes.write(self, state, obj, name, value, span)

    def branch(self, state: State, value: Value, span: Span) -> list[tuple[State, bool]]:
        truth = facts.decide(state, value)
        if truth is not None:
            return [(state, truth)]
        negated = False
        while isinstance(value, Term) and value.op == "not":
            value, negated = value.args[0], not negated
        other = state.fork()
        state.assume(value, not negated, span, True)
        other.assume(value, negated, span, False)
        return [(state, True), (other, False)]

    # -- running --------------------------------------------------------------------------------------------------

    def run(self, block: ir.Block, states: Iterable[State]) -> list[State]:
        """Run a block on each state; what ended early (`flow`) comes back with the rest."""
        live = list(states)
        done: list[State] = []
        for instr in block:
            following: list[State] = []
            for state in live:
                self.steps += 1
                if self.steps > self.budget:
                    raise OutOfSteps
                if self.watching:
                    self.risks += risks.may_raise(state, instr)
                for after in self.step(instr, state):
                    (done if after.flow is not None else following).append(after)
            if len(following) > WIDEST:
                following = self.thin(following, instr.span)
            live = following
            if not live:
                break
        return done + live

    def thin(self, states: list[State], span: Span) -> list[State]:
        """Merge what can be merged, and drop what is too much."""
        states = join(self.graphs, states)
        if len(states) > WIDEST:
            self.gap(span, f"more than {WIDEST} combinations of conditions: not all were followed")
        return states[:WIDEST]

    def step(self, instr: ir.Instr, state: State) -> list[State]:
        """Run one instruction."""
        match instr:
            case ir.If():
                return branches.run_if(self, instr, state)
            case ir.For():
                return loops.run_for(self, instr, state)
            case ir.While():
                return loops.run_while(self, instr, state)
            case ir.Yield():
                return generators.run_yield(self, instr, state)
            case ir.With():
                return contexts.run_with(self, instr, state)
            case ir.Try():
                return failures.run_try(self, instr, state)
            case ir.Break():
                return self.end(state, Flow("break"))
            case ir.Continue():
                return self.end(state, Flow("continue"))
            case ir.Return(src=src):
                return self.end(state, Flow("return", state.read(src)))
            case ir.Raise(src=source):
                return self.end(state, Flow("raise", raised.failure(state, source)))
            case ir.Call(dst=dst, func=func):
                args = calls.arguments(state, instr)
                return self.put(self.call(state, state.read(func), args, instr.span), dst, instr.span)
            case ir.GetAttr(dst=dst, obj=obj, name=name):
                return self.put(self.attribute(state, state.read(obj), name, instr.span), dst, instr.span)
            case ir.Binary(dst=dst):
                return self.put(operations.binary(self, state, instr), dst, instr.span)
            case ir.Decorate(dst=dst, decorator=decorator, target=target):
                found = definitions.decorate(self, state, state.read(decorator), state.read(target), instr.span)
                return self.put(found, dst, instr.span)
            case ir.MakeClass():
                return definitions.make_class(self, state, instr)
            case ir.Compare(dst=dst):
                return self.put(operations.compare(self, state, instr), dst, instr.span)
            case ir.GetItem(dst=dst, obj=obj, index=index):
                found = items.read(self, state, state.read(obj), state.read(index), instr.span)
                return self.put(found, dst, instr.span)
            case ir.SetItem(obj=obj, index=index, src=src):
                return items.write(self, state, state.read(obj), state.read(index), state.read(src), instr.span)
            case ir.SetAttr(obj=obj, name=name, src=src):
                return attributes.write(self, state, state.read(obj), name, state.read(src), instr.span)
            case _:
                self.simple(instr, state)
                return [state]

    def put(self, results: Results, dst: int, span: Span) -> list[State]:
        """Write each result into its state's register."""
        for state, value in results:
            if state.flow is None:
                state.write(dst, value, span)
        return [state for state, _ in results]

    def end(self, state: State, flow: Flow) -> list[State]:
        state.flow = flow
        return [state]

    def simple(self, instr: ir.Instr, state: State) -> None:
        """Instructions that neither fork nor call."""
        span = instr.span
        match instr:
            case ir.Const(dst=dst, value=literal):
                state.write(dst, Const(literal), span)
            case ir.Move(dst=dst, src=src):
                state.write(dst, state.read(src), state.frame.spans.get(src, span))
            case ir.Load(dst=dst, name=name, scope=scope):
                loaded = self.load(state, name, scope, span)
                if loaded is None:
                    state.flow = Flow("raise", Failure("NameError"))
                else:
                    state.write(dst, loaded, span)
            case ir.Store(name=name, scope=scope, src=src):
                unknown.named(state, state.read(src), name)
                self.scope(state, name, scope).names[name] = state.read(src)
            case ir.Delete(name=name, scope=scope):
                self.scope(state, name, scope).names.pop(name, None)
            case ir.Unary(dst=dst, op=op, operand=operand):
                state.write(dst, operations.unary(self, state, op, state.read(operand), span), span)
            case ir.Build(dst=dst):
                state.write(dst, containers.build(self, state, instr), span)
            case ir.Append(container=container, item=item):
                key = None if item.key is None else state.read(item.key)
                containers.append(state, state.read(container), state.read(item.value), key)
            case ir.Unpack(dsts=dsts):
                for dst, value in zip(dsts, items.unpack(self, state, instr), strict=True):
                    state.write(dst, value, span)
            case ir.Import(dst=dst):
                state.write(dst, imports.imported(self, state, instr), span)
            case ir.MakeFunction(dst=dst, code=code):
                state.write(dst, definitions.make_function(state, code), span)
            case ir.MakeType(dst=dst, name=name):
                state.write(dst, External(f"typing.{name}"), span)
            case ir.Await(dst=dst, src=src):
                state.write(dst, state.read(src), span)
            case ir.Opaque(dst=opaque, reason=reason):
                self.gap(span, reason)
                if opaque is not None:
                    state.write(opaque, unknown.fresh(state, span), span)
            case ir.DelItem(obj=obj, index=index):
                items.delete(state, state.read(obj), state.read(index))
            case ir.DelAttr(obj=obj, name=name):
                attributes.delete(state, state.read(obj), name)
            case _:
                raise AssertionError(f"no step for {type(instr).__name__}")

    # -- names ----------------------------------------------------------------------------------------------------

    def scope(self, state: State, name: str, scope: ir.Scope) -> Frame:
        """The frame that a write to `name` goes to."""
        if scope is ir.Scope.LOCAL:
            return state.writable()
        if scope is ir.Scope.GLOBAL:
            return state.writable(self.module_frame(state))
        holder = self.holder(state, name)
        return state.writable(holder if holder is not None else self.module_frame(state))

    def module_frame(self, state: State) -> int:
        """The frame of the module in whose text the running code stands."""
        return self.imports.of[state.frame.code.span.source]

    def holder(self, state: State, name: str) -> int | None:
        """The nearest frame around the running one that has `name` as a local."""
        at = state.frame.parent
        while at is not None and at in state.frames:
            frame = state.frames[at]
            if name in frame.code.local_names and not isinstance(frame.cls, str):
                return at
            at = frame.parent
        return None

    def load(self, state: State, name: str, scope: ir.Scope, span: Span) -> Value | None:
        """The value of a name; None where this path has not bound a name of its own, and so can't come here."""
        found = self.bound(state, name, scope, span)
        return found if found is None else imports.resolve(self, state, found, span)

    def bound(self, state: State, name: str, scope: ir.Scope, span: Span) -> Value | None:
        """What a name is bound to."""
        if scope is ir.Scope.LOCAL:
            if name in state.frame.names:
                return state.frame.names[name]
        elif scope is ir.Scope.ENCLOSING:
            holder = self.holder(state, name)
            if holder is not None and name in state.frames[holder].names:
                return state.frames[holder].names[name]
        module = self.module_frame(state)
        names = state.frames[module].names
        if name in names:
            return names[name]
        if name in calls.BUILTINS:
            return External(f"builtins.{name}")
        if (starred := imports.from_star(self, state, module, name, span)) is not None:
            return starred
        self.slips.add(span)
        if scope is not ir.Scope.ENCLOSING and name in state.frame.code.local_names:
            return None
        missing = unknown.fresh(state, span, name=name)
        self.scope(state, name, scope).names[name] = missing
        return missing
