"""What a variable may hold: a tensor with its graph, a module, an optimiser, a container, an object, a function, unknown.

Values are immutable. What can change lies on a state's heap, as an immutable record that is replaced on change; a
`Ref` points there. So a fork of a state shares all that neither side has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import field, fields
from types import MappingProxyType
from typing import Any, TypeAlias
from typing import Literal as OneOf

from retainlint.autograd.graph import Edge
from retainlint.ir import Code, Literal, Yield
from retainlint.startup.records import record
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.shape import UNKNOWN, Shape
from retainlint.text.source import Span

PROVEN, CONVENTIONAL, GUESS = 0, 1, 2
"""How sure we are that a node exists, that it saves, that a gradient passes. Findings rest on 0 and 1."""


# -- immediate values ---------------------------------------------------------------------------------------------


@record
class Const:
    """A known number, text, truth or None. `loops` are the runs of loops from whose turn numbers it was computed."""

    value: Literal
    loops: tuple[int, ...] = field(default=(), compare=False)


NONE, TRUE, FALSE = Const(None), Const(True), Const(False)


@record
class Ref:
    """A place on the heap."""

    id: int

    def __hash__(self) -> int:
        return self.id


class Noted:
    """What is worked out of a term once somebody asks: it never changes, and is asked for again and again."""

    loops: tuple[int, ...] | None = None  # all those from whose turn numbers it was computed
    sides: tuple[tuple[Value | None, int], tuple[Value | None, int]] | None = None  # of a comparison, as `truths` says
    has_remainder: bool | None = None
    refs: frozenset[int] | None = None  # the records that it speaks of
    symbols: frozenset[int] | None = None  # the unknown numbers, as the function of that name says


@record
class Term(Noted):
    """An unknown number, text or truth, computed from other values: equal terms are equal answers."""

    op: str
    args: tuple[Value, ...]

    def __post_init__(self) -> None:
        self._hash, self.depth = hash((self.op, self.args)), 1
        for each in self.args:
            if type(each) is Term and each.depth >= self.depth:
                self.depth = each.depth + 1
        if self.depth > limits.TERM_DEPTH_MOST:  # one that is made of another twice, and so on, has no end
            for name, value in (("op", "opaque"), ("args", (Const(self._hash),)), ("depth", 1)):
                object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        return self._hash  # terms grow deep, and every fork and join asks for it


UNFOLLOWED = Term("opaque", (NONE,))
"""What stands for a value that isn't followed into."""


@record
class Symbol:
    """An unknown number with bounds: a loop's index in some middle turn. `high` may be a Term."""

    id: int
    low: int = 0
    high: Value | None = None
    loop: int = field(default=0, compare=False)


class Compound:
    """A value that holds others by value, which share nothing: `nested` is how many more stand within, each by every way."""

    nested: int = 0


def _nested(values: Iterable[Value]) -> int:
    """How many compound values some values are, with those within."""
    found = 0
    for each in values:
        while isinstance(each, Method | Bound):
            each = each.obj if isinstance(each, Method) else each.self
        if isinstance(each, Compound):
            found += each.nested + 1
    return found


def _flat(values: Iterable[Value]) -> tuple[Value, ...]:
    """Values of which those that hold compound ones aren't followed into."""
    return tuple([UNFOLLOWED if _nested([each]) > 1 else each for each in values])


def _flat_named(values: tuple[tuple[str, Value], ...]) -> tuple[tuple[str, Value], ...]:
    return tuple(zip([name for name, _ in values], _flat([value for _, value in values])))


@record
class Tuple(Compound):
    """A tuple; `names` are its fields, if it is a named one."""

    items: tuple[Value, ...]
    names: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        self.nested: int = _nested(self.items)
        if self.nested > limits.NESTED_VALUES:
            object.__setattr__(self, "items", _flat(self.items))
            self.nested = _nested(self.items)


@record
class Slice:
    parts: tuple[Value, ...]


@record
class External:
    """What was imported from outside, or is built in: `torch.nn.functional.relu`, `builtins.print`."""

    path: str


@record
class Closure(Compound):
    """A function of the program. `frame` is where it was made; `owner` the class whose body holds it."""

    code: Code = field(repr=False)
    frame: int
    defaults: tuple[tuple[str, Value], ...] = ()
    owner: Value | None = None

    def __post_init__(self) -> None:
        self.nested: int = _nested([value for _, value in self.defaults])
        if self.nested > limits.NESTED_VALUES:
            object.__setattr__(self, "defaults", _flat_named(self.defaults))
            self.nested = _nested([value for _, value in self.defaults])

    def __repr__(self) -> str:
        return f"Closure({self.code.qualname})"


