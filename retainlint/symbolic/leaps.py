"""Leaps of a loop: between two turns that are run lie others, which may have dropped what the first of them spoilt."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from retainlint import ir
from retainlint.autograd.graph import Node
from retainlint.records import replace
from retainlint.symbolic import arithmetic, reach
from retainlint.symbolic.context import Machine
from retainlint.symbolic.merge import forget_dead
from retainlint.symbolic.plans import Plan
from retainlint.symbolic.state import State, ticket
from retainlint.symbolic.turns import sort_turn
from retainlint.symbolic.values import Const, Instance, ListObj, Ref, Symbol, Term, Value, symbols

NEAR = 8
"""A path that may not leap takes so many turns more, one after the other, until it may."""
BETWEEN = 2
"""So many turns are tried in place of all that lie between: one that drops a graph may do it for the next one only."""

DEAR = 160
"""A second one is tried only where the first took less than such a share of the budget."""
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
    decides = any(plan.loop in each.deciding for each in (first, *states))
    if machine.trying or plan.middle is None or not (plan.indexed or decides):
        return states, []
    at: Value = plan.index(number - 1)
    ready: list[State] = []
    done: list[State] = []
    waiting = states
    for step in range(1, NEAR + 1):
        following: list[State] = []
        index = arithmetic.binary("+", at, Const(step)) or at
        for each in waiting:
            most = plan.most(each)
            if (most is not None and most < 4) or not (lost := _lost(machine, instr, plan, each, first)):
                ready.append(each)
            elif step == NEAR or _is_stuck(machine, plan, each, number + step, number):
                each.reported |= _with_all_below(each, lost)
                ready.append(each)
            else:
                following.append(each)
        waiting = []
        for each in take(following, index) if following else []:
            (done if plan.is_last(each, index) else waiting).append(each)
    return ready, done


def _is_stuck(machine: Machine, plan: Plan, state: State, turns: int, number: int) -> bool:
    """Whether the turn that follows can't be run for itself: there is none, or too little is known of where we are."""
    most = plan.most(state)
    if (most is not None and most < turns) or machine.steps > machine.budget // 2:
        return True
    return number > 3 and plan.middle is not None and plan.middle.id in state.vague


def _lost(machine: Machine, instr: ir.For, plan: Plan, state: State, first: State) -> set[Node]:
    """What this path has walked or changed, and may or may not hold any more once turns between were run; nothing where
    such turns can do no harm with it."""
    spoilt = _spoilt(state)
    if not spoilt:
        return set()
    begun, steps = machine.steps, machine.budget // DEAR
    states, unknowns = [state.fork()], set[int]()
    passing = _passing(state, first, _slides(instr.body))
    lost: set[Node] = set()
    with machine.trial(lambda _: False) as failed:
        for _ in range(BETWEEN):
            states = _turn_between(machine, instr, plan, states, first, unknowns)
            held, missing = _shares(states, spoilt, unknowns, passing, failed=failed())
            lost |= held & missing
            if failed() or any(each.reported != state.reported for each in states):
                return lost
            if not held or machine.steps - begun > steps:
                break
    return set()


def _turn_between(
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
    going, _ = sort_turn(machine.run(instr.body, begun))
    for each in going:
        forget_dead(each, instr.live_turn)
    return going


def _spoilt(state: State) -> set[Node]:
    """The nodes that a walk would be refused at: freed, or what they saved was changed."""
    ledger = state.ledger
    if not ledger.freed and not ledger.versions:
        return set()
    told = {key[0] if isinstance(key, tuple) else key for key in state.reported}
    return {
        node
        for node in reach.nodes(state) - told
        if node in ledger.freed or any(ledger.version(saved.storage) != saved.version for saved in node.saved)
    }


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
        found = spoilt & (reach.nodes(state) | told)
        ever |= found
        if found and passing & state.heap.keys():
            state = state.fork()
            for id in passing & state.heap.keys():
                state.set(Ref(id), ListObj((), True))
            found = spoilt & (reach.nodes(state) | told)
        held[key] = held.get(key, set()) | found
    return ever, {node for node in spoilt if any(node not in nodes for nodes in held.values())}


def _slides(block: ir.Block) -> bool:
    """Whether a loop's turns take items out of lists, as out of a window of so many turns."""
    for instr in block:
        match instr:
            case ir.DelItem():
                return True
            case ir.GetAttr(name=name) if name in _REMOVING:
                return True
            case ir.If(then=then, orelse=orelse) if _slides(then) or _slides(orelse):
                return True
            case ir.For(body=body) | ir.While(body=body) | ir.With(body=body) | ir.Try(body=body) if _slides(body):
                return True
    return False


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
        old = first.frames[id].names if id in first.frames else {}
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
    kept = _below(_spoilt(state) - lost)
    return _below(lost) - kept


def _below(nodes: set[Node]) -> set[Node]:
    found: set[Node] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(edge.node for edge in node.next if edge is not None)
    return found
