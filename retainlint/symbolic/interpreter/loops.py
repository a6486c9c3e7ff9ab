"""Loops: turn by turn, until the state repeats."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations, islice

from retainlint import ir
from retainlint.incident import Iteration
from retainlint.startup.records import replace
from retainlint.symbolic.interpreter import loop_acceleration, loop_plan, periods
from retainlint.symbolic.interpreter.generators import drained, over_generator, within
from retainlint.symbolic.merging.equivalence import unchanged
from retainlint.symbolic.merging.merge_states import (
    carried,
    forget_dead,
    leave_loop,
    new_states,
    settled,
    sort_iteration,
)
from retainlint.symbolic.models.python import consumption
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver import decisions
from retainlint.symbolic.state import events, limits
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.reachability import sweep
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import GUESS, Bound, Const, Failure, GeneratorObj, Instance, Ref, Term, Value


def run_for(machine: Machine, instr: ir.For, state: State) -> list[State]:
    after: list[State] = []
    for each, iterable in _iterated(machine, state, instr):
        if each.flow is not None:
            after.append(each)
        elif (found := within(machine, each, iterable, instr)) is not None:
            begun = each.fork()
            ways = over_generator(machine, instr, each, iterable, *found)
            if ways is None and isinstance(begun.get(iterable), GeneratorObj):
                iterable = objects.fresh(begun, instr.span)
            after += _over_items(machine, instr, begun, iterable) if ways is None else ways
        else:
            after += _over_items(machine, instr, each, iterable)
    return after


def _over_items(machine: Machine, instr: ir.For, state: State, iterable: Value) -> list[State]:
    """Run over what isn't a generator that is followed; what others have given is held as long as the loop runs."""
    if (held := drained(machine, state, iterable, instr.span)) != iterable:
        state.write(instr.iterable, held, instr.span)
    return _over(machine, instr, state, held, iterable)


_EXHAUSTED = (Failure("StopIteration"), Failure("IndexError"))
"""With these an object of the program says that it has no more items."""


