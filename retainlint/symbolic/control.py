"""Branches, loops, contexts and exceptions: what decides which instructions run next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retainlint import ir
from retainlint.incident import Condition, Turn
from retainlint.source import Span
from retainlint.symbolic import calls, facts, iteration
from retainlint.symbolic.classes import find
from retainlint.symbolic.context import Args
from retainlint.symbolic.merge import equivalent, forget_dead, join
from retainlint.symbolic.models import unknown
from retainlint.symbolic.reach import sweep
from retainlint.symbolic.state import Choice, Flow, State, ticket
from retainlint.symbolic.values import (
    Bound,
    ClassObj,
    Const,
    External,
    Failure,
    GeneratorObj,
    GradMode,
    Instance,
    ListObj,
    Symbol,
    Term,
    Tuple,
    UnknownObj,
    Value,
)

if TYPE_CHECKING:
    from retainlint.symbolic.machine import Interpreter

KNOWN_TURNS = 12
"""While its condition is known, a `while` runs so many turns at most."""
UNKNOWN_TURNS = 4
COUNTERS = 3
"""From this turn on, a state that differs from an earlier one only by numbers and texts counts as repeated."""


def run_if(machine: Interpreter, instr: ir.If, state: State) -> list[State]:
    cond = state.read(instr.cond)
    truth = facts.decide(state, cond)
    if truth is None and not state.guards and (only_raises(instr.then) or only_raises(instr.orelse)):
        truth = not only_raises(instr.then)
        settle(state, cond, truth)
    if truth is not None:
        return machine.run(instr.then if truth else instr.orelse, [state])
    after: list[State] = []
    for arm, taken in machine.branch(state, cond, instr.span):
        after += machine.run(instr.then if taken else instr.orelse, [arm])
    return settled(machine, after, instr.live)


def settle(state: State, cond: Value, truth: bool) -> None:
    """Take for granted what the program itself insists on, by raising otherwise."""
    while isinstance(cond, Term) and cond.op == "not":
        cond, truth = cond.args[0], not truth
    state.truths[cond] = truth


def only_raises(block: ir.Block) -> bool:
    """Whether a block does nothing but raise."""
    return bool(block) and isinstance(block[-1], ir.Raise) and not any(isinstance(i, ir.If | ir.For) for i in block)


def settled(machine: Interpreter, states: list[State], live: ir.Live) -> list[State]:
    """At a join: forget what is dead, merge what is alike."""
    if len(states) < 2:
        return states
    for state in states:
        if state.flow is None:
            forget_dead(state, live)
    return join(machine.graphs, states)


# -- loops --------------------------------------------------------------------------------------------------------


def run_for(machine: Interpreter, instr: ir.For, state: State) -> list[State]:
    after: list[State] = []
    for each, iterable in _iterated(machine, state, state.read(instr.iterable), instr.span):
        held = each.get(iterable)
        if each.flow is not None:
            after.append(each)
        elif isinstance(held, GeneratorObj):
            after += _over_generator(machine, instr, each, held)
        else:
            after += _over(machine, instr, each, iterable)
    return after


def _over(machine: Interpreter, instr: ir.For, state: State, iterable: Value) -> list[State]:
    outer = state.turns
    plan = iteration.plan(machine, state, iterable, instr.span)
    ended: list[State] = []  # left the loop otherwise than by its end
    seen: list[State] = []
    live = [state]
    exhausted: list[State] = []
    for number in range(1, plan.turns + 1):
        turn: list[State] = []
        for each in live:
            each.turns = (*outer, Turn(instr.span, number, depth=len(each.calls), sure=plan.sure))
            for current, item in plan.item(each, number):
                if current.flow is None:
                    current.write(instr.item, item, instr.span)
                    turn += machine.run(instr.body, [current])
                else:
                    ended.append(current)
        live, left = _sort(turn)
        ended += left
        for each in live:
            forget_dead(each, instr.live_turn)
            sweep(each)
        live = machine.thin(live, instr.span)
        if live and plan.may_end(live[0], number):
            live, repeated = _new(machine, live, seen, lenient=number >= COUNTERS and not plan.exact)
            exhausted += repeated
        if not live:
            break
        if not plan.indexed:
            seen += [each.fork() for each in live]
    for each in exhausted + live:
        each.turns = outer
    after = machine.run(instr.orelse, exhausted + live)
    return settled(machine, _left(ended, outer) + after, instr.live)


def _new(
    machine: Interpreter, states: list[State], seen: list[State], *, lenient: bool = False
) -> tuple[list[State], list[State]]:
    """Tell states that were not there at an earlier turn's end from those that were."""
    new: list[State] = []
    old: list[State] = []
    for state in states:
        known = any(equivalent(machine.graphs, before, state, lenient=lenient) for before in seen)
        (old if known else new).append(state)
    return new, old


