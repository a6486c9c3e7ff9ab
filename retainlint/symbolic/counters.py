"""Arms behind a counter or a batch that fills, to which no turn that is run comes: turns are tried for them alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from retainlint import ir
from retainlint.incident import Freed, Incident, Modified, Moment
from retainlint.source import Span
from retainlint.symbolic import sizes
from retainlint.symbolic.context import Machine, OutOfSteps
from retainlint.symbolic.state import State
from retainlint.symbolic.turns import sort_turn
from retainlint.symbolic.untaken import blocks

STEPS = 8_000
"""So many steps may be spent on it."""
ATTEMPTS = 2
"""A counter that not every turn moves has grown later than others."""
_COUNTED = re.compile(r"\b([^\W\d]\w*) *%|^([^\W\d]\w*) *(?:==|[<>]=?)|\blen\(([^\W\d]\w*)\) *(?:%|==|[<>]=?)")


class Counting:
    """What a loop counts and gathers from its first turn to the one that is tried."""

    def __init__(self, machine: Machine, loop: ir.For | ir.While) -> None:
        self.machine, self.loop = machine, loop
        self.names: sizes.Sizes = {}
        self.objects: sizes.Sizes | None = None
        self.tried: set[sizes.Place] = set()
        self.left = 0 if machine.trying else ATTEMPTS

    def turn(self, number: int, begun: list[State], again: Callable[[State], list[State]]) -> None:
        """A turn begins in each of these states; `again` begins another one behind it."""
        machine = self.machine
        if not (self.left and begun):
            return
        if number == 1:
            self.names = sizes.of_names(begun[0])
            if machine.unreached.may_walk(self.loop) or self._gathers(begun[0]):
                self.objects = sizes.of_objects(begun[0])
            return
        state, places = max(((each, self._grown(each)) for each in begun), key=lambda pair: len(pair[1]))
        if not places <= self.tried:
            self.left -= 1
            self.tried |= places
            _attempt(machine, self.loop, state, places, again)

    def _grown(self, state: State) -> set[sizes.Place]:
        """The counters on which an arm of the loop depends: those in its tests, all where a walk is still to be reached."""
        machine = self.machine
        if machine.steps > machine.budget // 2:
            return set()
        names = sizes.grown(state, self.names, sizes.of_names(state))
        missed = self._gathers(state) or not machine.unreached.is_walked(self.loop, machine.walked)
        if self.objects is not None and missed:
            return names | sizes.grown(state, self.objects, sizes.of_objects(state))
        return names & set(_counters(self.loop)) if names and not state.frame.consumer else set()

    def _gathers(self, state: State) -> bool:
        """Whether it is the loop of a generator that hasn't yielded so far."""
        return state.frame.code.is_generator and not state.frame.yielded and _yields(self.loop.body)


def _yields(block: ir.Block) -> bool:
    return any(isinstance(each, ir.Yield) or any(map(_yields, blocks(each))) for each in block)


def _attempt(
    machine: Machine,
    loop: ir.For | ir.While,
    state: State,
    places: set[sizes.Place],
    again: Callable[[State], list[State]],
) -> None:
    """Run a turn with its counters unknown, on a path of its own. Where it walks, run one that doesn't, as those do in
    which the counters grow again, and one more. What is told are failures of one turn alone, since nobody knows how many
    turns lie before it; and of what goes from one to the other, that which no condition but the arm's own may prevent."""
    tried = state.fork()
    tried.ledger.freed.clear()  # what earlier turns freed, those between may have built anew
    sizes.widen(tried, places)
    known = frozenset(choice.condition.span for choice in state.choices)
    budget = machine.budget
    machine.budget = min(budget, machine.steps + STEPS)

    def run(begun: list[State], *, walking: bool) -> list[State]:
        """Run a turn, and begin another one behind those paths that walked in it, or behind the others."""
        before = max((len(each.walks) for each in begun), default=0)
        going, _ = sort_turn(machine.run(loop.body, begun))
        going = machine.thin([each for each in going if (len(each.walks) > before) is walking], loop.span)
        for each in going:
            sizes.widen(each, places - sizes.reset(each, places) if walking else places)
        return [following for each in going for following in again(each)]

    try:
        with machine.trial(partial(_counts, loop.span, known)):
            between = run([tried], walking=True)
            run(run(between, walking=False), walking=True)
    except OutOfSteps:
        if machine.steps > budget:
            raise
    finally:
        machine.budget = budget


def _counters(loop: ir.For | ir.While) -> Iterator[str]:
    """The variables whose remainder, or whose one value, decides an arm of the loop's body."""
    for span in _tests(loop.body):
        for match in _COUNTED.finditer(span.text):
            yield match[1] or match[2] or match[3]


def _tests(block: ir.Block) -> Iterator[Span]:
    for instr in block:
        match instr:
            case ir.If(span=span, then=then, orelse=orelse):
                yield span
                yield from _tests(then + orelse)
            case ir.For(body=body) | ir.While(body=body) | ir.With(body=body) | ir.Try(body=body):
                yield from _tests(body)


def _counts(loop: Span, known: frozenset[Span], incident: Incident) -> bool:
    """Whether a failure has its graph, and all that happened to it, from one turn that was tried; or a turn that doesn't
    walk lies between, and none but the arm's own condition led to it."""
    match incident:
        case Freed():
            moments = incident.built, incident.freed.moment, incident.reused.moment
        case Modified():
            moments = incident.built, incident.modified, incident.walk.moment
        case _:
            return False
    built, spoilt, needed = (_turn(each, loop) for each in moments)
    chosen = {condition.span for condition in incident.conditions} - known
    return built == spoilt == needed or (spoilt + 2 == needed and len(chosen) <= 1)


def _turn(moment: Moment, loop: Span) -> int:
    return next((turn.number for turn in moment.turns if turn.loop == loop), 0)
