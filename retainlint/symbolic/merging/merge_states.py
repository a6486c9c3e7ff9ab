"""Joins: what is dead is forgotten, and of states that mean the same one goes on."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TypeAlias

from retainlint import ir
from retainlint.incident import Iteration
from retainlint.ir import Code, Live
from retainlint.startup.records import replace
from retainlint.symbolic.merging.equivalence import equivalent
from retainlint.symbolic.solver import intervals, trials
from retainlint.symbolic.solver.decisions import negate
from retainlint.symbolic.solver.intervals import latest
from retainlint.symbolic.state import gradient_events, limits
from retainlint.symbolic.state.graphs import Graphs
from retainlint.symbolic.state.path_condition import Truths, begun_equivalent
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import MIXED, Choice, State, Unbound, Unbounds, replaced, ticket
from retainlint.symbolic.state.values import (
    Const,
    DictObj,
    HeapObj,
    Instance,
    ListObj,
    Ref,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
    symbols,
)


def merged(winner: State, other: State, its: dict[Value, bool]) -> Unbounds:
    """Which names the path that two go on as has only by some answers: who gives the others can't read them. `its` are
    the answers that only the other gave."""
    here, there = winner.frame, other.frame
    missing = () if here is there else sorted(here.names.keys() - there.names.keys())
    truths, against = winner.truths, other.truths
    otherwise = [term for term, truth in its.items() if truths.get(term, truth) is not truth]
    option = next(filter(intervals.asks, otherwise), None)  # which is asked again
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
    told = dict.fromkeys(found)  # which may be twice as many as before at each join
    return Unbounds(sorted(told, key=lambda each: len(each.answers))[: limits.MAYBE_UNBOUND])


def _is_there(state: State, holder: int) -> bool:
    return state.frames.has(holder) if holder > 0 else -holder in state.heap


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


def is_unbound(state: State, holder: int, name: str) -> bool:
    """Whether this path's answers are those by which others came here without the name. The holder is a frame, or an
    object by its number below zero."""
    truths, known = state.truths, state.unless.of.get((holder, name), ())
    return any(all(truths.get(term) is truth for term, truth in each.answers) for each in known)


def learn(state: State, holder: int, name: str) -> None:
    """Where a name is read that only some answers leave unbound, others were given."""
    for each in state.unless.of.get((holder, name), ()):
        left = sorted(((term, truth) for term, truth in each.answers if term not in state.truths), key=repr)
        if not left or any(state.truths.get(term, truth) is not truth for term, truth in each.answers):
            continue
        if len(left) == 1:
            state.truths[left[0][0]] = not left[0][1]
        else:
            state.truths[Term("any", tuple(negate(term) if truth else term for term, truth in left))] = True


def bound(state: State, holder: int, name: str) -> None:
    """Note that a name has been bound on this path."""
    if (holder, name) in state.unless.of:
        state.unless = Unbounds(each for each in state.unless if each.name != name or each.frame != holder)


def forget_dead(state: State, live: Live) -> None:
    """Drop what can't be read any more in the running call."""
    frame = state.frame
    mortal = frozenset[str]() if state.base.names_hold else _mortal(frame.code, live)
    dead_names = () if mortal.isdisjoint(frame.names) else frame.names.keys() & mortal
    dead_registers = frame.registers.keys() - live.registers
    if dead_names or dead_registers:
        frame = state.writable()
        for name in dead_names:
            del frame.names[name]
        if len(dead_registers) == len(frame.registers):
            frame.registers.clear()
            frame.spans.clear()
        else:
            for register in dead_registers:
                del frame.registers[register]
                frame.spans.pop(register, None)
    if state.unless:
        id, kept = state.stack[-1], live.names | frame.code.captured
        if any(frame == id and name not in kept for frame, name in state.unless.of):
            state.unless = Unbounds(each for each in state.unless if each.frame != id or each.name in kept)


