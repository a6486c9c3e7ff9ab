"""Between two iterations that are run lie others: what these may have changed, and counters that are tried for arms that no iteration reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from retainlint import ir
from retainlint.autograd.graph import Node, walk
from retainlint.incident import Freed, Incident, InferenceUsed, LeafModified, Modified, Moment, NoGraph, ViewModified
from retainlint.ir import facts
from retainlint.startup.records import replace
from retainlint.symbolic.interpreter import loop_plan
from retainlint.symbolic.interpreter.loop_plan import Plan
from retainlint.symbolic.merging.merge_states import forget_dead, sort_iteration
from retainlint.symbolic.solver import terms
from retainlint.symbolic.state import limits, reachability
from retainlint.symbolic.state.effort import OutOfSteps
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import Const, Instance, ListObj, Ref, Symbol, Term, Value, symbols
from retainlint.text.source import Span


class Counting:
    """What a loop counts and gathers from its first turn to the one that is tried."""

    def __init__(self, machine: Machine, loop: ir.For | ir.While) -> None:
        self.machine, self.loop = machine, loop
        self.names: loop_plan.Sizes = {}
        self.objects: loop_plan.Sizes | None = None
        self.tried: set[loop_plan.Place] = set()
        self.left = 0 if machine.trying or machine.unrolls else limits.ACCELERATIONS

    def iteration(self, number: int, begun: list[State], again: Callable[[State], list[State]]) -> None:
        """A turn begins in each of these states; `again` begins another one behind it."""
        machine = self.machine
        if not (self.left and begun):
            return
        if number == 1:
            self.names = loop_plan.of_names(begun[0])
            if any(map(machine.unreached.may_backpropagate, self._loops(begun[0]))) or self._gathers(begun[0]):
                self.objects = loop_plan.of_objects(begun[0])
            return
        state, places = max(((each, self._grown(each)) for each in begun), key=lambda pair: len(pair[1]))
        if not places <= self.tried:
            self.left -= 1
            self.tried |= places
            _attempt(machine, self.loop, state, places, again)

    def _grown(self, state: State) -> set[loop_plan.Place]:
        """The counters on which an arm of the loop depends: those in its tests, all where a walk is still to be reached."""
        machine = self.machine
        if machine.steps > machine.budget // 2:
            return set()
        names = loop_plan.grown(state, self.names, loop_plan.of_names(state))
        reached = machine.backpropagated | machine.changed
        missed = self._gathers(state) or not all(
            machine.unreached.is_reached(each, reached) for each in self._loops(state)
        )
        if self.objects is not None and missed:
            return names | loop_plan.grown(state, self.objects, loop_plan.of_objects(state))
        return names & set(_counters(self.loop)) if names and not state.frame.consumer else set()

    def _loops(self, state: State) -> list[ir.For | ir.While]:
        """The loop, and the one that takes what it yields."""
        consumer = state.frame.consumer
        return [self.loop] if consumer is None or consumer.loop is None else [self.loop, consumer.loop]

    def _gathers(self, state: State) -> bool:
        """Whether it is the loop of a generator that hasn't yielded so far."""
        return (
            state.frame.code.is_generator
            and not state.frame.yielded
            and any(isinstance(each, ir.Yield) for each in ir.walk(self.loop.body))
        )


def _attempt(
    machine: Machine,
    loop: ir.For | ir.While,
    state: State,
    places: set[loop_plan.Place],
    again: Callable[[State], list[State]],
) -> None:
    """Run a turn with its counters unknown, on a path of its own. Where it walks, run one that doesn't, as those do in
    which the counters grow again, and one more. What is told are failures of one turn alone, since nobody knows how many
    turns lie before it; and of what goes from one to the other, that which no condition but the arm's own may prevent."""
    tried = state.fork()
    tried.ledger.freed.clear()  # what earlier turns freed, those between may have built anew
    loop_plan.widen(tried, places)
    known = frozenset(choice.condition.span for choice in state.choices)
    budget = machine.budget
    machine.budget = min(budget, machine.steps + limits.ACCELERATION_STEPS)

    def run(begun: list[State], *, backpropagating: bool) -> list[State]:
        """Run a turn, and begin another one behind those paths that walked in it, or behind the others."""
        before = max((len(each.backward_passes) for each in begun), default=0)
        renewed = loop_plan.of_objects(begun[0]) if begun and not backpropagating else {}
        going, _ = sort_iteration(machine.run(loop.body, begun))
        going = machine.prune(
            [each for each in going if (len(each.backward_passes) > before) is backpropagating], loop.span
        )
        for each in going:
            if backpropagating:
                loop_plan.widen(each, places - loop_plan.reset(each, places))
            else:  # an object that counts may be another one since
                loop_plan.widen(each, places | loop_plan.grown(each, renewed, loop_plan.of_objects(each)))
        return [following for each in going for following in again(each)]

    try:
        with machine.trial(partial(_counts, loop.span, known)):
            between = run([tried], backpropagating=True)
            run(run(between, backpropagating=False), backpropagating=True)
    except OutOfSteps:
        if machine.steps > budget:
            raise
    finally:
        machine.budget = budget


