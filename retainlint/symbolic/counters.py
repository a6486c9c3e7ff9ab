"""Arms behind a counter or a batch that fills, to which no turn that is run comes: a turn is tried for them alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from retainlint import ir
from retainlint.incident import Freed, Incident, Moment
from retainlint.source import Span
from retainlint.symbolic.context import Machine
from retainlint.symbolic.state import State, ticket
from retainlint.symbolic.values import Const, ListObj, Ref, Symbol

TURN = 2
"""The turn that is tried: by then a counter has grown, and a loop that gathers seldom has a third turn of its own."""
_COUNTED = re.compile(r"\b([^\W\d]\w*) *%|^([^\W\d]\w*) *(?:==|[<>]=?)|\blen\(([^\W\d]\w*)\) *(?:%|==|[<>]=?)")


def numbers(state: State) -> dict[str, int]:
    """The variables of the running function that hold numbers, or lists, with their lengths."""
    found: dict[str, int] = {}
    for name, held in state.frame.names.items():
        match held:
            case Const(int(number)) if not isinstance(number, bool):
                found[name] = number
            case Ref() if isinstance(gathered := state.get(held), ListObj) and not gathered.open:
                found[name] = len(gathered.items)
    return found


def attempt(machine: Machine, instr: ir.For, state: State, before: dict[str, int]) -> None:
    """Run a turn with its counters unknown, on a path of its own that ends there. What is told of it are failures of
    that turn alone, since nobody knows how many turns lie before it."""
    now = numbers(state)
    grown = {name for name, number in now.items() if number > before.get(name, number)}
    grown &= set(_counters(instr)) if grown else grown
    if not grown or machine.trying or state.frame.consumer or machine.steps > machine.budget // 2:
        return
    tried = state.fork()
    tried.ledger.freed.clear()  # what earlier turns freed, those between may have built anew
    for name in grown:
        held = tried.frame.names[name]
        if isinstance(held, Ref) and isinstance(gathered := tried.get(held), ListObj):
            tried.set(held, replace(gathered, open=True))
        else:
            tried.writable().names[name] = Symbol(ticket(), now[name])
    with machine.trial(lambda incident: _is_of_turn(incident, instr.span)):
        machine.run(instr.body, [tried])


def _counters(loop: ir.For) -> Iterator[str]:
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


def _is_of_turn(incident: Incident, loop: Span) -> bool:
    """Whether a failure has its graph, and all that happened to it, from the turn that was tried."""
    if not isinstance(incident, Freed):
        return False
    return all(_in_turn(each, loop) for each in (incident.built, incident.freed.moment, incident.reused.moment))


def _in_turn(moment: Moment, loop: Span) -> bool:
    return any(turn.loop == loop and turn.number == TURN for turn in moment.turns)
