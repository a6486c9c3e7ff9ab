"""Names and attributes that only some of the paths which became one have bound: by which answers the others haven't."""

from __future__ import annotations

from retainlint.symbolic import options
from retainlint.symbolic.facts import negate
from retainlint.symbolic.past import replaced
from retainlint.symbolic.state import State, Unbound
from retainlint.symbolic.values import Instance, Term, UnknownObj, Value


def merged(winner: State, other: State, its: dict[Value, bool]) -> tuple[Unbound, ...]:
    """Which names the path that two go on as has only by some answers: who gives the others can't read them. `its` are
    the answers that only the other gave."""
    here, there = winner.frame, other.frame
    missing = () if here is there else list(here.names.keys() - there.names.keys())
    truths, against = winner.truths, other.truths
    otherwise = [term for term, truth in its.items() if truths.get(term, truth) is not truth]
    option = next(filter(options.asks, otherwise), None)  # which is asked again
    if not missing and option is None and winner.unless == other.unless:
        return winner.unless
    apart = option if option is not None else next(iter(otherwise), None)
    found: list[Unbound] = []
    lacking: dict[int, list[str]] = {winner.stack[-1]: [name for name in missing if name in here.code.local_names]}
    if option is not None:
        lacking |= _attributes(winner, other)
    if apart is not None:
        by = frozenset({(apart, against[apart])})
        found = [Unbound(holder, name, by) for holder, names in lacking.items() for name in names]
    for one, own, others in ((winner, truths, other), (other, against, winner)):
        those = set(others.unless)
        for each in one.unless:
            if not _is_there(winner, each.frame):
                continue  # it has been left
            known = each in those or (one is winner and each.name in lacking.get(each.frame, ()))
            if known or any(others.truths.get(term, truth) is not truth for term, truth in each.answers):
                found.append(each)
            elif apart is not None:
                found.append(Unbound(each.frame, each.name, each.answers | {(apart, own[apart])}))
    return tuple(dict.fromkeys(found))


def _is_there(state: State, holder: int) -> bool:
    return holder in state.frames if holder > 0 else -holder in state.heap


def _attributes(winner: State, other: State) -> dict[int, list[str]]:
    """The attributes of objects that one path has set, and the other at most read; an object goes by its number below
    zero."""
    found: dict[int, list[str]] = {}
    for id in sorted(replaced(winner, other)):
        here, there = winner.heap.get(id), other.heap.get(id)
        if isinstance(here, Instance) and isinstance(there, Instance) and here.attrs is not there.attrs:
            names = [name for name, value in here.attrs.items() if not _is_read(winner, name, value)]
            lacks = (name for name in names if (its := there.attrs.get(name)) is None or _is_read(other, name, its))
            found[-id] = list(lacks)
    return found


def _is_read(state: State, name: str, value: Value) -> bool:
    """Whether an object has an attribute only since that was read."""
    held = state.get(value)
    return isinstance(held, UnknownObj) and held.name == name and held.made.text.partition(".")[2] == name


def _of(state: State, holder: int, name: str) -> list[Unbound]:
    return [each for each in state.unless if each.name == name and each.frame == holder]


def is_unbound(state: State, holder: int, name: str) -> bool:
    """Whether this path's answers are those by which others came here without the name. The holder is a frame, or an
    object by its number below zero."""
    truths, known = state.truths, _of(state, holder, name)
    return bool(known) and any(all(truths.get(term) is truth for term, truth in each.answers) for each in known)


def learn(state: State, holder: int, name: str) -> None:
    """Where a name is read that only some answers leave unbound, others were given."""
    for each in _of(state, holder, name):
        left = sorted(((term, truth) for term, truth in each.answers if term not in state.truths), key=repr)
        if not left or any(state.truths.get(term, truth) is not truth for term, truth in each.answers):
            continue
        if len(left) == 1:
            state.truths[left[0][0]] = not left[0][1]
        else:
            state.truths[Term("any", tuple(negate(term) if truth else term for term, truth in left))] = True


def bound(state: State, holder: int, name: str) -> None:
    """Note that a name has been bound on this path."""
    state.unless = tuple(each for each in state.unless if each.name != name or each.frame != holder)
