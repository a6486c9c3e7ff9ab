"""How a loop is run: which of its iterations, what a path knows of where they stand, and what grows from one to the next."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TypeAlias, TypeVar

from retainlint import ir
from retainlint.ir import facts
from retainlint.startup.records import record, replace
from retainlint.symbolic.interpreter import periods
from retainlint.symbolic.models.python import containers, iteration, options
from retainlint.symbolic.solver import decisions, intervals, terms, trials
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.path_condition import linear
from retainlint.symbolic.state.protocol import Machine, Results
from retainlint.symbolic.state.state import State, replaced, ticket
from retainlint.symbolic.state.values import (
    NONE,
    Const,
    DictObj,
    Instance,
    ListObj,
    Ref,
    Symbol,
    TensorObj,
    Term,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span


@record
class Plan:
    """`turns` at most; `exact`: these are all the turns there are. `at` gives the item at an index, known or not."""

    iterations: int
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
    few: bool = False  # a count that the program's text, or what is gone through, says to be small
    endless: bool = False  # whether nothing but the loop itself ends it
    periods: int = 0  # the iterations up to the second that runs a backward pass, of a loop that may be longer

    def index(self, number: int) -> Value:
        """Where in the iterable the turn stands that is run as this one."""
        if self.middle is None or number <= limits.FIRST_ITERATIONS:
            return Const(number - 1, (self.loop,))
        return self.middle if number == 3 or self.last is None else self.last

    def in_full(self) -> Plan:
        """The same with all its iterations, of which it must be known how many there are."""
        assert isinstance(self.size, Const) and isinstance(self.size.value, int)
        return replace(self, iterations=self.size.value, exact=True, middle=None, last=None, size=None)

    def over_periods(self) -> Plan:
        """The same with as many iterations as it takes for a second backward pass to come, one by one."""
        return replace(self, iterations=self.periods, middle=None, last=None)

    def is_cut_short(self, state: State) -> bool:
        """Whether only some iterations are run of those that are known to be where nobody gives an option, or of those up to
        which a loop counts for itself."""
        if self.endless:
            return True
        known = self.size if isinstance(self.size, Const) else options.default(state, self.size or NONE)
        return known is not None and isinstance(known.value, int) and not self.exact

    def lacks(self, state: State, number: int) -> bool:
        """Whether the path has chosen that the loop is too short for this turn, and for any after it."""
        if number < 2:
            return False
        number = min(number, 3)
        most = self.most(state)
        if most is None and self.span is not None:
            begun = terms.sum_of("+", self.span[0], Const(number - 1))
            return decisions.decide(state, decisions.compare(state, "<", begun, self.span[1])) is False
        return most is not None and most < number

    def comes(self, state: State, number: int) -> bool:
        """Whether there is such an iteration where nobody gives an option; also where that isn't known."""
        count = None if self.size is None else options.default(state, self.size)
        return count is None or not isinstance(count.value, int) or number <= count.value

    def skips(self, state: State, number: int) -> bool:
        """Whether the path has chosen that the loop has no turn in its middle."""
        most = self.most(state) if number == 3 else None
        return most is not None and most < 4

    def go_behind(self, state: State, run: int) -> None:
        """Note that the iteration in the middle is none of those, so many, that were run one by one."""
        asked = decisions.compare(state, "<", Const(run - 1), self.middle or NONE)
        if isinstance(asked, Term) and decisions.decide(state, asked) is None:
            self.presumed.add(asked)
            state.truths[asked] = True

    def most(self, state: State) -> int | None:
        """So many turns there are at most, as far as the path has chosen."""
        if self.size is None:
            return None
        found = [intervals.at_most(state, size) for size in (self.size, *self.sizes)]
        return min([most for most in found if most is not None], default=None)

    def is_last(self, state: State, index: Value) -> bool:
        """Whether the path has chosen that a turn which was run as one between the others is the last."""
        if not self._is_asked(state, linear(index)[0]):
            return False
        behind = terms.sum_of("+", index, Const(1))
        sizes = () if self.size is None else (self.size, *self.sizes)
        return any(
            decisions.known(state, decisions.compare(state, "==", behind, size)) is True
            or decisions.known(state, decisions.compare(state, "<", behind, size)) is False
            for size in sizes
        )

    def _is_asked(self, state: State, iteration: Value | None) -> bool:
        """Whether more may be known of how many turns there are, or of the number of one, than was presumed."""
        for size in (self.size, *self.sizes):
            if size is None or decisions.total(state, size) is not size or trials.has_remainder(size):
                return True
            base, _ = linear(size)
            if base is None or decisions.loops_of(size):
                return True
            for term, _ in state.truths.about(base, iteration):
                if term not in self.presumed:
                    return True
        return False

    @property
    def is_whole(self) -> bool:
        """Whether all its iterations are run, and not only those of a list that a loop has filled of which some were run."""
        return self.exact and not isinstance(self.whole, Term)

    def presume(self, state: State, number: int, index: Value) -> None:
        """Note, while the loop runs, how long it must be for this turn to come, and what else is as long."""
        if number == 1 and self.exact and isinstance(self.whole, Term) and decisions.decide(state, self.whole) is None:
            self.presumed.add(self.whole)
            state.truths[self.whole] = True
        if not isinstance(self.size, Term | Ref):
            return
        at = index.value if isinstance(index, Const) and isinstance(index.value, int) else 0
        least = at or {3: 3, 4: 2}.get(number)
        sizes = () if least is None else (self.size, *self.sizes)
        begun = Const(least or 0)
        known = [decisions.compare(state, "<", begun, size) for size in sizes]
        if number == 1:
            known += [decisions.compare(state, "==", each, self.size) for each in self.sizes]
        for asked in known:
            if isinstance(asked, Term) and decisions.decide(state, asked) is None:
                self.presumed.add(asked)
                state.truths[asked] = True

    def forget(self, states: list[State]) -> None:
        """Behind the loop, any number of turns may have been run."""
        for state in states:
            for term in self.presumed.intersection(state.truths):
                del state.truths[term]

    def may_end(self, state: State) -> bool:
        """Whether a state that repeats an earlier one tells that all further iterations are alike."""
        return not self.indexed and self.loop not in state.base.deciding