def _counters(loop: ir.For | ir.While) -> Iterator[str]:
    """The variables whose remainder, or whose one value, decides an arm of the loop's body."""
    for test in (each for each in ir.walk(loop.body) if isinstance(each, ir.If)):
        yield from facts.of_span(test.span).measured


def _counts(loop: Span, known: frozenset[Span], incident: Incident) -> bool:
    """Whether a failure has its graph, or what cut it off, and all that happened to it, from one turn that was tried; or a turn that doesn't
    walk lies between, and none but the arm's own condition led to it."""
    match incident:
        case Freed():
            moments = incident.built, incident.freed.moment, incident.reused.moment
        case Modified():
            moments = incident.built, incident.modified, incident.backward_pass.moment
        case LeafModified() | ViewModified() | InferenceUsed() | NoGraph(reason="no_grad"):
            return True
        case NoGraph(cut=Moment() as cut):
            moments = cut, cut, incident.backward_pass.moment
        case _:
            return False
    built, spoilt, needed = (_iteration(each, loop) for each in moments)
    chosen = {condition.span for condition in incident.conditions} - known
    return built == spoilt == needed or (spoilt + 2 == needed and len(chosen) <= 1)


def _iteration(moment: Moment, loop: Span) -> int:
    return next((iteration.number for iteration in moment.iterations if iteration.loop == loop), 0)


_REMOVING = {"pop", "popleft", "remove"}


TakeTurn: TypeAlias = Callable[[list[State], Value], list[State]]
"""Runs a turn at an index; the states that go on."""


def cross(
    machine: Machine, instr: ir.For, plan: Plan, states: list[State], first: State, number: int, take: TakeTurn
) -> tuple[list[State], list[State]]:
    """The states in which turn `number` may begin, though turns lie between it and the last that was run; and those
    that have run their last turn meanwhile.

    Where such a turn might drop a graph that was walked, since a condition on the loop's counter decides that, the path
    goes on with the turns that follow, as they are; what it can't get rid of is silenced. `first` is a state from the
    end of the first turn: what counts was another number there.
    """
    decides = any(plan.loop in each.base.deciding for each in (first, *states))
    if machine.trying or plan.middle is None or not (plan.indexed or decides):
        return states, []
    at: Value = plan.index(number - 1)
    ready: list[State] = []
    done: list[State] = []
    waiting = states
    for step in range(1, limits.SKIP_ITERATIONS + 1):
        following: list[State] = []
        index = terms.binary("+", at, Const(step)) or at
        for each in waiting:
            most = plan.most(each)
            if (most is not None and most < 4) or not (lost := _lost(machine, instr, plan, each, first)):
                ready.append(each)
            elif step == limits.SKIP_ITERATIONS or _is_stuck(machine, plan, each, number + step, number):
                each.reported |= _with_all_below(each, lost)
                ready.append(each)
            else:
                following.append(each)
        waiting = []
        for each in take(following, index) if following else []:
            (done if plan.is_last(each, index) else waiting).append(each)
    return ready, done


def _is_stuck(machine: Machine, plan: Plan, state: State, iterations: int, number: int) -> bool:
    """Whether the turn that follows can't be run for itself: there is none, or too little is known of where we are."""
    most = plan.most(state)
    if (most is not None and most < iterations) or machine.steps > machine.budget // 2:
        return True
    return number > 3 and plan.middle is not None and plan.middle.id in state.imprecise


def _lost(machine: Machine, instr: ir.For, plan: Plan, state: State, first: State) -> set[Node]:
    """What this path has walked or changed, and may or may not hold any more once turns between were run; nothing where
    such turns can do no harm with it."""
    spoilt = _spoilt(state)
    if not spoilt:
        return set()
    begun, steps = machine.steps, machine.budget // limits.SECOND_TRY_DIVISOR
    states, unknowns = [state.fork()], set[int]()
    passing = _passing(state, first, any(map(_removes, ir.walk(instr.body))))
    lost: set[Node] = set()
    with machine.trial(lambda _: False) as failed:
        for _ in range(limits.SKIPPED_ITERATIONS_TRIED):
            states = _iteration_between(machine, instr, plan, states, first, unknowns)
            held, missing = _shares(states, spoilt, unknowns, passing, failed=failed())
            lost |= held & missing
            if failed() or any(each.reported != state.reported for each in states):
                return lost
            if not held or machine.steps - begun > steps:
                break
    return set()