def _sort(states: list[State]) -> tuple[list[State], list[State]]:
    """Those that go on with the next turn, and those that left the loop."""
    going: list[State] = []
    left: list[State] = []
    for state in states:
        if state.flow is None or state.flow.kind == "continue":
            state.flow = None
            going.append(state)
        else:
            left.append(state)
    return going, left


def _left(states: list[State], outer: tuple[Turn, ...]) -> list[State]:
    for state in states:
        state.turns = outer
        if state.flow is not None and state.flow.kind == "break":
            state.flow = None
    return states


def run_while(machine: Interpreter, instr: ir.While, state: State) -> list[State]:
    outer = state.turns
    ended: list[State] = []
    finished: list[State] = []
    seen: list[State] = []
    live = [state]
    decided = True
    number = 0
    while live and number < (KNOWN_TURNS if decided else UNKNOWN_TURNS):
        number += 1
        turn: list[State] = []
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
            if truth:
                turn += machine.run(instr.body, [tested])
            else:
                finished.append(tested)
        live, left = _sort(turn)
        ended += left
        for each in live:
            forget_dead(each, instr.live_turn)
            sweep(each)
        live = machine.thin(live, instr.span)
        live, repeated = _new(machine, live, seen)
        finished += [] if decided else repeated
        seen += [each.fork() for each in live]
    finished += live
    for each in finished:
        each.turns = outer
    after = machine.run(instr.orelse, finished)
    return settled(machine, _left(ended, outer) + after, instr.live)


# -- contexts -----------------------------------------------------------------------------------------------------


def run_with(machine: Interpreter, instr: ir.With, state: State) -> list[State]:
    context = state.read(instr.context)
    obj = state.get(context)
    if isinstance(context, GradMode):
        return _with_mode(machine, instr, state, context)
    if isinstance(obj, GeneratorObj):
        return _with_generator(machine, instr, state, obj)
    if isinstance(obj, Instance) and _defines(state, obj, "__enter__"):
        return _with_instance(machine, instr, state, context)
    entered: Value = context
    if isinstance(obj, UnknownObj):
        entered = unknown.derived(state, context, "__enter__", instr.span)
    state.write(instr.dst, entered, instr.span)
    return settled(machine, machine.run(instr.body, [state]), instr.live)


def _with_mode(machine: Interpreter, instr: ir.With, state: State, mode: GradMode) -> list[State]:
    before = state.grad if mode.restores is None else mode.restores
    state.grad = before if mode.guards else mode.enabled
    state.guards += mode.guards
    state.write(instr.dst, mode, instr.span)
    after = machine.run(instr.body, [state])
    for each in after:
        each.grad = before
        each.guards -= mode.guards
        if mode.guards and each.flow is not None and each.flow.kind == "raise":
            each.flow = None
    return settled(machine, after, instr.live)


def _with_generator(machine: Interpreter, instr: ir.With, state: State, generator: GeneratorObj) -> list[State]:
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


def _with_instance(machine: Interpreter, instr: ir.With, state: State, context: Value) -> list[State]:
    after: list[State] = []
    for found, method in machine.attribute(state, context, "__enter__", instr.span):
        for entered, value in machine.call(found, method, Args(), instr.span):
            if entered.flow is None:
                entered.write(instr.dst, value, instr.span)
                after += machine.run(instr.body, [entered])
            else:
                after.append(entered)
    left: list[State] = []
    for each in after:
        flow, each.flow = each.flow, None
        for found, method in machine.attribute(each, context, "__exit__", instr.span):
            none = Const(None)
            for gone, _ in machine.call(found, method, Args((none, none, none)), instr.span):
                gone.flow = gone.flow or flow
                left.append(gone)
    return settled(machine, left, instr.live)