def _mortal(code: Code, live: Live) -> frozenset[str]:
    """The names of a code that are dead there; the last answer is noted on what is alive, of which many codes may hold one."""
    found: tuple[Code, frozenset[str]] | None = live.dead
    if found is None or found[0] is not code:
        found = live.dead = code, code.local_names - live.names - code.captured
    return found[1]


def forget_dead_registers(state: State, block: ir.Block, index: int) -> None:
    """Drop registers that a block has written, and nobody reads behind one of its instructions."""
    behind = spent(state.frame.code).behind(block)
    if gone := [each for each in state.frame.registers if behind.get(each, math.inf) <= index]:
        frame = state.writable()
        for register in gone:
            del frame.registers[register]
            frame.spans.pop(register, None)


Known: TypeAlias = "dict[Value, bool]"
"""Conditions and their answers."""


def join(
    graphs: Graphs,
    states: list[State],
    since: tuple[Choice, ...] | None = None,
    *,
    beside: int = 1,
    exact: bool = False,
) -> list[State]:
    """Merge what is equivalent; a merged state forgets the condition that told its halves apart. `beside` tells how
    many others run as these do.

    With `since`, the choices before a call into another module, its flags count as little as its numbers where there are
    many states, and what it chose is forgotten where all of them merge: beside others, which chose otherwise, one must
    still tell by which way it came.
    `exact` ones are merged only where a condition drops out: else the conditions of one would stand for both.
    """
    if len(states) < 2:
        return states
    kept: list[list[State]] = []
    lenient = len(states) > limits.LENIENT_STATES or len(states) * beside > limits.LENIENT_STATES_BESIDE
    blind = lenient and since is not None
    for state in states:
        for group in kept:
            if equivalent(graphs, group[0], state, lenient=lenient, blind=blind):
                _add(graphs, group, state, exact=exact)
                break
        else:
            kept.append([state])
    if len(kept) == len(states):
        return states
    if exact:
        left = {id(each) for group in kept for each in group}
        return [state for state in states if id(state) in left]
    found = [reduce(_merged, group) for group in kept]
    if blind and since is not None and len(found) == 1:
        gone = set(map(id, _without(found[0].choices, since)))
        found[0].choices = tuple(choice for choice in found[0].choices if id(choice) not in gone)
    return found


def _add(graphs: Graphs, group: list[State], state: State, *, exact: bool) -> None:
    """Merge a state first with those from which one answer tells it apart: together they need none."""
    place = len(group)
    while True:
        graphs.effort.add(len(state.choices) * len(group) + len(state.truths))
        for index, other in enumerate(group):
            if resolve(other.choices, state.choices) is not None and not (exact and _know_more(other, state)):
                place, state = index, _merged(group.pop(index), state)
                break
        else:
            group.insert(place, state)
            return


def _know_more(a: State, b: State) -> bool:
    """Whether two paths that become one would forget more than the answers to one condition."""
    ours, theirs = a.truths.apart(b.truths)
    return not _is_one_answer(ours, theirs)


def _is_one_answer(ours: Known, theirs: Known) -> bool:
    """Whether two paths are told apart by the answer to one condition, or by none."""
    return len(ours) < 2 and ours.keys() == theirs.keys()


def _merged(a: State, b: State) -> State:
    choices = resolve(a.choices, b.choices)
    ours, theirs = a.truths.apart(b.truths)
    first, second = ((len(s.frame.names), len(s.ledger.graded), -len(s.choices)) for s in (a, b))
    winner = b if second > first or (second == first and (ours or theirs) and _is_cut_short(a, b)) else a
    other = b if winner is a else a
    winner.unless = merged(winner, other, theirs if winner is a else ours)
    _perhaps_empty(winner, other)
    _perhaps_graphs(winner, other)
    _between(winner, other)
    winner.imprecise = a.imprecise | b.imprecise
    if ours or theirs:
        unlike = _unlike(winner.frame.names, other.frame.names)
        winner.imprecise |= _blurred(ours, theirs) | _mixed(unlike)
        known = _shared(a, b, ours, theirs)
        known.update(_about(winner, _computed_apart(winner, unlike)))
        winner.truths = Truths(known)
    winner.choices = choices if choices is not None else winner.choices
    winner.retained = tuple(dict.fromkeys(a.retained + b.retained)) if a.retained != b.retained else a.retained
    winner.gradient_events = gradient_events.merged(a.gradient_events, b.gradient_events)
    return winner