def _enough(state: State, body: ir.Block) -> int:
    """Up to how many turns a loop is run as it is: more where a remainder decides whether one walks, where items are gathered
    into groups, where a turn is only an item of a comprehension, or where it only looks for where to end."""
    if isinstance(body[-1] if body else None, ir.Append) and not any(isinstance(each, ir.If) for each in body):
        return limits.COUNTED_ITERATIONS
    if _searches(body):
        return limits.COUNTED_ITERATIONS
    taking = periods.taking(state, body)[1]
    counts = any(periods.is_periodic(each) or _gathers(each) for each in (body, taking))
    return limits.COUNTED_ITERATIONS if counts else limits.EXACT_ITERATIONS


def in_full(machine: Machine) -> int:
    """Up to how many iterations any loop is run as it is."""
    return limits.UNROLLED_ITERATIONS if machine.unrolls else limits.EXACT_ITERATIONS


def _gathers(body: ir.Block) -> bool:
    """Whether an iteration yields at times, as one does that gathers items into groups."""
    tests = (each for each in body if isinstance(each, ir.If))
    return any(isinstance(each, ir.Yield) for test in tests for each in ir.walk(test.then))


def _makes_leaves(body: ir.Block) -> bool:
    """Whether an iteration decides which tensor is to require a gradient: each may be asked for its own."""
    sets = any(isinstance(each, ir.SetAttr) and each.name == "requires_grad" for each in ir.walk(body))
    return sets or any(name == "requires_grad_" for _, name in ir.calls(body))


def _searches(body: ir.Block) -> bool:
    """Whether an iteration does nothing but to ask whether it is the last."""
    last = body[-1] if body else None
    if not isinstance(last, ir.If) or last.orelse or not (len(last.then) == 1 and isinstance(last.then[0], ir.Break)):
        return False
    return not any(
        isinstance(each, ir.Store | ir.SetAttr | ir.SetItem | ir.For | ir.While) for each in ir.walk(body[1:])
    )


