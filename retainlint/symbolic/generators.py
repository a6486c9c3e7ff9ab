"""Generators: the consumer runs where the function yields."""

from __future__ import annotations

from collections.abc import Callable

from retainlint import ir
from retainlint.incident import Turn
from retainlint.source import Span
from retainlint.symbolic import calls, iteration
from retainlint.symbolic.context import Args, Machine
from retainlint.symbolic.merge import forget_dead
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import State
from retainlint.symbolic.turns import leave_loop, settled, sort_turn
from retainlint.symbolic.values import (
    Const,
    GeneratorObj,
    ListObj,
    Value,
)


def run_yield(machine: Machine, instr: ir.Yield, state: State) -> list[State]:
    """Hand a value to the loop that runs over this generator, or collect it."""
    value, consumer = state.read(instr.src), state.frame.consumer
    if machine.trying:
        machine.yielding.add(state.frame.code)
    held = state.get(value)
    if instr.delegates and isinstance(held, GeneratorObj):
        given = Args(held.pos, held.named)
        results = calls.run_body(machine, state, held.func, given, instr.span, consumer)
        states = [each for each, _ in results]
        if consumer is None:
            for each, inner in results:
                collect(each, inner, delegates=True)
    elif consumer is None:
        collect(state, value, delegates=instr.delegates)
        states = [state]
    elif instr.delegates:
        states = _each(machine, state, value, consumer, instr.span)
    else:
        states = consumer(state, value)
    for each in states:
        if each.flow is None:
            each.write(instr.dst, unknown.fresh(each, instr.span, plain=True), instr.span)
    return states


def _each(
    machine: Machine, state: State, source: Value, consumer: Callable[[State, Value], list[State]], span: Span
) -> list[State]:
    """`yield from` something that isn't a generator's call: its items are handed on one by one."""
    known = iteration.known_items(machine, state, source, span)
    states = [state]
    for item in known if known is not None else [iteration.any_item(machine, state, source, span)] * 2:
        states = [after for each in states for after in (consumer(each, item) if each.flow is None else [each])]
    return states


def collect(state: State, value: Value, *, delegates: bool) -> None:
    held = state.get(value)
    more = held.items if delegates and isinstance(held, ListObj) else (value,)
    frame = state.writable()
    frame.yielded = (*frame.yielded, *more)[-64:]


def drain(machine: Machine, state: State, generator: Value) -> Value:
    """Run a generator to its end on this state; where it forks, only its first way is followed."""
    held = state.get(generator)
    assert isinstance(held, GeneratorObj)
    span = held.func.code.span
    results = calls.run_body(machine, state.fork(), held.func, Args(held.pos, held.named), span)
    ended = [(each, value) for each, value in results if each.flow is None]
    if not ended:
        return state.new(ListObj((), True))
    first, value = ended[0]
    state.become(first)
    if state.get(value) == ListObj(()) and held.func.code in machine.yielding:
        return state.new(ListObj((), True))
    return value


def over_generator(machine: Machine, instr: ir.For, state: State, generator: GeneratorObj) -> list[State] | None:
    """The loop's body runs at each `yield`, in the loop's own frame; None if no path came to one, since
    its own loop gathers more before than the turns that are run."""
    outer, stack, called = state.turns, state.stack, state.calls
    ended: list[State] = []
    yielded: list[Span] = []
    trying = machine.trying

    def consume(each: State, item: Value) -> list[State]:
        if machine.trying and not trying:
            return []  # it is known now that it yields
        inner, waiting = (each.stack, each.calls, each.turns), each.suspended
        yielded.append(instr.span)
        collect(each, Const(None), delegates=False)
        number = len(each.frame.yielded)
        each.stack, each.calls, each.suspended = stack, called, (*each.suspended, *inner[0])
        each.turns = (*outer, Turn(instr.span, number, depth=len(called)))
        each.write(instr.item, item, instr.span)
        going, left = sort_turn(machine.run(instr.body, [each]))
        ended.extend(left)
        for one in going:
            forget_dead(one, instr.live_turn)
            one.stack, one.calls, one.turns = inner
            one.suspended = waiting
        return going

    given = Args(generator.pos, generator.named)
    results = calls.run_body(machine, state, generator.func, given, instr.span, consume)
    if not yielded and generator.func.code in machine.yielding:
        return None
    finished = [each for each, _ in results if each.flow is None]
    ended += [each for each, _ in results if each.flow is not None]
    for each in ended:
        each.stack, each.calls, each.suspended = stack, called, state.suspended
    for each in finished:
        each.turns = outer
    after = machine.run(instr.orelse, finished)
    return settled(machine, leave_loop(ended, outer) + after, instr.live)


def with_generator(machine: Machine, instr: ir.With, state: State, generator: GeneratorObj) -> list[State]:
    """`@contextmanager`: the body runs where the function yields."""
    stack, called = state.stack, state.calls
    ended: list[State] = []

    def consume(each: State, value: Value) -> list[State]:
        inner, waiting = (each.stack, each.calls), each.suspended
        each.stack, each.calls, each.suspended = stack, called, (*waiting, *inner[0])
        each.write(instr.dst, value, instr.span)
        going: list[State] = []
        for one in machine.run(instr.body, [each]):
            one.pending, one.flow = (*one.pending, one.flow), None
            one.stack, one.calls = inner
            one.suspended = waiting
            going.append(one)
        return going

    given = Args(generator.pos, generator.named)
    depth = len(state.pending)
    for each, _ in calls.run_body(machine, state, generator.func, given, instr.span, consume):
        if len(each.pending) > depth:
            each.flow = each.flow or each.pending[depth]
            each.pending = each.pending[:depth]
        ended.append(each)
    return settled(machine, ended, instr.live)