class _Iterations:
    """The turns of one loop; `ended` are the states that left it otherwise than by its end."""

    def __init__(self, machine: Machine, instr: ir.For, state: State, iterable: Value, origin: Value) -> None:
        self.machine, self.instr, self.outer, self.depth = machine, instr, state.iterations, len(state.calls)
        self.iterable, self.origin = iterable, origin
        self.plan = loop_plan.plan(machine, state, iterable, instr.span, instr.body)
        if isinstance(self.plan.size, Term | Ref):
            sizes = self.plan.size, *self.plan.sizes
            meant = periods.numbers(machine, state, iterable, instr, sizes)
            self.plan = replace(self.plan, sizes=(*self.plan.sizes, *meant))
        self.ended: list[State] = []
        self.over: list[State] = []
        self.lists = {} if self.plan.is_whole else loop_plan.of_lists(state)
        self.yielded = len(state.frame.yielded)
        size = self.plan.size
        few = isinstance(size, Const) and isinstance(size.value, int) and size.value <= limits.COUNTED_ITERATIONS
        begun = loop_plan.numbers(state) if few and not self.plan.exact and not machine.trying else None
        self.begun = machine.steps, state.backward_passes, begun

    def known(self) -> list[State]:
        """The states from the ends of its iterations, as they were in earlier iterations of a loop around it: what comes
        behind these was seen. A list to be added to."""
        around = self.outer[-1:]
        if self.plan.indexed or self.plan.exact or not around or around[0].depth != self.depth:
            return []
        return self.machine.repeated.setdefault((id(self.instr), *(each.begun for each in self.outer)), [])

    def begin(self, states: list[State], index: Value, number: int = 1) -> list[State]:
        """Take the item at an index, for a turn of at least that number."""
        plan, span, outer = self.plan, self.instr.span, self.outer
        begun: list[State] = []
        for each in states:
            before = each.iterations[len(outer)].number if len(each.iterations) > len(outer) else 0
            iteration = max(number, before + 1)
            here = Iteration(
                span,
                iteration,
                each.frame.code.is_stub,
                len(each.calls),
                sure=plan.sure,
                few=plan.few and not each.frame.code.is_stub,
                begun=plan.loop,
                by_default=plan.comes(each, iteration),
            )
            each.iterations = (*outer, here)
            plan.presume(each, number, index)
            if index is plan.middle and before >= number:
                plan.go_behind(each, before)
            for current, item in plan.at(each, index):
                if current.flow is None:
                    self.machine.graphs.numbers.computed(current, (self.iterable,), item)
                    current.write(self.instr.item, item, span)
                    begun.append(current)
                elif current.flow.kind == "raise" and current.flow.value in _EXHAUSTED:
                    current.flow = None
                    self.over.append(current)
                else:
                    self.ended.append(current)
        return begun

    def run(self, begun: list[State], last: Value | None = None) -> list[State]:
        """Those that go on behind a turn; not those for which the one at `last` was the last."""
        live, left = sort_iteration(self.machine.run(self.instr.body, begun))
        self.ended += left
        if last is not None and self.plan.size is not None:
            over = [self.plan.is_last(each, last) for each in live]
            self.over += self.settle([each for each, is_over in zip(live, over) if is_over])
            live = [each for each, is_over in zip(live, over) if not is_over]
        return self.settle(live)

    def settle(self, live: list[State]) -> list[State]:
        """What is told apart at the end of a turn."""
        for each in live:
            forget_dead(each, self.instr.live_iteration)
            self.machine.graphs.effort.add(sweep(each))
        return self.machine.prune(live, self.instr.span)

    def counts(self, live: list[State]) -> bool:
        """Whether the first iteration has run a backward pass and counted something, so that which of them it is may decide what
        that keeps; and all can be run at little cost."""
        size, (_, ran, begun) = self.plan.size, self.begun
        if begun is None or not isinstance(size, Const) or not isinstance(size.value, int):
            return False
        if not self.is_cheap(size.value, limits.COUNTING_LOOP_STEPS):
            return False
        numbers = [loop_plan.numbers(each) for each in live if each.backward_passes is not ran]
        return any(number > begun.get(place, number) for each in numbers for place, number in each.items())

    def replaces(self, entry: State, live: list[State]) -> bool:
        """Whether the first iteration has put something else in place of an item of a container that holds graphs and one item
        at least for each iteration, or has cut a tensor from its graph, and ran no backward pass: each of the others does so to
        another. All must be run at little cost."""
        size = self.plan.size
        if self.plan.exact or not isinstance(size, Const) or not isinstance(size.value, int):
            return False
        if not self.is_cheap(size.value, limits.EXACT_LOOP_STEPS):
            return False
        count, ran = size.value, self.begun[1]
        return any(each.backward_passes is ran and loop_plan.has_replaced(entry, each, count) for each in live)

    @property
    def in_order(self) -> bool:
        """Whether iterations are run as they come, though not all, where the whole script is."""
        return self.machine.unrolls and self.plan.middle is None and not self.plan.exact

    def is_cheap(self, count: int, most: int) -> bool:
        """Whether so many iterations like the first take no more steps; none is no iteration."""
        return 0 < count * (self.machine.steps - self.begun[0]) <= most

    def take(self, states: list[State], index: Value) -> list[State]:
        """Run one turn more."""
        return self.run(self.begin(states, index))

    def leave(self, exhausted: list[State]) -> list[State]:
        """What comes behind the loop."""
        self.plan.forget(exhausted + self.ended)
        if not self.plan.exact:
            self.machine.sampled += 1
            self.machine.first_only += self.in_order
        consumption.leave(self.origin, exhausted, self.ended if self.plan.exact else [], len(self.outer))
        if not self.plan.is_whole:
            for each in exhausted + self.ended:
                at = len(self.outer)
                number = each.iterations[at].number if len(each.iterations) > at else 0
                loop_plan.sample(each, self.lists, number, self.plan.size)
                if not self.yielded and len(each.frame.yielded) == number > 0:
                    each.writable().length = self.plan.size
        for each in exhausted:
            each.iterations = self.outer
        after = self.machine.run(self.instr.orelse, exhausted)
        return settled(self.machine, leave_loop(self.ended, self.outer) + after, self.instr.live)