@record
class Bound:
    """A function with its first argument."""

    func: Value
    self: Value


@record
class Method:
    """A method that a model knows (or nobody does), by name, of `obj`; `span` is where it was looked up."""

    obj: Value
    name: str


@record
class Wrapped:
    """A function under a decorator that we know: "property", "staticmethod", "classmethod", "cache", ..., or a `mode`."""

    kind: str
    func: Value
    memo: Value | None = None  # for "cache": the dict of earlier results
    most: int | None = None  # and of how many
    setter: Value | None = None  # for "property"
    mode: GradMode | None = None


@record
class Partial(Compound):
    func: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]

    def __post_init__(self) -> None:
        self.nested: int = _nested((self.func, *self.args, *(value for _, value in self.kwargs)))
        if self.nested > limits.NESTED_VALUES:
            flat = {"func": _flat([self.func])[0], "args": _flat(self.args), "kwargs": _flat_named(self.kwargs)}
            for key, value in flat.items():
                object.__setattr__(self, key, value)
            self.nested = _nested((self.func, *self.args, *(value for _, value in self.kwargs)))


@record
class Super:
    """What `super()` gives: attributes are looked up behind `owner` in the order of `obj`'s class."""

    obj: Value
    owner: Value


@record
class GradMode:
    """A context or decorator that turns gradients on or off; `guards` is one that catches a failure, of the classes that
    it `catches` (None: nobody knows), and with `expects` insists on one."""

    enabled: bool | None  # None: as it was
    guards: bool = False
    expects: bool = False
    catches: tuple[str, ...] | None = None
    restores: bool | None = None  # what a statement that set it found before
    inference: Span | OneOf[False] | None = None  # where inference mode was asked for; False where it was left
    packs: bool | None = None  # whether hooks keep what is saved for the backward pass: then nobody checks its version


@record
class Failure:
    """An exception object; `type` is its class's name, "" if unknown, `bases` the names of those that it derives from.
    `open`: there may be more. `kept`: the failures, by their numbers, that are told where it comes out and nobody waits for it.
    `message`: what autograd says; None of all others. `number`: that of its failure, which is told if the program ends by it."""

    type: str
    bases: tuple[str, ...] = ()
    open: bool = False
    kept: tuple[int, ...] = ()
    message: str | None = None
    number: int = field(default=0, compare=False)


@record
class Module:
    """A module of the project, by its place."""

    place: str


@record
class Imported:
    """What `from module import name` bound: looked for when it is used. Only variables hold it, never registers."""

    place: str
    name: str


# -- on the heap --------------------------------------------------------------------------------------------------

_EMPTY: Mapping[str, Value] = MappingProxyType({})
_NOT_ASKED: Any = None


class Held:
    """What lies on the heap. `leads` are the records, and the frames, that it leads to: noted once somebody asks."""

    leads: tuple[frozenset[int], frozenset[int]] | None = None


@record
class TensorObj(Held):
    """A tensor that we saw being made.

    `edge` is where its gradients are sent, None if it needs none. `storage` is the key of its memory, which views
    share; `base` the tensor that it is a view of. `cut` tells how the graph was lost, if it was: "detach", ... `several` is
    where an operation gave that view as one of several, or what it is a view of: torch lets nobody change it in place.
    """

    edge: Edge | None
    storage: Hashable
    base: Ref | None = None
    cut: tuple[str, Span] | None = None
    parameter: bool = False
    shape: Shape = UNKNOWN
    positive: bool = False  # surely not negative: a norm, a square, ...
    moved: bool = False  # a leaf that may be a copy of itself since, on another device: then it is none
    unsure: bool = False  # without a graph, as far as it was seen: what nobody sees went into it, or was given it; or it retains its gradient
    several: Span | None = None
    inference: tuple[Span, Span] | None = None  # where it was made in inference mode, and where that was asked for

    @property
    def has_no_graph(self) -> bool:
        """Whether it surely has no graph."""
        return self.edge is None and not self.unsure

    @property
    def ndim(self) -> int | None:
        return self.shape.ndim

    @property
    def length(self) -> int | None:
        return self.shape.at(0)