def _iteration_between(
    machine: Machine, instr: ir.For, plan: Plan, states: list[State], first: State, unknowns: set[int]
) -> list[State]:
    """Run some turn that lies between those that are run; `unknowns` are added to by what nobody knows of it."""
    begun: list[State] = []
    for each in states:
        index = Symbol(ticket(), 2, plan.last, plan.loop)
        unknowns |= {index.id, *_forget_counts(each, first)}
        for current, item in plan.at(each, index):
            if current.flow is None:
                current.write(instr.item, item, instr.span)
                begun.append(current)
    going, _ = sort_iteration(machine.run(instr.body, begun))
    for each in going:
        forget_dead(each, instr.live_iteration)
    return going


def _spoilt(state: State) -> set[Node]:
    """The nodes that a walk would be refused at."""
    ledger = state.ledger
    if not ledger.freed and not ledger.versions:
        return set()
    told = {key[0] if isinstance(key, tuple) else key for key in state.reported}
    return {node for node in reachability.nodes(state) - told if reachability.is_spoilt(state, node)}


def _shares(
    states: list[State], spoilt: set[Node], unknowns: set[int], passing: set[int], *, failed: bool
) -> tuple[set[Node], set[Node]]:
    """The nodes that some path still holds, or failed at; and those that none holds with some answers to conditions on
    counters. What is held by lists through which items pass, may be gone. A path that `failed` may have become one with
    another, that dropped what it failed at."""
    held: dict[frozenset[tuple[Value, bool]], set[Node]] = {}
    ever = set(spoilt) if failed else set[Node]()
    for state in states:
        key = frozenset(each for each in state.truths.items() if unknowns & symbols(each[0]))
        merged = failed and any(isinstance(term, Term) and term.op == "any" for term, _ in key)
        told = set() if merged else {each[0] if isinstance(each, tuple) else each for each in state.reported}
        found = spoilt & (reachability.nodes(state) | told)
        ever |= found
        if found and not passing.isdisjoint(state.heap):
            state = state.fork()
            for id in passing.intersection(state.heap):
                state.set(Ref(id), ListObj((), True))
            found = spoilt & (reachability.nodes(state) | told)
        held[key] = held.get(key, set()) | found
    return ever, {node for node in spoilt if any(node not in nodes for nodes in held.values())}


def _removes(instr: ir.Instr) -> bool:
    """Whether a loop's turns may take items out of lists by it, as out of a window of so many turns."""
    return isinstance(instr, ir.DelItem) or (isinstance(instr, ir.GetAttr) and instr.name in _REMOVING)


def _passing(state: State, first: State, slides: bool) -> set[int]:
    """The lists through which items may pass: those that hold others than at an earlier turn's end."""
    found: set[int] = set()
    for id, held in state.heap.items():
        if isinstance(held, ListObj) and (slides or held.limit is not None):
            before = dict.get(first.heap, id)
            if not isinstance(before, ListObj) or before.items != held.items:
                found.add(id)
    return found


def _forget_counts(state: State, first: State) -> set[int]:
    """Make unknown what counts turns, or alternates: numbers and flags that an earlier turn left otherwise."""
    made: set[int] = set()

    def changed(value: Value, before: Value | None) -> Value:
        match value:
            case Const(int(number)) if before is not None and value != before:
                symbol = Symbol(ticket(), 0 if isinstance(number, bool) else number)
                made.add(symbol.id)
                return Term("bool", (symbol,)) if isinstance(number, bool) else symbol
        return value

    for id, frame in list(state.frames.items()):
        old = first.frames[id].names if first.frames.has(id) else {}
        for name, value in list(frame.names.items()):
            if (now := changed(value, old.get(name))) is not value:
                state.writable(id).names[name] = now
    for id, held in list(state.heap.items()):
        before = dict.get(first.heap, id)
        if before is held:
            continue
        if isinstance(held, Instance) and isinstance(before, Instance):
            attrs = {name: changed(value, before.attrs.get(name)) for name, value in held.attrs.items()}
            state.set(Ref(id), replace(held, attrs=attrs))
        elif isinstance(held, ListObj) and isinstance(before, ListObj) and len(held.items) != len(before.items):
            state.set(Ref(id), replace(held, open=True))
    return made


def _with_all_below(state: State, lost: set[Node]) -> set[Node]:
    """These nodes, and what lies below them and is reached through nothing else that is spoilt."""
    return {*walk(lost)}.difference(walk(_spoilt(state) - lost))