def _over(machine: Machine, instr: ir.For, state: State, iterable: Value, origin: Value) -> list[State]:
    """Run over the items of an iterable; `origin` is the iterator that they are taken of."""
    iterations = _Iterations(machine, instr, state, iterable, origin)
    plan, enough = iterations.plan, _enough(machine, iterations.outer, state.frame.code.is_generator)
    seen, live, is_cut_short = iterations.known(), [state], plan.is_cut_short(state)
    entry, begun_with, read = carried(state, instr.carried), _held(state), instr.carried
    exhausted: list[State] = []
    idle: list[State] = []  # that the first iteration has left as they were: they need no other
    first: State | None = None
    learnt, built = len(machine.graphs.modules), len(machine.graphs.births)
    counting = loop_acceleration.Counting(machine, instr)
    number = 0
    machine.events.emit(events.ArmTaken(instr, False))
    while number < plan.iterations:
        number += 1
        exhausted += [each for each in live if plan.lacks(each, number)]
        live = [each for each in live if not plan.lacks(each, number)]
        if number > 2 and first is not None:
            live, gone = loop_acceleration.cross(machine, instr, plan, live, first, number, iterations.take)
            exhausted += gone
        skipping = [each for each in live if plan.skips(each, number)]
        begun = iterations.begin([each for each in live if not plan.skips(each, number)], plan.index(number), number)
        if begun:
            machine.events.emit(events.ArmTaken(instr, True))
        if not plan.exact:
            before = len(iterations.ended)
            counting.iteration(number, begun, lambda each: iterations.begin([each], iterations.plan.index(3)))
            del iterations.ended[before:]
        live = skipping + iterations.run(begun, plan.index(number) if number < plan.iterations else None)
        if live and plan.may_end(live[0]):
            if number == 1 and len(live) > 1 and _combine([_held(each) for each in live], begun_with):
                read = instr.live_iteration
            elif number == 1 and learnt == len(machine.graphs.modules):
                same = [_is_idle(machine, entry, each, instr, built) for each in live]
                idle = [each for each, is_same in zip(live, same) if is_same]
                live = [each for each, is_same in zip(live, same) if not is_same]
            grown = not (plan.exact or iterations.in_order)
            lenient = number >= limits.LENIENT_FROM_ITERATION and grown
            live, repeated = new_states(machine, live, seen, read, lenient=lenient, grown=grown)
            exhausted += repeated
        elif not plan.indexed:
            seen += [carried(each, read) for each in live]
        if not live or (number >= enough and not plan.exact and plan.loop not in live[0].base.deciding):
            break
        if number == 1 and (iterations.counts(live) or iterations.replaces(entry, live)):
            plan = iterations.plan = plan.in_full()
        elif number == 1 and iterations.is_cheap(plan.periods, limits.PERIODIC_LOOP_STEPS):
            plan = iterations.plan = plan.over_periods()
        elif number == 1 and not plan.exact:
            first = live[0].fork()
    if is_cut_short and (live or number >= limits.LENIENT_FROM_ITERATION):  # else another one would do the same
        machine.shortened |= machine.running is machine.program.module
    return iterations.leave(exhausted + iterations.over + live + idle)


def _held(state: State) -> dict[str, tuple[Value, object]]:
    """What the names of the running function stand for, with what that holds."""
    return {name: (value, state.get(value)) for name, value in state.frame.names.items()}


def _combine(ends: list[dict[str, tuple[Value, object]]], begun: dict[str, tuple[Value, object]]) -> bool:
    """Whether ways through an iteration change different names, so that two iterations come to what none comes to alone."""
    changed = [{name for name, held in each.items() if begun.get(name) != held} for each in ends]
    return any(one - two and two - one for one, two in combinations(changed, 2))


def _is_idle(machine: Machine, entry: State, state: State, instr: ir.For, built: int) -> bool:
    """Whether an iteration has left all that the next one reads as it was, and no graph that this may need, or waste again;
    so many nodes were built before it."""
    if state.retained != entry.retained or not unchanged(machine.graphs, entry, carried(state, instr.carried)):
        return False
    births = machine.graphs.births
    since = islice(reversed(births), len(births) - built)
    return all(births[node].exists == GUESS or not node.saved or node in state.ledger.freed for node in since)


