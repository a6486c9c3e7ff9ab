"""Generators that are asked for one item after the other: they wait at a yield, with their frame, and go on behind it."""

from __future__ import annotations

from retainlint import ir
from retainlint.startup.records import replace
from retainlint.symbolic.interpreter import calls, exceptions
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Consumer, Flow, State
from retainlint.symbolic.state.values import (
    NONE,
    Closure,
    Const,
    Failure,
    GeneratorObj,
    GradMode,
    IteratorObj,
    Ref,
    Tuple,
    Value,
    Waiting,
)
from retainlint.text.source import Span

Place = tuple[ir.Block, int]
"""An instruction: a block, and its number there."""


def following(machine: Machine, state: State, generator: Ref, sent: Value, span: Span) -> Results | None:
    """The next item of a generator; None if it waits where we can't go on, or runs over another one."""
    held = state.get(generator)
    assert isinstance(held, GeneratorObj)
    body = held.func.code.body
    yields = [each for each in ir.walk(body) if isinstance(each, ir.Yield)]
    if any(each.delegates or not _way(body, each) for each in yields):
        return None
    stack, called, iterations = state.stack, state.calls, state.iterations
    items: Results = []

    def wait(each: State, value: Value, at: ir.Yield) -> list[State]:
        """The generator waits, and whoever asked for the item goes on."""
        begun = each.get(generator)
        assert isinstance(begun, GeneratorObj)
        numbers = tuple((iteration.loop, iteration.number) for iteration in each.iterations[len(iterations) :])
        waits = Waiting(Closure(each.frame.code, each.stack[-1]), at, numbers)
        each.stack, each.calls, each.iterations = stack, called, iterations
        each.set(generator, replace(begun, waits=waits))
        items.append((each, value))
        return []

    ended = behind(machine, state, held, sent, span, Consumer(wait))
    if ended is None:
        return None
    raised = [(each, NONE) for each, _ in ended if each.flow is not None]
    if items:  # which may go on for ever, for all that is known
        return items + raised
    for each, _ in ended:
        each.flow = each.flow or Flow("raise", Failure("StopIteration"))
    return [(each, NONE) for each, _ in ended]


def behind(
    machine: Machine,
    state: State,
    held: GeneratorObj,
    sent: Value,
    span: Span,
    consumer: Consumer,
) -> Results | None:
    """Run a generator from where it waits, or from its start; what ended. None if nobody knows what its loop runs over."""
    waits = held.waits
    if waits is None:
        return calls.run_body(machine, state, held.func, Args(held.pos, held.named), span, consumer)
    if not state.frames.has(waits.frame.frame):
        return None
    stack, called, iterations = state.stack, state.calls, state.iterations
    state.stack, state.calls = (*stack, waits.frame.frame), (*called, span)
    state.writable().consumer = consumer
    state.write(waits.at.dst, sent, span)
    states = _go_on(machine, state, waits)
    if states is None:
        state.stack, state.calls = stack, called
        return None
    for each in states:
        if each.flow is not None and each.flow.kind == "return":
            each.flow = None
        each.stack, each.calls, each.iterations = stack, called, iterations
    return [(each, NONE) for each in states]


def _go_on(machine: Machine, state: State, waits: Waiting) -> list[State] | None:
    """Run what stands behind a yield: the rest of its block, further iterations of the loops around it, and what follows."""
    (block, index), *around = reversed(_way(waits.frame.code.body, waits.at))
    for loop in (outer[at] for outer, at in around):
        if isinstance(loop, ir.For) and not _rest(state, loop, dict(waits.numbers).get(loop.span, 1)):
            return None
        if isinstance(loop, ir.With) and not _is_mode(state, loop):
            return None
    states = machine.run(block[index + 1 :], [state])
    for outer, at in around:
        match outer[at]:
            case ir.For() | ir.While() as loop:
                states = _iterated(machine, loop, states)
            case ir.Try() as guarded:
                states = exceptions.run_finally(machine, guarded, states)
            case ir.With():
                for each in states:
                    each.enter(GradMode(True))  # as it is nearly everywhere
        going, left = [s for s in states if s.flow is None], [s for s in states if s.flow is not None]
        states = left + machine.run(outer[at + 1 :], going)
    return states


def _iterated(machine: Machine, loop: ir.For | ir.While, states: list[State]) -> list[State]:
    """Run the iterations behind the one in which a generator waited."""
    done: list[State] = []
    for each in states:
        kind = each.flow.kind if each.flow is not None else ""
        if kind in ("", "continue"):
            each.flow = None
            done += machine.run((loop,), [each])
        else:
            each.flow = None if kind == "break" else each.flow
            done.append(each)
    return done


def _rest(state: State, loop: ir.For, number: int) -> bool:
    """Let a loop begin behind the iteration of that number; whether it is known what it runs over."""
    iterable = state.frame.registers.get(loop.iterable)
    if iterable is None or isinstance(state.get(iterable), GeneratorObj):
        return False
    held = state.get(iterable)
    if isinstance(held, IteratorObj) and held.kind == "islice" and isinstance(bounds := held.start, Tuple):
        begun = bounds.items[0]
        if len(bounds.items) == 2 and isinstance(begun, Const) and isinstance(begun.value, int):
            iterable, number = held.parts[0], number + begun.value
    rest = state.new(IteratorObj("islice", (iterable,), Tuple((Const(number), NONE))))
    state.write(loop.iterable, rest, loop.span)
    return True


def _is_mode(state: State, block: ir.With) -> bool:
    """Whether a block only switches gradients off or on: others do something when they are left."""
    return isinstance(state.frame.registers.get(block.context), GradMode)


def _way(block: ir.Block, target: ir.Yield) -> tuple[Place, ...]:
    """The instructions in which a yield stands, from the outermost, with itself; none if one is no loop, no branch, no context,
    and no `try` that only has something to do in the end."""
    for index, instr in enumerate(block):
        if instr is target:
            return ((block, index),)
        inner = ir.blocks(instr) if isinstance(instr, ir.For | ir.While | ir.If | ir.With) else ()
        inner = (instr.body,) if isinstance(instr, ir.Try) and not instr.handlers and not instr.orelse else inner
        for found in (way for each in inner if (way := _way(each, target))):
            return ((block, index), *found)
    return ()