def _between(winner: State, other: State) -> None:
    """A number that is another one on either of two paths that go on as one may be each of them; not one that a loop has
    counted, as that tells how old a graph is."""
    there = other.frame.names
    for name, value in [*winner.frame.names.items()]:
        against = there.get(name, value)
        if value is not against and isinstance(value, Const) and isinstance(against, Const):
            one, two = value.value, against.value
            is_counted = bool(value.loops or against.loops)
            if isinstance(one, int) and isinstance(two, int) and one != two and not is_counted:
                winner.writable().names[name] = Symbol(ticket(), min(one, two), Const(max(one, two)))


def _perhaps_graphs(winner: State, other: State) -> None:
    """Note which tensors without a graph are something else on the other of two paths that go on as one, which may have one."""
    here, there = winner.frame, other.frame
    pairs: list[tuple[Value | None, Value | None]] = [
        (value, there.names.get(name)) for name, value in here.names.items()
    ]
    pairs += [(value, there.registers.get(register)) for register, value in here.registers.items()]
    if winner.flow is not None and other.flow is not None:
        pairs.append((winner.flow.value, other.flow.value))
    for id in sorted(replaced(winner, other)):
        one, two = winner.heap.get(id), other.heap.get(id)
        if isinstance(one, Instance) and isinstance(two, Instance):
            pairs += [(value, two.attrs.get(name)) for name, value in one.attrs.items()]
        elif isinstance(one, ListObj | DictObj):
            pairs.append((Ref(id), Ref(id)))
    for value, against in pairs:
        if value is not None and against is not None:
            _doubt(winner, value, other, against)


def _doubt(winner: State, value: Value, other: State, against: Value) -> None:
    """The same of what stands in one place of both."""
    if isinstance(value, Tuple) and isinstance(against, Tuple):
        for one, two in zip(value.items, against.items, strict=False):
            _doubt(winner, one, other, two)
    elif isinstance(value, Ref) and winner.get(value) is not (their := other.get(against)):
        if any(_may_have_graph(other.get(part)) for part in other.parts(against)):
            for part in winner.parts(value):
                winner.doubt(part)
        elif _may_have_graph(their):
            winner.doubt(value)


def _may_have_graph(held: HeapObj | None) -> bool:
    if isinstance(held, TensorObj):
        return held.edge is not None or held.unsure
    return isinstance(held, UnknownObj) and not held.plain


def _perhaps_empty(winner: State, other: State) -> None:
    """Note which lists hold something on one of two paths that go on as one, and nothing on the other; and which dicts have
    keys on one alone: what stands under them is unknown, or is what it is if it is there."""
    for id in sorted(replaced(winner, other)):
        here, there = winner.heap.get(id), other.heap.get(id)
        if isinstance(here, ListObj) and isinstance(there, ListObj) and here.items and not here.perhaps:
            if there.perhaps or not (there.items or there.open):
                winner.set(Ref(id), replace(here, perhaps=True))
        elif isinstance(here, DictObj) and isinstance(there, DictObj) and here.items.keys() != there.items.keys():
            known = {key for key, value in here.items.items() if not isinstance(winner.get(value), UnknownObj)}
            items = {key: value for key, value in here.items.items() if key in there.items or key in known}
            winner.set(Ref(id), replace(here, items=items, open=True))


def _is_cut_short(a: State, b: State) -> bool:
    """Whether one path holds under some name what another name holds too, and the other doesn't, as behind `end = n` where
    `end > n`: it is in its last turn."""
    here, there = a.frame.names, b.frame.names
    for name, value in here.items():
        against = there.get(name, value)
        if value is not against and value != against and not isinstance(value, Const):
            copies = [list(names.values()).count(each) > 1 for names, each in ((here, value), (there, against))]
            if copies != [False, False]:
                return copies == [True, False]
    return False