@record
class Notes:
    """What the models note on an object, or on something unknown, beside the attributes that the program reads and sets.
    None: nothing is noted. All are values, since paths are compared, and merged, by them as by attributes."""

    weights: Value | None = None  # of a network that nobody sees: the stand-in for all of its weights
    network: Value | None = None  # of such a stand-in: whose it is
    owner: Value | None = None  # the network that it is a part of
    within: Value | None = None  # the module of the program of which it is some part, nobody knows which
    since: Value | None = None  # of listed weights: how much the path had assumed then
    filtered: Value | None = None  # of weights: from which those that require gradients were taken
    chosen: Value | None = None  # and from which some others were
    length: Value | None = None  # of what a dict shows that nobody sees: how long that is
    operated: Value | None = None  # whether a method of tensors was called on it: it is no tuple, and no dict
    recurrent: Value | None = None  # whether a recurrent network returned it, beside its input given a state
    given: Value | None = None  # what an `__init__` was given that nobody followed
    content: Value | None = None  # the dict or list that an object is
    layer: Value | None = None  # the layer that an object is, in a tuple: it is no part of it
    before: Value | None = None  # hooks that run before each call of a module, or each step of an optimiser
    behind: Value | None = None  # and behind it
    full: Value | None = None  # hooks of a module that run in each backward pass through it
    total: Value | None = None  # of the sum of an unknown and a number: both, as a term, should the unknown be a number
    zeroes: Value | None = None  # whether it zeroes gradients, and is no network
    optimizers: Value | None = None  # what `configure_optimizers` made
    fast: Value | None = None  # of a module or an optimiser of higher: the weights that it has now
    first: Value | None = None  # and those that it had first
    tracks: Value | None = None  # whether its steps have a graph
    options: Value | None = None  # of a parser of options, and of what it parses: their defaults
    default: Value | None = None  # of such an option: what it is where none is given
    path: Value | None = None  # of what leads to a file: the path as a text, from the working directory or absolute
    opened: Value | None = None  # of a file that is open, and wasn't read so far: its path
    text: Value | None = None  # of all that was read of a file: its path
    parametrized: Mapping[str, Value] = field(default_factory=lambda: _EMPTY)  # from what weights are computed anew

    _named = _NOT_ASKED

    @property
    def named(self) -> Mapping[str, Value]:
        """All that is noted, under names that no attribute has."""
        found: Mapping[str, Value] | None = self._named
        if found is None:
            noted = {f"({name})": getattr(self, name) for name in _NOTES if getattr(self, name) is not None}
            found = self._named = noted | {
                f"({name}'s parametrization)": made for name, made in self.parametrized.items()
            }
        return found

    def only(self, kept: Callable[[Value], bool]) -> Notes:
        """The same without some values."""
        if all(map(kept, self.named.values())):
            return self
        noted = {name: value for name in _NOTES if (value := getattr(self, name)) is not None and kept(value)}
        return Notes(**noted, parametrized={name: each for name, each in self.parametrized.items() if kept(each)})

    def mapped(self, change: Callable[[Value], Value]) -> Notes:
        """The same of other values."""
        if not self.named:
            return self
        noted = {name: change(value) for name in _NOTES if (value := getattr(self, name)) is not None}
        return Notes(**noted, parametrized={name: change(each) for name, each in self.parametrized.items()})


_NOTES = tuple(each.name for each in fields(Notes) if each.name != "parametrized")
NO_NOTES = Notes()


class Attributed(Held):
    """What has attributes, and may have notes."""

    attrs: Mapping[str, Value]
    notes: Notes

    @property
    def leading(self) -> Mapping[str, Value]:
        """The attributes, and what is noted."""
        return {**self.attrs, **self.notes.named} if self.notes.named else self.attrs


@record
class UnknownObj(Attributed):
    """Anything. `edge` is a graph that it may have; `level` how sure we are; None: not asked for so far.

    `hint` is what we learned that it is: "module", "optimizer", "loader", ...; `name` the text it was read from.
    `attrs` are attributes that were read or set; `made` is where it came from. `cut` tells how it surely lost its graph, as
    a tensor's does.
    """

    made: Span
    edge: Edge | None = None
    hint: str = ""
    name: str = ""
    attrs: Mapping[str, Value] = field(default_factory=lambda: _EMPTY)
    plain: bool = False  # surely no tensor: a count, a text, a device
    fed: bool = False  # came out of a loop over something unknown: data, if it is given to a network
    called: bool = False  # came out of a call that was given something: if it has a graph, then no leaf's
    returned: bool = False  # came out of a call that nobody sees
    notes: Notes = NO_NOTES
    cut: tuple[str, Span] | None = None


