"""How a loop is run: which of its turns, and what a path knows of where they stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from retainlint.records import record
from retainlint.source import Span
from retainlint.symbolic import arithmetic, bounds, facts, iteration, remainders
from retainlint.symbolic.context import Machine, Results
from retainlint.symbolic.state import State, ticket
from retainlint.symbolic.truths import linear
from retainlint.symbolic.values import Const, Ref, Symbol, Term, Value

TURNS = 4
PARTS = 2_000
"""A loop over layers, objects or weights takes every one of them in turn, as long as it takes no more steps than this
without those of its calls: each turn may change another of them."""


@record
class Plan:
    """`turns` at most; `exact`: these are all the turns there are. `at` gives the item at an index, known or not."""

    turns: int
    exact: bool
    at: Callable[[State, Value], Results]
    loop: int  # marks what is computed from the turn number
    indexed: bool  # whether items differ by what they are
    sure: bool = True  # false for a count that we can't read: it may be one
    size: Value | None = None  # of a loop of which only some turns are run
    middle: Symbol | None = None  # the index of some turn between the second and the last
    last: Value | None = None  # the index of the last turn
    span: tuple[Value, Value] | None = None  # from where to where a range counts, one by one
    presumed: set[Value] = field(default_factory=set)
    whole: Value | None = None  # that all its items are those that are known
    sizes: tuple[Value, ...] = ()  # what else the program may compare with for the size

    def index(self, number: int) -> Value:
        """Where in the iterable the turn stands that is run as this one."""
        if self.middle is None or number <= 2:
            return Const(number - 1, (self.loop,))
        return self.middle if number == 3 or self.last is None else self.last

    def lacks(self, state: State, number: int) -> bool:
        """Whether the path has chosen that the loop is too short for this turn, and for any after it."""
        if number < 2:
            return False
        number = min(number, 3)
        most = self.most(state)
        if most is None and self.span is not None:
            begun = arithmetic.sum_of("+", self.span[0], Const(number - 1))
            return facts.decide(state, facts.compare(state, "<", begun, self.span[1])) is False
        return most is not None and most < number

    def skips(self, state: State, number: int) -> bool:
        """Whether the path has chosen that the loop has no turn in its middle."""
        most = self.most(state) if number == 3 else None
        return most is not None and most < 4

    def most(self, state: State) -> int | None:
        """So many turns there are at most, as far as the path has chosen."""
        if self.size is None:
            return None
        found = [bounds.at_most(state, size) for size in (self.size, *self.sizes)]
        return min([most for most in found if most is not None], default=None)

    def is_last(self, state: State, index: Value) -> bool:
        """Whether the path has chosen that a turn which was run as one between the others is the last."""
        if not self._is_asked(state, linear(index)[0]):
            return False
        known = self.loop in state.deciding
        behind = arithmetic.sum_of("+", index, Const(1))
        sizes = () if self.size is None else (self.size, *self.sizes)
        found = any(
            facts.decide(state, facts.compare(state, "==", behind, size)) is True
            or facts.decide(state, facts.compare(state, "<", behind, size)) is False
            for size in sizes
        )
        if not known:
            state.deciding.discard(self.loop)
        return found

    def _is_asked(self, state: State, turn: Value | None) -> bool:
        """Whether more may be known of how many turns there are, or of the number of one, than was presumed."""
        for size in (self.size, *self.sizes):
            if size is None or facts.total(state, size) is not size or remainders.has_remainder(size):
                return True
            base, _ = linear(size)
            if base is None or facts.loops_of(size):
                return True
            for term, _ in state.truths.about(base, turn):
                if term not in self.presumed:
                    return True
        return False

    def presume(self, state: State, number: int, index: Value) -> None:
        """Note, while the loop runs, how long it must be for this turn to come, and what else is as long."""
        if number == 1 and isinstance(self.whole, Term) and facts.decide(state, self.whole) is None:
            self.presumed.add(self.whole)
            state.truths[self.whole] = True
        if not isinstance(self.size, Term | Ref):
            return
        at = index.value if isinstance(index, Const) and isinstance(index.value, int) else 0
        least = at or {3: 3, 4: 2}.get(number)
        sizes = () if least is None else (self.size, *self.sizes)
        begun = Const(least or 0)
        known = [facts.compare(state, "<", begun, size) for size in sizes]
        if number == 1:
            known += [facts.compare(state, "==", each, self.size) for each in self.sizes]
        for asked in known:
            if isinstance(asked, Term) and facts.decide(state, asked) is None:
                self.presumed.add(asked)
                state.truths[asked] = True

    def forget(self, states: list[State]) -> None:
        """Behind the loop, any number of turns may have been run."""
        for state in states:
            for term in self.presumed & state.truths.keys():
                del state.truths[term]

    def may_end(self, state: State, number: int) -> bool:
        """Whether a state that repeats an earlier turn's tells that all further turns are alike."""
        if self.indexed or number < 2:
            return False
        return self.loop not in state.deciding or (not self.exact and number >= self.turns)


def plan(machine: Machine, state: State, iterable: Value, span: Span, body: int = 1) -> Plan:
    """How to run a loop over `iterable`; `body` is how many instructions a turn runs."""
    source = iteration.source_of(machine, state, iterable, span)
    length = source.length
    loop = ticket()
    if length is not None and (length <= iteration.EXACT or (source.parts and length * body <= PARTS)):
        whole = None if source.whole is None else facts.compare(state, "==", source.whole, Const(length))
        return Plan(length, True, source.at, loop, source.indexed, whole=whole)
    size: Value = Const(length) if length is not None else source.size or Term("len", (iterable,))
    middle = Symbol(ticket(), 2, arithmetic.sum_of("-", size, Const(2)), loop)
    last = arithmetic.sum_of("-", size, Const(1))
    sure = length is not None or not source.counted
    return Plan(
        TURNS, False, source.at, loop, source.indexed, sure, size, middle, last, source.span, sizes=source.sizes
    )