def _shared(a: State, b: State, ours: Known, theirs: Known) -> Known:
    """What both know; one of them may only imply it, of a remainder."""
    found: Known = dict(a.truths)
    for term in ours:
        del found[term]
    for alone, other in ((ours, b), (theirs, a)):
        for term, truth in alone.items():
            if term not in other.truths and isinstance(term, Term) and trials.decide(other, term) is truth:
                found[term] = truth
    for more in (latest(ours, theirs), intervals.shared(a, b), _either(ours, theirs)):
        found.update(more)
    return found


def _unlike(here: Mapping[str, Value], there: Mapping[str, Value]) -> list[Value]:
    """What one path holds under names under which the other holds something else."""
    return [
        value for name, value in here.items() if value is not (against := there.get(name, value)) and value != against
    ]


def _mixed(unlike: list[Value]) -> frozenset[int]:
    """Whether a known number goes with what only the path has chosen in which it is another one."""
    differ = any(isinstance(value, Const) and type(value.value) is int for value in unlike)
    return frozenset((MIXED,)) if differ else frozenset()


def _computed_apart(winner: State, unlike: list[Value]) -> set[Value]:
    """The unknowns from which numbers are computed that two paths hold under one name, and differ in: the path goes on
    with one of these, so what it has chosen of them still holds."""
    found: set[Value] = set()
    for value in unlike:
        held = winner.get(value)
        number = held.notes.total if isinstance(held, UnknownObj) else value
        if isinstance(number, Term):
            found.update(trials.leaves(number))
    return found


def _about(state: State, unknowns: set[Value]) -> dict[Value, bool]:
    """What a path has chosen of some unknown numbers."""
    if not unknowns:
        return {}
    truths = state.truths.items()
    return {
        term: truth for term, truth in truths if isinstance(term, Term) and not unknowns.isdisjoint(trials.leaves(term))
    }


def _either(ours: Known, theirs: Known) -> Known:
    """That all holds which only one of both knows, or all that only the other does."""
    if _is_one_answer(ours, theirs):
        return {}
    sides = [_alone(ours), _alone(theirs)]
    if not all(0 < len(side) <= limits.MERGED_CONDITIONS for side in sides):
        return {}
    if sides[0] == [negate(each) for each in sides[1][:2]]:
        return {}
    return {Term("any", tuple(Term("all", tuple(side)) for side in sides)): True}


def _alone(known: Known) -> list[Value]:
    """The comparisons and flags among what only one path has chosen."""
    return [
        term if truth else negate(term)
        for term, truth in known.items()
        if not (isinstance(term, Term) and term.op in ("any", "all"))
    ]


def _blurred(ours: Known, theirs: Known) -> frozenset[int]:
    """The symbols of which a merged state knows less than its halves: the answers to one condition are no loss."""
    if _is_one_answer(ours, theirs):
        return frozenset()
    return frozenset[int]().union(*map(symbols, ours), *map(symbols, theirs))


def resolve(a: tuple[Choice, ...], b: tuple[Choice, ...]) -> tuple[Choice, ...] | None:
    """The choices without the one in which both differ only by its answer; None if they differ by more."""
    shared = begun_equivalent(a, b)
    ours, theirs = a[shared:], b[shared:]
    left = _without(ours, theirs)
    if len(left) > 1:
        return None
    right = _without(theirs, ours)
    if not left and len(right) <= 1:
        return a
    if not right:
        return b
    if len(left) == len(right) == 1 and left[0].term == right[0].term:
        gone, start = left[0], left[0].condition.span.start  # which is cheap to ask
        return tuple([choice for choice in a if choice.condition.span.start != start or choice != gone])
    return None


def _without(a: tuple[Choice, ...], b: tuple[Choice, ...]) -> list[Choice]:
    """Those of `a` that aren't in `b`; many are the same object in both, which is cheap to tell."""
    shared = set(map(id, b))
    left = [choice for choice in a if id(choice) not in shared]
    if not left:
        return left
    starts = {choice.condition.span.start for choice in left}  # whose hashes cost next to nothing
    others = {choice for choice in b if choice.condition.span.start in starts}
    return [choice for choice in left if choice not in others]