PART = "part"
"""The hint of an unknown that was put into a module, and so is one: it may have no parameters."""

MODULES = ("module", "submodule", PART)
"""The hints of unknowns that are modules."""

COUNT = "count"
"""The hint of an unknown that a counter was divided by."""

CUT = "cut"
"""The hint of an unknown that surely has no graph: it was detached, or computed where gradients were off."""


ITERATOR = "iterator"


@record
class ListObj(Held):
    """A list, set or deque. `open`: it may hold more than `items` knows, before them. `sampled`: a loop of which only
    some turns were run has filled it, so that it holds more. `size`: how many an open one holds, where that has a name.
    `places`: under which numbers items of an open one were put, each with its item. `perhaps`: on one of the paths that
    go on as one it holds nothing."""

    items: tuple[Value, ...]
    open: bool = False
    kind: str = "list"  # ITERATOR: it can be gone through once
    limit: int | None = None  # a deque's maxlen
    sampled: bool = False
    size: Value | None = None
    places: tuple[tuple[Value, Value], ...] = ()
    perhaps: bool = False


@record
class DictObj(Held):
    """A dict; `open`: it may hold more. Keys are constants; a value under an unknown key goes to `rest`."""

    items: Mapping[Value, Value]
    open: bool = False
    rest: tuple[Value, ...] = ()
    default: Value | None = None  # a defaultdict's factory
    of: Value | None = None  # the module that keeps its parts, parameters or buffers in it


@record
class ClassObj(Held):
    name: str
    bases: tuple[Value, ...]
    attrs: Mapping[str, Value]
    code: Code = field(repr=False)
    dataclass: bool = False
    frozen: bool = False  # a dataclass whose fields can't be set
    meta: Value | None = None  # its metaclass, if it names one of the program's


@record
class Instance(Attributed):
    """An object of a class of the program."""

    cls: Ref
    attrs: Mapping[str, Value]
    notes: Notes = NO_NOTES


@record
class LayerObj(Attributed):
    """A module of torch.nn; `attrs` hold its parameters, children and options."""

    kind: str
    attrs: Mapping[str, Value]
    children: tuple[Value, ...] = ()
    training: bool = True
    notes: Notes = NO_NOTES


@record
class OptimizerObj(Held):
    """`params` are the tensors that it owns, None if we can't know any; with `open`, it may own more."""

    kind: str
    params: tuple[Value, ...] | None
    evaluations: int = 1  # how often its step calls a closure, at most 2
    open: bool = False
    silent: bool = False  # perhaps its steps bump no version: fused ones don't
    notes: Notes = NO_NOTES


@record
class DistributionObj(Held):
    """A torch.distributions object over some parameters."""

    kind: str
    params: tuple[Value, ...]


@record
class Waiting:
    """Where a generator waits that was asked for an item: its `frame`, as of a function made there, the yield, and the numbers
    of the iterations of the loops around that."""

    frame: Closure
    at: Yield
    numbers: tuple[tuple[Span, int], ...]


@record
class GeneratorObj(Held):
    """A call of a generator function; `waits` if it has begun."""

    func: Closure
    pos: tuple[Value, ...]
    named: tuple[tuple[str, Value], ...]
    waits: Waiting | None = None


@record
class IteratorObj(Held):
    """What `iter`, `enumerate`, `zip`, `map`, ... give; `parts` are what it runs over, `start` where it counts from.
    `nested` counts such ones in it, as often as they are asked for an item; `taken` the items that `next` has had of it."""

    kind: str
    parts: tuple[Value, ...]
    start: Value = Const(0)
    nested: int = 0
    taken: int = 0


Value: TypeAlias = (
    Const | Ref | Term | Symbol | Tuple | Slice | External | Closure | Bound | Method | Wrapped | Partial | Super
    | GradMode | Failure | Module | Imported
)  # fmt: skip
HeapObj: TypeAlias = (
    TensorObj | UnknownObj | ListObj | DictObj | ClassObj | Instance | LayerObj | OptimizerObj | IteratorObj
    | DistributionObj | GeneratorObj
)  # fmt: skip


_NO_SYMBOLS = frozenset[int]()


def symbols(value: Value) -> frozenset[int]:
    """The unknown numbers that a value is computed from, by what tells them apart, counted from whichever end."""
    if type(value) is Term:
        if value.symbols is None:
            value.symbols = _NO_SYMBOLS.union(*map(symbols, value.args))
        return value.symbols
    return frozenset((abs(value.id),)) if type(value) is Symbol else _NO_SYMBOLS
