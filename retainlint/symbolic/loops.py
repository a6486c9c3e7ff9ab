"""Loops: turn by turn, until the state repeats."""

from __future__ import annotations

from functools import partial

from retainlint import ir
from retainlint.incident import Turn
from retainlint.source import Span
from retainlint.symbolic import counters, facts, leaps, plans
from retainlint.symbolic.classes import find
from retainlint.symbolic.context import Args, Machine
from retainlint.symbolic.generators import over_generator
from retainlint.symbolic.merge import forget_dead
from retainlint.symbolic.models import unknown
from retainlint.symbolic.reach import sweep
from retainlint.symbolic.state import State
from retainlint.symbolic.turns import leave_loop, new_states, settled, sort_turn
from retainlint.symbolic.values import (
    Bound,
    GeneratorObj,
    Instance,
    Value,
)

KNOWN_TURNS = 12
"""While its condition is known, a `while` runs so many turns at most."""


UNKNOWN_TURNS = 4


COUNTERS = 3
"""From this turn on, a state that differs from an earlier one only by numbers and texts counts as repeated."""


def run_for(machine: Machine, instr: ir.For, state: State) -> list[State]:
    after: list[State] = []
    for each, iterable in _iterated(machine, state, state.read(instr.iterable), instr.span):
        held = each.get(iterable)
        if each.flow is not None:
            after.append(each)
        elif isinstance(held, GeneratorObj):
            begun = each.fork()
            ways = over_generator(machine, instr, each, held)
            after += _over(machine, instr, begun, unknown.fresh(begun, instr.span)) if ways is None else ways
        else:
            after += _over(machine, instr, each, iterable)
    return after


def _over(machine: Machine, instr: ir.For, state: State, iterable: Value) -> list[State]:
    outer = state.turns
    plan = plans.plan(machine, state, iterable, instr.span, len(instr.body))
    deep = _is_deep(machine, outer)
    ended: list[State] = []  # left the loop otherwise than by its end
    seen: list[State] = []
    live = [state]
    exhausted: list[State] = []
    first: State | None = None

    def begin(states: list[State], index: Value, number: int) -> list[State]:
        """Take the item at an index, for a turn of at least that number."""
        begun: list[State] = []
        for each in states:
            before = each.turns[len(outer)].number if len(each.turns) > len(outer) else 0
            turn = max(number, before + 1)
            each.turns = (*outer, Turn(instr.span, turn, depth=len(each.calls), sure=plan.sure, few=plan.exact))
            plan.presume(each, number)
            for current, item in plan.at(each, index):
                if current.flow is None:
                    current.write(instr.item, item, instr.span)
                    begun.append(current)
                else:
                    ended.append(current)
        return begun

    def run(begun: list[State]) -> list[State]:
        live, left = sort_turn(machine.run(instr.body, begun))
        ended.extend(left)
        for each in live:
            forget_dead(each, instr.live_turn)
            sweep(each)
        return machine.thin(live, instr.span)

    machine.sampled += not plan.exact
    counting = counters.Counting(machine, instr)
    for number in range(1, plan.turns + 1):
        exhausted += [each for each in live if plan.lacks(each, number)]
        live = [each for each in live if not plan.lacks(each, number)]
        if number > 2 and first is not None:
            live, gone = leaps.cross(
                machine, instr, plan, live, first, number, lambda states, index: run(begin(states, index, 1))
            )
            exhausted += gone
        skipping = [each for each in live if plan.skips(each, number)]
        begun = begin([each for each in live if not plan.skips(each, number)], plan.index(number), number)
        if not plan.exact:
            known = len(ended)
            counting.turn(number, begun, lambda each: begin([each], plan.index(3), 1))
            del ended[known:]
        live = skipping + run(begun)
        if plan.size is not None and number < plan.turns:
            over = [each for each in live if plan.is_last(each, plan.index(number))]
            exhausted += over
            live = [each for each in live if all(each is not one for one in over)]
        if live and plan.may_end(live[0], number):
            live, repeated = new_states(
                machine, live, seen, lenient=number >= COUNTERS and not plan.exact, grown=not plan.exact
            )
            exhausted += repeated
        if not live or (deep and number >= 2 and not plan.exact and plan.loop not in live[0].deciding):
            break
        if number == 1 and not plan.exact:
            first = live[0].fork()
        if not plan.indexed:
            seen += [each.fork() for each in live]
    plan.forget(exhausted + live + ended)
    for each in exhausted + live:
        each.turns = outer
    after = machine.run(instr.orelse, exhausted + live)
    return settled(machine, leave_loop(ended, outer) + after, instr.live)


def run_while(machine: Machine, instr: ir.While, state: State) -> list[State]:
    outer = state.turns
    ended: list[State] = []
    finished: list[State] = []
    seen: list[State] = []
    live = [state]
    decided = True
    number = 0
    unknown_turns = 2 if _is_deep(machine, outer) else UNKNOWN_TURNS
    is_endless = all(isinstance(each, ir.Const) for each in instr.test)
    counting = counters.Counting(machine, instr)
    while live and number < (KNOWN_TURNS if decided else unknown_turns):
        number += 1
        begun: list[State] = []
        for each in live:
            each.turns = (*outer, Turn(instr.span, number, depth=len(each.calls)))
        for tested in machine.run(instr.test, live):
            if tested.flow is not None:
                ended.append(tested)
                continue
            truth = facts.decide(tested, tested.read(instr.cond))
            if truth is None:
                decided = False
                if number > 2:
                    finished.append(tested.fork())
                truth = True
            (begun if truth else finished).append(tested)
        if number == 1 or not decided or is_endless or number == KNOWN_TURNS:
            counting.turn(number, begun, partial(_again, machine, instr, outer))
        live, left = sort_turn(machine.run(instr.body, begun))
        ended += left
        for each in live:
            forget_dead(each, instr.live_turn)
            sweep(each)
        live = machine.thin(live, instr.span)
        live, repeated = new_states(machine, live, seen, grown=True)
        finished += [] if decided else repeated
        seen += [each.fork() for each in live]
    machine.sampled += is_endless or bool(live) or not decided
    finished += live
    for each in finished:
        each.turns = outer
    after = machine.run(instr.orelse, finished)
    return settled(machine, leave_loop(ended, outer) + after, instr.live)


def _again(machine: Machine, instr: ir.While, outer: tuple[Turn, ...], state: State) -> list[State]:
    """Begin a turn behind the one that was tried."""
    number = state.turns[len(outer)].number + 1
    state.turns = (*outer, Turn(instr.span, number, depth=len(state.calls)))
    tested = [each for each in machine.run(instr.test, [state]) if each.flow is None]
    return [each for each in tested if facts.decide(each, each.read(instr.cond)) is not False]


def _is_deep(machine: Machine, outer: tuple[Turn, ...]) -> bool:
    """Whether a loop stands within so many others that its turns count."""
    return sum(not turn.is_call for turn in outer) >= machine.chooser.breadth.nested


def _iterated(machine: Machine, state: State, iterable: Value, span: Span) -> list[tuple[State, Value]]:
    """What a loop really runs over: an object's own `__iter__` is asked first."""
    held = state.get(iterable)
    if isinstance(held, Instance) and (method := find(state, iterable, "__iter__")) is not None:
        return machine.call(state, Bound(method, iterable), Args(), span)
    return [(state, iterable)]