def plan(machine: Machine, state: State, iterable: Value, span: Span, body: ir.Block = ()) -> Plan:
    """How to run a loop over `iterable`."""
    source = iteration.source_of(machine, state, iterable, span)
    length = source.length
    whole = None if source.whole is None else decisions.compare(state, "==", source.whole, Const(length))
    loop = ticket()
    if length is not None and (
        length <= in_full(machine)
        or length <= _enough(state, body)
        or ((source.parts or _makes_leaves(body)) and length * len(body) <= limits.EXACT_LOOP_STEPS)
    ):
        machine.forked |= isinstance(whole, Term)
        is_short = length <= limits.EXACT_ITERATIONS or not machine.unrolls
        few = source.whole is None and is_short and not _is_option(state, iterable, span)
        size = None if source.whole is None else source.size
        return Plan(length, True, source.at, loop, source.indexed, size=size, whole=whole, few=few)
    size = Const(length) if length is not None else source.size or Term("len", (iterable,))
    count = size.value if isinstance(size, Const) else None
    begun = limits.UNROLLED_ITERATIONS if machine.unrolls else 0
    begun = begun or periods.two(machine, state, body, by_name=False)
    leaves = source.endless and any(isinstance(each, ir.Break | ir.Return) for each in ir.walk(body))
    if begun > 0 and (leaves if count is None else isinstance(count, int) and count > begun):
        return Plan(begun, False, source.at, loop, source.indexed, size=size, endless=leaves)
    apart = 0 if machine.trying or periods.asks_for_its_end(span, body) else periods.two(machine, state, body)
    usual = options.default(state, size)
    if usual is not None and isinstance(usual.value, int) and usual.value <= apart:
        apart = 0
    middle = Symbol(ticket(), 2, terms.sum_of("-", size, Const(2)), loop)
    last = terms.sum_of("-", size, Const(1))
    sure = length is not None or not source.counted
    return Plan(
        limits.LOOP_ITERATIONS,
        False,
        source.at,
        loop,
        source.indexed,
        sure,
        size,
        middle,
        last,
        source.span,
        whole=whole,
        sizes=source.sizes,
        endless=leaves,
        periods=apart,
    )


def _is_option(state: State, iterable: Value, span: Span) -> bool:
    """Whether a loop has so many turns as somebody chose elsewhere: a number that stands under a name, or a list that a loop
    has filled of which only some turns were run."""
    if iteration.is_sample(state, iterable):
        return True
    counts = (
        each.node.args
        for each in facts.of_text(span.text.partition(" in ")[2].rstrip(": ")).calls
        if each.name == "range"
    )
    return any(isinstance(arg, ast.Name | ast.Attribute | ast.Subscript) for args in counts for arg in args)


Place: TypeAlias = "str | int | tuple[int, str]"
"""A variable of the running function, a list by its record, or an object's by its name there."""

Sizes: TypeAlias = "dict[Place, int]"


def of_names(state: State) -> Sizes:
    """The variables of the running function that hold numbers, or lists, with their lengths."""
    names = state.frame.names
    held = ((name, state.heap[value.id]) for name, value in names.items() if type(value) is Ref)
    lists: Sizes = {name: len(each.items) for name, each in held if type(each) is ListObj and not each.open}
    return lists | _whole_numbers(names.items())


def of_objects(state: State) -> Sizes:
    """The lists on the heap, and the numbers that objects hold."""
    heap = state.heap.items()
    lists: Sizes = {id: len(held.items) for id, held in heap if type(held) is ListObj and not held.open}
    objects = ((id, held.attrs) for id, held in heap if type(held) is Instance)
    return lists | _whole_numbers(((id, name), value) for id, attrs in objects for name, value in attrs.items())


Key = TypeVar("Key")


def _whole_numbers(held: Iterable[tuple[Key, Value]]) -> dict[Key, int]:
    """Those of some values that are known whole numbers."""
    return {key: value.value for key, value in held if type(value) is Const and type(value.value) is int}


def numbers(state: State) -> dict[tuple[int, str | int], int]:
    """Those that stand in variables, objects and lists."""
    places: list[tuple[int, Iterable[tuple[str | int, Value]]]] = []
    places += [(id, frame.names.items()) for id, frame in state.frames.items()]
    places += [(id, held.attrs.items()) for id, held in state.heap.items() if type(held) is Instance]
    places += [(id, enumerate(held.items)) for id, held in state.heap.items() if type(held) is ListObj]
    return _whole_numbers(((id, place), value) for id, items in places for place, value in items)