def run_while(machine: Machine, instr: ir.While, state: State) -> list[State]:
    outer, begin = state.iterations, ticket()
    presumed: set[Value] = set()
    ended: list[State] = []
    finished: list[State] = []
    stopped: list[State] = []
    seen: list[State] = []
    live = [state]
    decided = True
    number = 0
    unknown_iterations = min(_enough(machine, outer), limits.WHILE_ITERATIONS_UNKNOWN)
    is_endless = all(isinstance(each, ir.Const) for each in instr.test) and not _left_by_handler(instr.body)
    counting = loop_acceleration.Counting(machine, instr)
    known_iterations = limits.UNROLLED_ITERATIONS if machine.unrolls else limits.WHILE_ITERATIONS_KNOWN
    while live and number < (known_iterations if decided else unknown_iterations):
        number += 1
        begun: list[State] = []
        for each in live:
            here = Iteration(instr.span, number, each.frame.code.is_stub, len(each.calls), begun=begin)
            each.iterations = (*outer, here)
        for tested in machine.run(instr.test, live):
            if tested.flow is not None:
                ended.append(tested)
                continue
            truth = decisions.decide(tested, tested.read(instr.cond))
            if truth is None:
                machine.forked, decided = True, False
                if number > 2:
                    finished.append(tested.fork())
                truth = True
                presumed |= decisions.presume(tested, decisions.asked(tested, tested.read(instr.cond)))
            machine.events.emit(events.ArmTaken(instr, truth))
            (begun if truth else finished).append(tested)
        if number == 1 or not decided or is_endless or number == known_iterations:
            counting.iteration(number, begun, partial(_again, machine, instr, outer))
        live, left = sort_iteration(machine.run(instr.body, begun))
        ended += left
        for each in live:
            forget_dead(each, instr.live_iteration)
            machine.graphs.effort.add(sweep(each))
        live = machine.prune(live, instr.span)
        live, repeated = new_states(machine, live, seen, instr.carried, grown=True)
        # what decides it isn't seen to change: it ends some day
        given_up = not (live or finished or stopped or ended or is_endless)
        stopped += repeated if given_up or not decided else []
    if decided and live:
        machine.shortened |= machine.running is machine.program.module
    stopped += live
    for each in finished + stopped + ended:
        each.iterations = outer
        for term in presumed.intersection(each.truths):
            del each.truths[term]
    leaving = [each for each in stopped if not _goes_on(machine, instr, each)]
    finished += leaving if leaving or finished or ended else stopped
    after = machine.run(instr.orelse, finished)
    return settled(machine, leave_loop(ended, outer) + after, instr.live)


def _goes_on(machine: Machine, instr: ir.While, state: State) -> bool:
    """Whether a path that wasn't followed into a loop's next turn has found by itself that there is one: `if x > 0` at the end of
    `while x > 0`."""
    if len(instr.test) == 1 or not all(isinstance(each, _ASKS) for each in ir.walk(instr.test)):
        return False
    tested = machine.run(instr.test, [state.fork()])
    return any(each.flow is None and decisions.decide(each, each.read(instr.cond)) for each in tested)


_ASKS = ir.Load | ir.Const | ir.Compare | ir.Unary | ir.If | ir.Move
"""Of these a test may be asked once more, and nothing comes of it."""


def _again(machine: Machine, instr: ir.While, outer: tuple[Iteration, ...], state: State) -> list[State]:
    """Begin a turn behind the one that was tried."""
    before = state.iterations[len(outer)]
    state.iterations = (*outer, replace(before, number=before.number + 1, depth=len(state.calls)))
    tested = [each for each in machine.run(instr.test, [state]) if each.flow is None]
    return [each for each in tested if decisions.decide(each, each.read(instr.cond)) is not False]


def _left_by_handler(body: ir.Block) -> bool:
    """Whether a handler leaves the loop: by what no call is seen to raise, such as `pop` of what is empty some day."""
    handlers = [each for instr in ir.walk(body) if isinstance(instr, ir.Try) for each in instr.handlers]
    return any(isinstance(each, ir.Break | ir.Return) for handler in handlers for each in ir.walk(handler.body))


def _enough(machine: Machine, outer: tuple[Iteration, ...], is_generator: bool = False) -> float:
    """How many iterations are run of a loop that stands within others: for all ways through them, unless they are few. That of
    a generator is one with the loop that takes what it yields."""
    nested = sum(not iteration.is_call for iteration in outer) - is_generator
    if nested >= limits.SINGLE_LOOPS_NESTED:
        return 1
    return limits.WHILE_ITERATIONS_NESTED if nested >= machine.chooser.breadth.nested else math.inf


def _iterated(machine: Machine, state: State, instr: ir.For) -> list[tuple[State, Value]]:
    """What a loop really runs over: an object's own `__iter__` is asked first; nothing but the loop holds what that makes."""
    iterable = state.read(instr.iterable)
    held = state.get(iterable)
    if not isinstance(held, Instance) or (method := find(state, iterable, "__iter__")) is None:
        return [(state, iterable)]
    found = machine.call(state, Bound(method, iterable), Args(), instr.span)
    for each, made in found:
        if each.flow is None:
            each.write(instr.iterable, made, instr.span)
    return found
