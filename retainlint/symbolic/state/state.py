"""One path's state: frames, heap, ledger, what was assumed, which backward passes ran; it forks by sharing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from retainlint.autograd.graph import Edge, Node
from retainlint.autograd.ledger import Ledger
from retainlint.incident import BackwardPass, Condition, Iteration, Moment
from retainlint.ir import Code, For, Yield
from retainlint.startup.records import record, replace
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.deciders import Deciders
from retainlint.symbolic.state.path_condition import Truths
from retainlint.symbolic.state.values import (
    UNFOLLOWED,
    DictObj,
    GradMode,
    HeapObj,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import INITIALISERS, Source, Span

_tickets = count(1)


def ticket() -> int:
    """A number that no other object of this process has."""
    return next(_tickets)


@record
class Flow:
    """How a block ended, if not at its end: "break", "continue", "return", "raise", "stop"; and where it returned."""

    kind: str
    value: Value | None = None
    place: Span | None = field(default=None, compare=False)


@record(eq=False)
class BackwardRecord:
    """A walk that ran on this path: what it reached at which level, what it freed."""

    backward_pass: BackwardPass
    reach: dict[Node, int] = field(repr=False)
    freed: frozenset[Node] = field(repr=False)
    created: int  # how many nodes there were
    roots: tuple[Edge, ...]
    targets: tuple[Edge, ...] | None = None
    accumulate: bool = True
    creates: bool = False  # the gradients have graphs of their own
    uncertain: bool = False  # it ran in a `try`, and is only supposed to have succeeded
    keeps: Value | None = None  # what was asked for whether it keeps its graph


@record
class Change:
    """An in-place change on this path; by an optimiser's step if `by_step`."""

    storage: Hashable
    moment: Moment
    by_step: bool
    created: int
    name: str = ""
    level: int = 0
    assumed: str = ""  # what is taken for granted of who changed it
    recorded: bool = True  # autograd recorded then
    whole: bool = False  # all of a tensor that is no view was overwritten with one of its shape, which has a graph


@record
class Step:
    """An optimiser's step (or a zeroing of its gradients): which leaves it owns."""

    owned: frozenset[Hashable]
    created: int


@record
class GradientEvent:
    """What was done to gradients: a "walk", a "zero", a "step", or "other": set by hand, or something unseen.

    `owner` is the optimiser, None where it is no optimiser's; `text` is how it is written. Of an "other", `called` is "grad"
    where a gradient is looked at or set, else the name of the method that was called.
    """

    kind: str
    moment: Moment
    owner: Value | None = None
    text: str = ""
    called: str = ""

    @property
    def touches(self) -> bool:
        """Whether gradients were zeroed, read or set."""
        return self.kind == "zero" or self.called in ("grad", "zero_grad")


@record
class Choice:
    """A condition that we could not decide, and the answer this path assumes: of its text, and of the term itself."""

    condition: Condition
    term: Value
    answer: bool = True
    _hash = 0
    number = -1  # of its condition, once `choosing` has given it one

    def __hash__(self) -> int:
        """Kept: every join asks for it."""
        found = self._hash
        if not found:
            found = self._hash = hash((self.condition.span.start, self.term, self.answer))
        return found


@record(eq=False)
class Consumer:
    """What is done with an item that a generator yields: the body of the `loop` over it is run, or it waits."""

    take: Callable[[State, Value, Yield], list[State]]
    loop: For | None = None
    around: int = 0  # how many loops stand around that
    yielding: frozenset[Span] = frozenset()  # the loops of the generator in which it yields, once in each iteration