def grown(state: State, before: Sizes, now: Sizes) -> set[Place]:
    """What has grown since; a number that an object didn't have was its class's."""
    return {place for place, size in now.items() if size > before.get(place, _begun(state, place, size))}


def _begun(state: State, place: Place, size: int) -> int:
    if isinstance(place, tuple):
        held = state.heap[place[0]]
        first = find(state, held.cls, place[1]) if isinstance(held, Instance) else None
        if isinstance(first, Const) and type(first.value) is int:
            return first.value
    return size


def reset(state: State, places: set[Place]) -> set[Place]:
    """Those that a turn has set to a known number, though it began with none."""
    found: set[Place] = set()
    for place in places:
        held = state.frame.names.get(place) if isinstance(place, str) else None
        owner = state.heap.get(place[0]) if isinstance(place, tuple) else None
        value = owner.attrs.get(place[1]) if isinstance(owner, Instance) and isinstance(place, tuple) else held
        if isinstance(value, Const):
            found.add(place)
    return found


def widen(state: State, places: set[Place]) -> None:
    """Let each be as large as it is, or larger by any number."""
    for place in sorted(places, key=repr):  # each makes a symbol
        match place:
            case str():
                held = state.frame.names.get(place)
                if isinstance(held, Ref):
                    _open(state, held)
                elif (number := _larger(held)) is not None:
                    state.writable().names[place] = number
            case int():
                _open(state, Ref(place))
            case (id, name):
                owner = state.heap[id]
                if isinstance(owner, Instance) and (number := _larger(owner.attrs.get(name))) is not None:
                    state.set(Ref(id), replace(owner, attrs={**owner.attrs, name: number}))


def has_replaced(before: State, after: State, count: int) -> bool:
    """Whether a container that held graphs, and so many items at least, holds something else in place of one of these, or a
    tensor has lost its graph."""
    for id in sorted(replaced(before, after)):
        one, two = before.heap.get(id), after.heap.get(id)
        if isinstance(one, TensorObj | UnknownObj) and isinstance(two, TensorObj | UnknownObj):
            if one.edge is not None and two.edge is None:
                return True
        elif isinstance(one, ListObj | DictObj) and isinstance(two, ListObj | DictObj):
            is_large = len(one.items) >= count and not containers.is_bare(before, Ref(id))
            if is_large and any(item is not its for item, its in zip(_items(one), _items(two))):
                return True
    return False


def _items(held: ListObj | DictObj) -> tuple[Value, ...]:
    return held.items if isinstance(held, ListObj) else tuple(held.items.values())


def of_lists(state: State) -> dict[int, int]:
    """How long each list is."""
    return {id: len(held.items) for id, held in state.heap.items() if type(held) is ListObj}


def sample(state: State, before: dict[int, int], iterations: int, size: Value | None) -> None:
    """Lists that have grown since, in a loop of which only some turns were run, are of unknown length; one that began
    empty, and took an item in each of these, is as long as what the loop runs over."""
    lists = [(id, held) for id, held in state.heap.items() if type(held) is ListObj and not held.sampled]
    for id, held in lists:
        if len(held.items) > before.get(id, 0):
            is_whole = not held.open and not before.get(id, 0) and len(held.items) == iterations
            state.set(Ref(id), replace(held, sampled=True, size=size if is_whole else held.size))


def _open(state: State, ref: Ref) -> None:
    held = state.get(ref)
    if isinstance(held, ListObj):
        state.set(ref, replace(held, open=True, sampled=True))


def _larger(value: Value | None) -> Symbol | None:
    """A number that nobody knows, at least as large as one that is known, or was at least so large."""
    match value:
        case Const(int(number)) if not isinstance(number, bool):
            return Symbol(ticket(), number)
        case Symbol(low=low):
            return Symbol(ticket(), low)
        case Term():
            base, offset = linear(value)
            if isinstance(base, Symbol) and isinstance(offset, int):
                return Symbol(ticket(), base.low + offset)
    return None
