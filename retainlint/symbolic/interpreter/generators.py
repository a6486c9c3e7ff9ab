"""Generators: the consumer runs where the function yields; asked for one item after the other, they wait at a yield, with their frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from retainlint import ir
from retainlint.incident import Iteration
from retainlint.startup.records import replace
from retainlint.symbolic.interpreter import calls, exceptions, loop_plan, periods
from retainlint.symbolic.merging.merge_states import forget_dead, leave_loop, settled, sort_iteration
from retainlint.symbolic.models.python import consumption, iteration
from retainlint.symbolic.models.torch import data
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver import terms
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Consumer, Flow, State, ticket
from retainlint.symbolic.state.values import (
    NONE,
    Closure,
    Const,
    Failure,
    GeneratorObj,
    GradMode,
    Instance,
    IteratorObj,
    ListObj,
    Ref,
    Symbol,
    Tuple,
    Value,
    Waiting,
)
from retainlint.text.source import Span


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
        states = _each(machine, state, value, consumer, instr)
    else:
        states = consumer.take(state, value, instr)
    for each in states:
        if each.flow is None:
            each.write(instr.dst, objects.fresh(each, instr.span, plain=True), instr.span)
    return states


def _each(machine: Machine, state: State, source: Value, consumer: Consumer, instr: ir.Yield) -> list[State]:
    """`yield from` something that isn't a generator's call: its items are handed on one by one."""
    known = iteration.known_items(machine, state, source, instr.span)
    states = [state]
    for item in known if known is not None else [iteration.any_item(machine, state, source, instr.span)] * 2:
        states = [
            after for each in states for after in (consumer.take(each, item, instr) if each.flow is None else [each])
        ]
    return states


def collect(state: State, value: Value, *, delegates: bool) -> None:
    held = state.get(value)
    more = held.items if delegates and isinstance(held, ListObj) else (value,)
    frame = state.writable()
    frame.yielded, frame.length = (*frame.yielded, *more)[-64:], None


def drain(machine: Machine, state: State, generator: Value) -> Value:
    """Run a generator to its end on this state; where it forks, only its first way is followed. Of a loop in it only some
    iterations may have been run."""
    held = state.get(generator)
    assert isinstance(held, GeneratorObj)
    span, sampled = held.func.code.span, machine.sampled
    results = calls.run_body(machine, state.fork(), held.func, Args(held.pos, held.named), span)
    ended = [(each, value) for each, value in results if each.flow is None]
    if not ended:
        return state.new(ListObj((), True))
    first, value = ended[0]
    state.become(first)
    if state.get(value) == ListObj(()) and held.func.code in machine.yielding:
        return state.new(ListObj((), True))
    if machine.sampled > sampled and isinstance(value, Ref) and isinstance(items := state.get(value), ListObj):
        state.set(value, replace(items, open=True))
    return value


def drained(machine: Machine, state: State, iterable: Value, span: Span) -> Value:
    """What an iterator goes through, with a list of its items in the place of each generator in it, or of an object that makes
    one."""
    held = state.get(iterable)
    if not isinstance(held, IteratorObj):
        given = iteration.iterated(machine, state, iterable, span)
        return drain(machine, state, given) if isinstance(state.get(given), GeneratorObj) else iterable
    parts = tuple(drained(machine, state, part, span) for part in held.parts)
    return iterable if parts == held.parts else state.new(replace(held, parts=parts))


Around: TypeAlias = "Callable[[State, int, Value], Results | None]"
"""What a loop gets in the turn of a number, counted from 1, for which a generator yields a value; None: it ends before."""


def within(machine: Machine, state: State, iterable: Value, loop: ir.For) -> tuple[GeneratorObj, Around] | None:
    """The generator that a loop runs over: alone, counted, or beside others."""
    held = state.get(iterable)
    if isinstance(held, Instance) and isinstance(made := find(state, iterable, "__iter__"), Closure):
        held = GeneratorObj(made, (iterable,), ()) if made.code.is_generator else held
    if isinstance(held, GeneratorObj):
        return held, lambda each, number, value: [(each, value)]
    if isinstance(held, IteratorObj) and held.kind == "islice":
        return _first(machine, state, held, loop)
    if not isinstance(held, IteratorObj) or held.kind not in ("enumerate", "zip"):
        return None
    found = {at: each for at, part in enumerate(held.parts) if (each := within(machine, state, part, loop)) is not None}
    chosen = next((at for at in found if _yields_graphs(machine, state.fork(), found[at][0])), None)
    if chosen is None:
        return None
    generator, inner = found[chosen]
    counted = max(loop_plan.in_full(machine), periods.two(machine, state, loop.body, by_name=False))
    beside = {
        at: iteration.source_of(machine, state, part, loop.span) for at, part in enumerate(held.parts) if at != chosen
    }

    def around(state: State, number: int, value: Value) -> Results | None:
        if any(source.length is not None and source.length < number for source in beside.values()):
            return None
        index = Const(number - 1) if number <= counted else Symbol(ticket(), counted)
        begun = (terms.sum_of("+", index, held.start),) if held.kind == "enumerate" else ()
        rows: list[tuple[State, tuple[Value, ...]]] = [(state, begun)]
        for at in range(len(held.parts)):
            longer: list[tuple[State, tuple[Value, ...]]] = []
            for each, row in rows:
                given = inner(each, number, value) if at == chosen else beside[at].at(each, index)
                if given is None:
                    return None
                longer += [(after, (*row, item)) for after, item in given if after.flow is None]
            rows = longer
        return [(each, Tuple(row)) for each, row in rows]

    return generator, around


def _first(machine: Machine, state: State, held: IteratorObj, loop: ir.For) -> tuple[GeneratorObj, Around] | None:
    """The generator in `islice(generator, stop)`."""
    found, bounds = within(machine, state, held.parts[0], loop), held.start
    if found is None or not isinstance(bounds, Tuple) or len(bounds.items) != 1:
        return None
    generator, inner = found
    stop = bounds.items[0].value if isinstance(bounds.items[0], Const) else None

    def around(state: State, number: int, value: Value) -> Results | None:
        return None if isinstance(stop, int) and number > stop else inner(state, number, value)

    return generator, around


_SWITCHES = frozenset(("no_grad", "inference_mode", "enable_grad", "set_grad_enabled"))


def _yields_graphs(machine: Machine, state: State, generator: GeneratorObj) -> bool:
    """Whether a generator yields what has a graph: its first items tell it, and one may have no end. Or it yields where it has
    switched gradients off, which then are so for whoever asks it for an item."""
    if not generator.func.code.facts.names.isdisjoint(_SWITCHES):
        return True
    unrolls, machine.unrolls = machine.unrolls, False
    try:
        return data.have_graphs(machine, state, (drain(machine, state, state.new(generator)),))
    finally:
        machine.unrolls = unrolls


def over_generator(
    machine: Machine, instr: ir.For, state: State, iterable: Value, generator: GeneratorObj, around: Around
) -> list[State] | None:
    """The loop's body runs at each `yield`, in the loop's own frame; None if no path came to one, since
    its own loop gathers more before than the turns that are run."""
    outer, stack, called = state.iterations, state.stack, state.calls
    ended: list[State] = []
    exhausted: list[State] = []
    yielded: list[Span] = []
    trying = machine.trying

    def consume(each: State, item: Value, _: ir.Yield) -> list[State]:
        if (
            machine.trying
            and not trying
            and machine.unreached.is_reached(instr, machine.backpropagated | machine.changed)
        ):
            return []  # it is known now that it yields
        inner, waiting = (each.stack, each.calls, each.iterations), each.suspended
        yielded.append(instr.span)
        collect(each, Const(None), delegates=False)
        number = len(each.frame.yielded)
        each.stack, each.calls, each.suspended = stack, called, (*each.suspended, *inner[0])
        each.iterations = (*outer, Iteration(instr.span, number, depth=len(called)))
        begun = around(each, number, item)
        if begun is None:
            exhausted.append(each)
            return []
        for one, value in begun:
            one.write(instr.item, value, instr.span)
        going, left = sort_iteration(machine.run(instr.body, [one for one, _ in begun]))
        ended.extend(left)
        for one in going:
            forget_dead(one, instr.live_iteration)
            one.stack, one.calls, one.iterations = inner
            one.suspended = waiting
        return going

    sampled = machine.sampled
    results = behind(
        machine,
        state,
        generator,
        NONE,
        instr.span,
        Consumer(consume, instr, len(outer), frozenset(_yielding(generator.func.code.body))),
    )
    if results is None or (not yielded and (generator.func.code in machine.yielding or machine.sampled > sampled)):
        return None
    finished = [each for each, _ in results if each.flow is None]
    consumption.leave(iterable, finished, ended, len(outer))
    ended += [each for each, _ in results if each.flow is not None]
    finished += exhausted
    for each in ended + exhausted:
        each.stack, each.calls, each.suspended = stack, called, state.suspended
    for each in finished:
        each.iterations = outer
    after = machine.run(instr.orelse, finished)
    return settled(machine, leave_loop(ended, outer) + after, instr.live)


def _yielding(block: ir.Block, around: Span | None = None) -> Iterator[Span]:
    """The loops in whose bodies a generator yields, not in loops within them; `around` is the one around a block."""
    for instr in block:
        if isinstance(instr, ir.Yield) and around is not None:
            yield around
        for inner in ir.blocks(instr):
            yield from _yielding(inner, instr.span if isinstance(instr, ir.For | ir.While) else around)


def with_generator(machine: Machine, instr: ir.With, state: State, generator: GeneratorObj) -> list[State]:
    """`@contextmanager`: the body runs where the function yields."""
    stack, called = state.stack, state.calls
    ended: list[State] = []

    def consume(each: State, value: Value, _: ir.Yield) -> list[State]:
        inner, waiting = (each.stack, each.calls), each.suspended
        each.stack, each.calls, each.suspended = stack, called, (*waiting, *inner[0])
        each.write(instr.dst, value, instr.span)
        going: list[State] = []
        for one in machine.run(instr.body, [each]):
            if one.flow is None or one.flow.kind != "raise":  # which is raised where the generator waits
                one.pending, one.flow = (*one.pending, one.flow), None
            one.stack, one.calls = inner
            one.suspended = waiting
            going.append(one)
        return going

    given = Args(generator.pos, generator.named)
    depth = len(state.pending)
    for each, _ in calls.run_body(machine, state, generator.func, given, instr.span, Consumer(consume)):
        if len(each.pending) > depth:
            each.flow = each.flow or each.pending[depth]
            each.pending = each.pending[:depth]
        ended.append(each)
    return settled(machine, ended, instr.live)


# -- asked for one item after the other -------------------------------------------------------------------------------


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
    machine: Machine, state: State, held: GeneratorObj, sent: Value, span: Span, consumer: Consumer
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