@dataclass
class Frame:
    """The variables of one call. Copied when a state that doesn't own it writes to it."""

    code: Code
    parent: int | None
    owner: int  # the state that may write
    names: dict[str, Value] = field(default_factory=dict)
    registers: dict[int, Value] = field(default_factory=dict)
    spans: dict[int, Span] = field(default_factory=dict)
    cls: Value | None = None
    receiver: Value | None = None
    yielded: tuple[Value, ...] = ()
    length: Value | None = None  # how many it yields, where a loop does once in each iteration and only some were run
    consumer: Consumer | None = None  # what is done with each item of this generator
    sizes: tuple[tuple[str, int] | None, ...] = ()  # the numbers that it was given, and how long the sequences were
    assumed: tuple[Choice, ...] = ()  # what this path took for granted when it was called
    returned: Mapping[Value, Span] = field(default_factory=dict)  # of a stub: where the program returned what it has
    leads: tuple[frozenset[int], frozenset[int]] | None = None  # noted by `reach`


@record
class Context:
    """What a custom function's node was made with: the context that its methods are given, and which of its results are
    tensors."""

    of: Ref
    tensors: tuple[bool, ...]


@dataclass
class Base:
    """What all paths share: what the imported modules hold (one that changes any of it has a record of its own), and which
    loops count."""

    heap: dict[int, HeapObj] = field(default_factory=dict)
    frames: dict[int, Frame] = field(default_factory=dict)
    graphs: set[int] = field(default_factory=set)  # the records that hold a graph
    versions: dict[Hashable, int] = field(default_factory=dict)  # of the storages that they changed in place
    created: int = -1_000_000_000  # their nodes count as older than those of any path
    missing: dict[Value, Ref] = field(default_factory=dict)  # names that were imported and not found
    deciding: Deciders = field(default_factory=Deciders)
    ancestry: dict[Value, tuple[Value, ...]] = field(default_factory=dict)  # of classes, with their bases
    contexts: dict[Node, Context] = field(default_factory=dict)  # of custom functions, by the nodes that they made
    may_be_others: dict[Node, dict[Span | None, set[Edge]]] = field(default_factory=dict)
    """Of items that stand for others of their container, the graphs of these: by the loop in whose iterations they stand for
    them; None where they were read by a key which nobody knows."""
    among_unseen: set[Node] = field(
        default_factory=set
    )  # such items that stand for some without a graph, or not seen, too
    read_in: dict[Node, set[Span]] = field(default_factory=dict)  # in which loops items with a graph were read
    flagged: set[Span] = field(default_factory=set)  # and a yes or no of which nobody knows whether it is that item's
    names_hold: bool = False  # somebody asks whether a name still holds an object: those that nobody reads are kept
    weak_cuts: dict[int, set[Span]] = field(default_factory=dict)
    """Containers of which an item, nobody knows which, lost its graph, or was taken out, by the loops around that."""


class Heap(dict[int, HeapObj]):
    """Records by their number, above those of the base. What was swept, because no variable leads to it, is unknown if
    it is asked for."""

    __slots__ = ("base",)

    def __init__(self, base: Base, records: Iterable[tuple[int, HeapObj]] | Mapping[int, HeapObj] = ()) -> None:
        dict.__init__(self, records)
        self.base = base

    def __missing__(self, id: int) -> HeapObj:
        return self.base.heap.get(id) or UnknownObj(_NOWHERE)


class Frames(dict[int, Frame]):
    """Frames by their number, above those of the base."""

    __slots__ = ("base",)

    def __init__(self, base: Base, frames: Iterable[tuple[int, Frame]] | Mapping[int, Frame] = ()) -> None:
        dict.__init__(self, frames)
        self.base = base

    def __missing__(self, id: int) -> Frame:
        return self.base.frames[id]

    def has(self, id: int) -> bool:
        """Whether there is such a frame. Not `in`: of a dictionary's subclass, compiled code asks the dictionary itself."""
        return id in self or id in self.base.frames


@record
class Unbound:
    """A name of a frame that some of the paths that went into this one have not bound: those that gave these answers."""

    frame: int
    name: str
    answers: frozenset[tuple[Value, bool]]


class Unbounds(tuple[Unbound, ...]):
    """All of a path."""

    @cached_property
    def of(self) -> Mapping[tuple[int, str], list[Unbound]]:
        """Those of each frame's name."""
        found: dict[tuple[int, str], list[Unbound]] = {}
        for each in self:
            found.setdefault((each.frame, each.name), []).append(each)
        return found