def settled(machine: Machine, states: list[State], live: ir.Live) -> list[State]:
    """At a join: forget what is dead, merge what is alike."""
    if len(states) < 2:
        return states
    for state in states:
        if state.flow is None:
            forget_dead(state, live)
        elif state.flow.kind == "return" and state.frame.registers:
            state.writable().registers.clear()
    return join(machine.graphs, states, beside=machine.chooser.beside)


def carried(state: State, live: Live) -> State:
    """What further iterations of a loop can see of a state: what they read is alive."""
    forget_dead(found := state.fork(), live)
    return found


def new_states(
    machine: Machine, states: list[State], seen: list[State], live: Live, *, lenient: bool = False, grown: bool = False
) -> tuple[list[State], list[State]]:
    """Tell states that no earlier iteration ended with, as far as further ones read them, from those that one did; the new
    ones are added to those that were `seen`."""
    new: list[State] = []
    old: list[State] = []
    ends: list[State] = []
    latest = seen[-limits.UNROLLED_COMPARED :] if machine.unrolls else seen
    for state in states:
        end = carried(state, live)
        if any(equivalent(machine.graphs, before, end, lenient=lenient, grown=grown) for before in latest):
            old.append(state)
        else:
            new.append(state)
            ends.append(end)
    seen += ends
    return new, old


def sort_iteration(states: list[State]) -> tuple[list[State], list[State]]:
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


def leave_loop(states: list[State], outer: tuple[Iteration, ...]) -> list[State]:
    for state in states:
        state.iterations = outer
        if state.flow is not None and state.flow.kind == "break":
            state.flow = None
    return states


# -- registers that nobody reads any more -----------------------------------------------------------------------------


class DeadRegisters:
    """What the blocks of one code read. Its instructions are numbered as they stand, those inside of others too: so a block is
    all that lies between two numbers."""

    def __init__(self, code: ir.Code) -> None:
        self._reads: dict[ir.Register, tuple[int, int]] = {}  # the first and the last number that reads a register
        self._numbers: dict[int, list[int]] = {}  # of a block's instructions, by its identity, and that of its end
        self._behind: dict[int, dict[ir.Register, int]] = {}
        self._number(code.body, 0)

    def behind(self, block: ir.Block) -> Mapping[ir.Register, int]:
        """Behind which of its instructions neither a block nor what surrounds it reads what it has written."""
        found = self._behind.get(id(block))
        if found is None:
            found = self._behind[id(block)] = {}
            numbers = self._numbers.get(id(block), [0])  # of a block of another code nothing is known
            for index, instr in enumerate(block[: len(numbers) - 1]):
                for register in _written(instr):
                    first, last = self._reads.get(register, (numbers[index], numbers[index]))
                    if numbers[0] <= first and last < numbers[-1]:
                        found.setdefault(register, max(index, bisect_right(numbers, last) - 1))
        return found

    def _number(self, block: ir.Block, number: int) -> int:
        """Number a block's instructions; the number behind them."""
        numbers = self._numbers[id(block)] = []
        for instr in block:
            numbers.append(number)
            for register in ir.READS[type(instr)](instr):
                self._reads[register] = self._reads.get(register, (number, 0))[0], number
            number += 1
            for inner in ir.blocks(instr):
                number = self._number(inner, number)
        numbers.append(number)
        return number


def spent(code: ir.Code) -> DeadRegisters:
    """What is known of a code, which never changes: it is noted on it."""
    found: DeadRegisters | None = code.dead_registers
    if found is None:
        found = code.dead_registers = DeadRegisters(code)
    return found


def _written(instr: ir.Instr) -> Iterable[ir.Register]:
    if isinstance(instr, ir.Unpack):
        return instr.dsts
    dst = getattr(instr, "dst", None)
    return () if dst is None else (dst,)
