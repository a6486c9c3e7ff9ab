"""Loops: turn by turn, until the state repeats."""

from __future__ import annotations

from retainlint import ir
from retainlint.incident import Turn
from retainlint.source import Span
from retainlint.symbolic import counters, facts, iteration
from retainlint.symbolic.classes import find
from retainlint.symbolic.context import Args, Machine
from retainlint.symbolic.generators import over_generator
from retainlint.symbolic.merge import forget_dead
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


NESTED = 2
"""Within so many loops, one whose turn number decides nothing is run for two turns at most: three levels of four turns
each would be sixty-four ways through the same body."""


def run_for(machine: Machine, instr: ir.For, state: State) -> list[State]:
    after: list[State] = []
    for each, iterable in _iterated(machine, state, state.read(instr.iterable), instr.span):
        held = each.get(iterable)
        if each.flow is not None:
            after.append(each)
        elif isinstance(held, GeneratorObj):
            after += over_generator(machine, instr, each, held)
        else:
            after += _over(machine, instr, each, iterable)
    return after


def _over(machine: Machine, instr: ir.For, state: State, iterable: Value) -> list[State]:
    outer = state.turns
    plan = iteration.plan(machine, state, iterable, instr.span, len(instr.body))
    deep = _is_deep(outer)
    ended: list[State] = []  # left the loop otherwise than by its end
    seen: list[State] = []
    live = [state]
    exhausted: list[State] = []
    counted: dict[str, int] = {}
    for number in range(1, plan.turns + 1):
        begun: list[State] = []
        skipping: list[State] = []
        exhausted += [each for each in live if plan.lacks(each, number)]
        for each in [each for each in live if not plan.lacks(each, number)]:
            if plan.skips(each, number):
                skipping.append(each)
                continue
            each.turns = (*outer, Turn(instr.span, number, depth=len(each.calls), sure=plan.sure, few=plan.exact))
            for current, item in plan.item(each, number):
                if current.flow is None:
                    current.write(instr.item, item, instr.span)
                    begun.append(current)
                else:
                    ended.append(current)
        if begun and not plan.exact and number < counters.TURN:
            counted = counters.numbers(begun[0])
        elif begun and not plan.exact and number == counters.TURN:
            counters.attempt(machine, instr, begun[0], counted)
        live, left = sort_turn(skipping + machine.run(instr.body, begun))
        ended += left
        for each in live:
            forget_dead(each, instr.live_turn)
            sweep(each)
        live = machine.thin(live, instr.span)
        if live and plan.may_end(live[0], number):
            live, repeated = new_states(
                machine, live, seen, lenient=number >= COUNTERS and not plan.exact, grown=not plan.exact
            )
            exhausted += repeated
        if not live or (deep and number >= 2 and not plan.exact and plan.loop not in live[0].deciding):
            break
        if not plan.indexed:
            seen += [each.fork() for each in live]
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
    unknown_turns = 2 if _is_deep(outer) else UNKNOWN_TURNS
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
        live, left = sort_turn(machine.run(instr.body, begun))
        ended += left
        for each in live:
            forget_dead(each, instr.live_turn)
            sweep(each)
        live = machine.thin(live, instr.span)
        live, repeated = new_states(machine, live, seen, grown=True)
        finished += [] if decided else repeated
        seen += [each.fork() for each in live]
    finished += live
    for each in finished:
        each.turns = outer
    after = machine.run(instr.orelse, finished)
    return settled(machine, leave_loop(ended, outer) + after, instr.live)


def _is_deep(outer: tuple[Turn, ...]) -> bool:
    """Whether a loop stands within so many others that its turns count."""
    return sum(not turn.is_call for turn in outer) >= NESTED


def _iterated(machine: Machine, state: State, iterable: Value, span: Span) -> list[tuple[State, Value]]:
    """What a loop really runs over: an object's own `__iter__` is asked first."""
    held = state.get(iterable)
    if isinstance(held, Instance) and (method := find(state, iterable, "__iter__")) is not None:
        return machine.call(state, Bound(method, iterable), Args(), span)
    return [(state, iterable)]