def _defines(state: State, obj: Instance, name: str) -> bool:
    cls = state.get(obj.cls)
    return isinstance(cls, ClassObj) and (name in cls.attrs or bool(cls.bases))


# -- exceptions ---------------------------------------------------------------------------------------------------


def failure(state: State, raised: int | None) -> Failure:
    """The exception that a `raise` throws, as far as its class is known."""
    if raised is None:
        return Failure("")
    value = state.read(raised)
    if isinstance(value, Failure):
        return value
    if isinstance(value, External):
        return Failure(value.path.rpartition(".")[2])
    obj = state.get(value)
    cls = state.get(obj.cls) if isinstance(obj, Instance) else obj
    return Failure(cls.name if isinstance(cls, ClassObj) else "")


EXPECTED = ("RuntimeError", "Exception", "BaseException", "GraphError")


def run_try(machine: Interpreter, instr: ir.Try, state: State) -> list[State]:
    entry = state.fork() if instr.handlers and _may_matter(instr) else None
    catches = any(_may_catch(state, handler) for handler in instr.handlers)
    state.guards += catches
    after: list[State] = []
    for each in machine.run(instr.body, [state]):
        each.guards -= catches
        if each.flow is not None and each.flow.kind == "raise" and instr.handlers:
            after += _handle(machine, instr, each)
        elif each.flow is None:
            after += machine.run(instr.orelse, [each])
        else:
            after.append(each)
    if entry is not None:
        entry.truths = dict(entry.truths)
        entry.choices += (Choice(Condition(instr.handlers[0].span, True), Symbol(ticket())),)
        after += _enter(machine, instr.handlers[0], entry, Failure(""))
    return settled(machine, _finally(machine, instr, after), instr.live)


def _finally(machine: Interpreter, instr: ir.Try, states: list[State]) -> list[State]:
    if not instr.final:
        return states
    after: list[State] = []
    for state in states:
        flow, state.flow = state.flow, None
        for each in machine.run(instr.final, [state]):
            each.flow = each.flow or flow
            after.append(each)
    return after


def _may_matter(instr: ir.Try) -> bool:
    """Whether the first handler is worth running though nothing was seen to raise: it does not give up, and what it
    guards is more than an import."""
    handler = instr.handlers[0].body
    if any(isinstance(i, ir.Raise | ir.Return | ir.Break | ir.Continue) for i in handler):
        return False
    return any(isinstance(i, ir.Call | ir.For | ir.If | ir.With) for i in instr.body)


def _caught(state: State, handler: ir.Handler) -> list[str] | None:
    """The names of the classes that a handler catches; None if unknown or all."""
    if handler.type is None:
        return None
    value = state.frame.registers.get(handler.type)
    values = value.items if isinstance(value, Tuple) else (value,)
    names: list[str] = []
    for each in values:
        if isinstance(each, External):
            names.append(each.path.rpartition(".")[2])
        elif each is not None and isinstance(cls := state.get(each), ClassObj):
            names.append(cls.name)
        else:
            return None
    return names


def _may_catch(state: State, handler: ir.Handler) -> bool:
    """Whether the handler takes what autograd raises. Its test was not run yet, so names are read off it."""
    if handler.type is None:
        return True
    names = {instr.name for instr in handler.test if isinstance(instr, ir.Load | ir.GetAttr)}
    builtin = {name for name in names if name.endswith(("Error", "Exception", "Interrupt", "Exit", "Iteration"))}
    return bool(names & set(EXPECTED)) or not builtin


def _handle(machine: Interpreter, instr: ir.Try, state: State) -> list[State]:
    """Send a raised exception to the handlers."""
    assert state.flow is not None
    raised = state.flow.value
    kind = raised.type if isinstance(raised, Failure) else ""
    state.flow = None
    for handler in instr.handlers:
        for tested in machine.run(handler.test, [state]):
            names = _caught(tested, handler)
            if names is None or not kind or kind in names or {"Exception", "BaseException"} & set(names):
                return _enter(machine, handler, tested, raised or Failure(""), tested=True)
            state = tested
    state.flow = Flow("raise", raised)
    return [state]