ALL_BOUND = Unbounds()


MIXED = 0
"""Among what is vague on a path: known numbers, that paths which went into it held otherwise."""


_NOWHERE = Span(Source("", ""), 0, 0)


_PARTS = (
    "backward_passes", "base", "cache", "calls", "changes", "choices", "expects", "flow", "frames", "grad",
    "gradient_events", "guards", "heap", "hooks", "imprecise", "inference", "iterations", "ledger", "me", "packs", "past",
    "pending", "reported", "retained", "stack", "steps", "suspended", "swallowed", "switched", "truths", "unless", "written",
)  # fmt: skip


class State:
    """All that one path knows. Mutable; `fork` gives a second one that goes its own way."""

    __slots__ = _PARTS

    def __init__(self, base: Base | None = None) -> None:
        self.me = ticket()
        self.base = base or Base()
        self.frames = Frames(self.base)
        self.stack: tuple[int, ...] = ()
        self.calls: tuple[Span, ...] = ()
        self.iterations: tuple[Iteration, ...] = ()
        self.heap = Heap(self.base)
        self.written: set[int] = set()  # records that were there before, and were replaced since the last fork
        self.past: Past | None = None  # those before
        self.ledger = Ledger()
        self.truths = Truths()
        # symbols of which paths that went into this one knew different things
        self.imprecise: frozenset[int] = frozenset()
        self.choices: tuple[Choice, ...] = ()
        self.unless = ALL_BOUND
        self.flow: Flow | None = None
        # of tensors: each with what it is given, and what is called when a walk comes to it; of all optimisers
        self.hooks = Tuple(())
        self.cache: Ref | None = None  # inside `parametrize.cached()`: the weights computed so far
        self.suspended: tuple[int, ...] = ()  # frames of generators that wait for their consumer
        self.pending: tuple[Flow | None, ...] = ()  # how bodies of generator contexts ended
        self.grad = True
        self.inference: Span | None = None  # inside inference mode: where it was asked for
        self.packs = False  # inside `saved_tensors_hooks`, or its like
        # where `set_grad_enabled(False)` was called last, and not its contrary since, or the backward pass that calls what runs
        self.switched: Span | None = None
        self.swallowed: tuple[int, ...] = ()  # the failures that were expected on this path, by their numbers
        self.guards = 0  # how many `try` statements and contexts around this may take a failure and go on
        self.expects = 0  # contexts in which a failure isn't only caught, but asserted
        self.backward_passes: tuple[BackwardRecord, ...] = ()
        self.changes: tuple[Change, ...] = ()
        self.steps: tuple[Step, ...] = ()
        # walks that kept their graph, of paths that went into this one too
        self.retained: tuple[BackwardRecord, ...] = ()
        self.gradient_events: tuple[GradientEvent, ...] = ()
        self.reported: frozenset[Node | tuple[Node, Hashable]] = frozenset()

    def enter(self, mode: GradMode) -> GradMode:
        """Go on in that mode; the result is the mode to which its end leads back."""
        recorded = self.grad if mode.restores is None else mode.restores
        before = GradMode(recorded, inference=self.inference or False, packs=self.packs)
        self.grad = recorded if mode.enabled is None else mode.enabled
        self.packs = self.packs if mode.packs is None else mode.packs
        if mode.inference is not None:
            self.inference = mode.inference or None
        return before

    def fork(self) -> State:
        other = State.__new__(State)  # all is taken over
        other.me, other.base, other.written = ticket(), self.base, set()
        other.frames = Frames(self.base, self.frames)
        other.stack, other.calls, other.iterations = self.stack, self.calls, self.iterations
        other.heap = Heap(self.base, self.heap)
        if self.written:
            self.past, self.written = Past(self.written, self.past), set()
        other.past = self.past
        other.ledger = self.ledger.fork()
        other.truths = Truths(self.truths)
        other.choices, other.flow, other.pending = self.choices, self.flow, self.pending
        other.suspended, other.cache, other.hooks = self.suspended, self.cache, self.hooks
        other.grad, other.guards, other.expects = self.grad, self.guards, self.expects
        other.switched, other.inference, other.packs = self.switched, self.inference, self.packs
        other.swallowed = self.swallowed
        other.backward_passes, other.changes = self.backward_passes, self.changes
        other.steps, other.reported = self.steps, self.reported
        other.retained, other.gradient_events, other.imprecise = self.retained, self.gradient_events, self.imprecise
        other.unless = self.unless
        self.me = ticket()  # neither side owns the shared frames now
        return other

    def become(self, other: State) -> None:
        """Go on as `other`, which is given up."""
        for name in _PARTS:
            setattr(self, name, getattr(other, name))

    # -- frames ---------------------------------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        """The running call's frame, to read."""
        return self.frames[self.stack[-1]]

    def writable(self, id: int | None = None) -> Frame:
        """A frame (the running call's by default) that this state may write to."""
        id = self.stack[-1] if id is None else id
        frame = self.frames[id]
        if frame.owner != self.me:
            frame = Frame(
                frame.code, frame.parent, self.me, dict(frame.names), dict(frame.registers), dict(frame.spans),
                frame.cls, frame.receiver, frame.yielded, frame.length, frame.consumer, frame.sizes,
                frame.assumed, frame.returned,
            )  # fmt: skip
            self.frames[id] = frame
        return frame

    def push(self, code: Code, parent: int | None, call: Span | None) -> int:
        """Enter a call; `call` is where it stands, None for an entry."""
        id = ticket()
        self.frames[id] = Frame(code, parent, self.me)
        self.stack += (id,)
        if call is not None:
            self.calls += (call,)
        return id

    def pop(self, call: Span | None) -> None:
        self.stack = self.stack[:-1]
        if call is not None:
            self.calls = self.calls[:-1]

    @property
    def in_init(self) -> int:
        """Within how many calls the outermost `__init__` of the program, or its like, runs; 0 if none does."""
        frames = self.frames
        for at, id in enumerate(self.stack):
            if frames[id].code.name in INITIALISERS:
                return at
        return 0

    def read(self, register: int) -> Value:
        return self.frames[self.stack[-1]].registers[register]

    def write(self, register: int, value: Value, span: Span) -> None:
        frame = self.frames[self.stack[-1]]
        if frame.owner != self.me:
            frame = self.writable()
        frame.registers[register] = value
        frame.spans[register] = span

    # -- heap -----------------------------------------------------------------------------------------------------

    def new(self, obj: HeapObj) -> Ref:
        ref = Ref(ticket())
        self.heap[ref.id] = _within_limits(self, obj)
        return ref

    def get(self, value: Value) -> HeapObj | None:
        return self.heap[value.id] if type(value) is Ref else None

    def items(self, value: Value) -> tuple[Value, ...] | None:
        """The items of a tuple or a list, of an open one those that are known; None of anything else."""
        held = self.get(value)
        return value.items if isinstance(value, Tuple) else held.items if isinstance(held, ListObj) else None

    def parts(self, value: Value) -> tuple[Value, ...]:
        """What a tuple, a list or a dict holds; nothing of anything else."""
        held = self.get(value)
        return (*held.items.values(), *held.rest) if isinstance(held, DictObj) else self.items(value) or ()

    def set(self, ref: Ref, obj: HeapObj) -> None:
        """Replace a record: only so, or a join doesn't look at it."""
        self.heap[ref.id] = _within_limits(self, obj)
        self.written.add(ref.id)

    def drop(self, obj: Value, names: Iterable[str]) -> None:
        """Take attributes off an object, a layer or something unknown."""
        held, lost = self.get(obj), frozenset(names)
        if isinstance(held, Instance | LayerObj | UnknownObj) and isinstance(obj, Ref):
            if not lost.isdisjoint(held.attrs):
                kept = {name: value for name, value in held.attrs.items() if name not in lost}
                self.set(obj, replace(held, attrs=kept))

    def doubt(self, value: Value) -> None:
        """A tensor without a graph may be another by now, which has one."""
        held = self.get(value)
        if isinstance(held, TensorObj) and isinstance(value, Ref) and held.has_no_graph:
            self.set(value, replace(held, unsure=True))

    def moment(self, span: Span) -> Moment:
        return Moment(span, self.iterations, self.calls)

    def birth(self, span: Span) -> Moment:
        """The moment in which a graph is built: for one item of a generator's, in the iteration that asks for it, too."""
        iterations, added = self.iterations, 0
        for calls, frame in enumerate(map(self.frames.__getitem__, self.stack)):
            if frame.consumer is not None and frame.consumer.loop is not None:
                at = frame.consumer.around + added
                asking = Iteration(frame.consumer.loop.span, len(frame.yielded) + 1, depth=calls - 1)
                if any(each.loop in frame.consumer.yielding for each in iterations[at:]):
                    iterations, added = (*iterations[:at], asking, *iterations[at:]), added + 1
        return Moment(span, iterations, self.calls)

    def note_weak_cut(self, container: int) -> None:
        """An item of a container, nobody knows which, lost its graph, was replaced by what has none, or was taken out."""
        self.base.weak_cuts.setdefault(container, set()).update(each.loop for each in self.iterations)

    def note_weak_cut_of(self, item: Value) -> None:
        """The same of all lists and dicts that hold an item."""
        for id in self.heap:
            if item in self.parts(Ref(id)):
                self.note_weak_cut(id)

    def assume(
        self, term: Value, answer: bool, span: Span, taken: bool, item: str = "", usual: tuple[bool, bool] | None = None
    ) -> None:
        """Take a side of a condition that can't be decided: its term's answer, and what then holds of its text, or of an
        `item` that may be chosen there. Of what options decide, the `usual` answer is that by default, and whether they choose."""
        self.truths[term] = answer
        by_default, chooses = (None, False) if usual is None else (usual[0] is answer, usual[1])
        asked = len(self.calls)
        condition = Condition(span, taken, item, asked, False, self.iterations, by_default=by_default, chooses=chooses)
        kept = self.choices
        if any(each.term == term for each in kept):  # it is asked again, since paths that answered it went on as one
            kept = tuple(each for each in kept if each.term != term)
        self.choices = (*kept, Choice(condition, term, answer))


