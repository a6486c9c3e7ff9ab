"""Joins: what is dead is forgotten, and of states that mean the same one goes on."""

from __future__ import annotations

from retainlint.ir import Live
from retainlint.symbolic import deeds, options, remainders
from retainlint.symbolic.alike import Hint, equivalent
from retainlint.symbolic.bounds import latest
from retainlint.symbolic.graphs import Graphs
from retainlint.symbolic.state import Choice, State, Unbound
from retainlint.symbolic.values import Term, Value, symbols


def forget_dead(state: State, live: Live) -> None:
    """Drop what can't be read any more in the running call."""
    frame = state.frame
    dead_names = (frame.names.keys() & frame.code.local_names) - live.names - frame.code.captured
    dead_registers = frame.registers.keys() - live.registers
    if dead_names or dead_registers:
        frame = state.writable()
        for name in dead_names:
            del frame.names[name]
        for register in dead_registers:
            del frame.registers[register]
            frame.spans.pop(register, None)


PRESSURE = 2
"""From so many states on, those that differ only in numbers, texts and plain lists count as alike."""
CROWDED = 6
"""The same where others wait that will run as these do."""


def join(
    graphs: Graphs, states: list[State], since: tuple[Choice, ...] | None = None, *, beside: int = 1
) -> list[State]:
    """Merge what is equivalent; a merged state forgets the condition that told its halves apart. `beside` tells how
    many others run as these do.

    With `since`, the choices before a call into another module, its flags count as little as its numbers where there are
    many states, and what it chose is forgotten where they merge.
    """
    kept: list[State] = []
    lenient = len(states) > PRESSURE or len(states) * beside > CROWDED
    blind = lenient and since is not None
    hints: list[Hint] = []
    for state in states:
        for index, other in enumerate(kept):
            if equivalent(graphs, other, state, lenient=lenient, blind=blind, hints=hints):
                kept[index] = merged = _merged(other, state)
                if blind and since is not None:
                    merged.choices = tuple(choice for choice in merged.choices if choice in since)
                break
        else:
            kept.append(state)
    return kept


def _merged(a: State, b: State) -> State:
    choices = resolve(a.choices, b.choices)
    winner = max((a, b), key=lambda s: (len(s.frame.names), len(s.ledger.graded), -len(s.choices)))
    winner.unless = _unless(winner, b if winner is a else a)
    if a.truths != b.truths:
        winner.vague = a.vague | b.vague | _blurred(a, b)
        winner.truths = _shared(a, b)
    else:
        winner.vague = a.vague | b.vague
    winner.choices = choices if choices is not None else winner.choices
    winner.retained = tuple(dict.fromkeys(a.retained + b.retained)) if a.retained != b.retained else a.retained
    winner.deeds = deeds.merged(a.deeds, b.deeds)
    return winner


def _unless(winner: State, other: State) -> tuple[Unbound, ...]:
    """Which names the path that two go on as has only by some answers: who gives the others can't read them."""
    here, there = winner.frame, other.frame
    missing = () if here is there else list(here.names.keys() - there.names.keys())
    if not missing and winner.unless == other.unless:
        return winner.unless
    truths, against = winner.truths, other.truths
    apart = next((term for term, truth in against.items() if truths.get(term, truth) is not truth), None)
    found: list[Unbound] = []
    if apart is not None:
        by = frozenset({(apart, against[apart])})
        found = [Unbound(winner.stack[-1], name, by) for name in missing if name in here.code.local_names]
    for one, its, others in ((winner, truths, other), (other, against, winner)):
        for each in one.unless:
            known = each in others.unless or (one is winner and each.name in missing)
            if known or any(others.truths.get(term, truth) is not truth for term, truth in each.answers):
                found.append(each)
            elif apart is not None:
                found.append(Unbound(each.frame, each.name, each.answers | {(apart, its[apart])}))
    return tuple(dict.fromkeys(found))


def _shared(a: State, b: State) -> dict[Value, bool]:
    """What both know; one of them may only imply it, of a remainder."""
    found = {term: truth for term, truth in a.truths.items() if b.truths.get(term) == truth}
    for one, other in ((a, b), (b, a)):
        for term, truth in one.truths.items():
            if term not in other.truths and isinstance(term, Term) and remainders.decide(other, term) is truth:
                found[term] = truth
    return found | latest(a, b) | options.shared(a, b)


def _blurred(a: State, b: State) -> frozenset[int]:
    """The symbols of which a merged state knows less than its halves: the answers to one condition are no loss."""
    apart = [term for term, _ in a.truths.items() ^ b.truths.items()]
    if len(apart) == 2 and apart[0] == apart[1]:
        return frozenset()
    return frozenset(symbol for term in apart for symbol in symbols(term))


def resolve(a: tuple[Choice, ...], b: tuple[Choice, ...]) -> tuple[Choice, ...] | None:
    """The choices without the one in which both differ only by its answer; None if they differ by more."""
    shared = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x is not y), min(len(a), len(b)))
    left, right = _without(a[shared:], b[shared:]), _without(b[shared:], a[shared:])
    if not left and len(right) <= 1:
        return a
    if not right and len(left) <= 1:
        return b
    if len(left) == len(right) == 1 and left[0].term == right[0].term:
        return tuple(choice for choice in a if choice != left[0])
    return None


def _without(a: tuple[Choice, ...], b: tuple[Choice, ...]) -> list[Choice]:
    """Those of `a` that aren't in `b`; many are the same object in both, which is cheap to tell."""
    shared = set(map(id, b))
    left = [choice for choice in a if id(choice) not in shared]
    others = set(b) if left else set[Choice]()
    return [choice for choice in left if choice not in others]