def _enter(
    machine: Interpreter, handler: ir.Handler, state: State, raised: Value, *, tested: bool = False
) -> list[State]:
    states = [state] if tested else machine.run(handler.test, [state])
    for each in states:
        each.write(handler.dst, raised, handler.span)
    return machine.run(handler.body, states)


# -- generators ---------------------------------------------------------------------------------------------------


def run_yield(machine: Interpreter, instr: ir.Yield, state: State) -> list[State]:
    """Hand a value to the loop that runs over this generator, or collect it."""
    value, consumer = state.read(instr.src), state.frame.consumer
    held = state.get(value)
    if instr.delegates and isinstance(held, GeneratorObj):
        given = Args(held.pos, held.named)
        results = calls.run_body(machine, state, held.func, given, instr.span, consumer)
        states = [each for each, _ in results]
        if consumer is None:
            for each, inner in results:
                _collect(each, inner, delegates=True)
    elif consumer is None:
        _collect(state, value, delegates=instr.delegates)
        states = [state]
    else:
        states = consumer(state, value)
    for each in states:
        if each.flow is None:
            each.write(instr.dst, unknown.fresh(each, instr.span, plain=True), instr.span)
    return states


def _collect(state: State, value: Value, *, delegates: bool) -> None:
    held = state.get(value)
    more = held.items if delegates and isinstance(held, ListObj) else (value,)
    frame = state.writable()
    frame.yielded = (*frame.yielded, *more)[-64:]


def drain(machine: Interpreter, state: State, generator: Value) -> Value:
    """Run a generator to its end on this state; where it forks, only its first way is followed."""
    held = state.get(generator)
    assert isinstance(held, GeneratorObj)
    span = held.func.code.span
    results = calls.run_body(machine, state, held.func, Args(held.pos, held.named), span)
    ended = [(each, value) for each, value in results if each.flow is None]
    if not ended:
        return state.new(ListObj((), True))
    first, value = ended[0]
    if first is not state:
        state.become(first)
    return value


def _over_generator(machine: Interpreter, instr: ir.For, state: State, generator: GeneratorObj) -> list[State]:
    """The loop's body runs at each `yield`, in the loop's own frame."""
    outer, stack, called = state.turns, state.stack, state.calls
    ended: list[State] = []

    def consume(each: State, item: Value) -> list[State]:
        inner, waiting = (each.stack, each.calls, each.turns), each.suspended
        _collect(each, Const(None), delegates=False)
        number = len(each.frame.yielded)
        each.stack, each.calls, each.suspended = stack, called, (*each.suspended, *inner[0])
        each.turns = (*outer, Turn(instr.span, number, depth=len(called)))
        each.write(instr.item, item, instr.span)
        going, left = _sort(machine.run(instr.body, [each]))
        ended.extend(left)
        for one in going:
            forget_dead(one, instr.live_turn)
            one.stack, one.calls, one.turns = inner
            one.suspended = waiting
        return going

    given = Args(generator.pos, generator.named)
    results = calls.run_body(machine, state, generator.func, given, instr.span, consume)
    finished = [each for each, _ in results if each.flow is None]
    ended += [each for each, _ in results if each.flow is not None]
    for each in ended:
        each.stack, each.calls, each.suspended = stack, called, state.suspended
    for each in finished:
        each.turns = outer
    after = machine.run(instr.orelse, finished)
    return settled(machine, _left(ended, outer) + after, instr.live)


def _iterated(machine: Interpreter, state: State, iterable: Value, span: Span) -> list[tuple[State, Value]]:
    """What a loop really runs over: an object's own `__iter__` is asked first."""
    held = state.get(iterable)
    if isinstance(held, Instance) and (method := find(state, iterable, "__iter__")) is not None:
        return machine.call(state, Bound(method, iterable), Args(), span)
    return [(state, iterable)]