def _within_limits(state: State, obj: HeapObj) -> HeapObj:
    """A record as it is held: of a very long list the last items are known, and of iterators that hold very many others none
    of these."""
    if type(obj) is ListObj and len(obj.items) > limits.HELD_ITEMS:
        return replace(obj, items=obj.items[-limits.HELD_ITEMS :], open=True)
    if type(obj) is IteratorObj:
        inner = [held.nested + 1 if type(held := state.get(part)) is IteratorObj else 0 for part in obj.parts]
        if sum(inner) <= limits.NESTED_ITERATORS:
            return replace(obj, nested=sum(inner)) if any(inner) else obj
        return replace(obj, parts=tuple(UNFOLLOWED if of else part for of, part in zip(inner, obj.parts)), nested=0)
    return obj


class Past:
    """The records that a path replaced before it was forked, back to the fork `before` that."""

    __slots__ = ("before", "depth", "written")

    def __init__(self, written: set[int], before: Past | None) -> None:
        self.written, self.before = written, before
        self.depth: int = 0 if before is None else before.depth + 1


def replaced(a: State, b: State) -> set[int]:
    """The records that either of two paths has replaced since they were one."""
    found = a.written | b.written
    one, other = a.past, b.past
    while one is not other:
        if one is None or (other is not None and other.depth > one.depth):
            one, other = other, one
        assert one is not None
        found |= one.written
        one = one.before
    return found
