"""What the machine saw: one graph's life in places and turns, and the witness that proves it."""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from retainlint.startup.records import record
from retainlint.text.source import Span


@record
class Iteration:
    """Turn number `number` (from 1) of the loop whose header is `loop`, or of a method that is called again.

    `is_call` tells the second: a trainer calls the method `loop` again and again. `depth` counts the calls around
    the loop itself; `sure` is false if the program alone says how many turns it makes, and we can't read that; `few`
    is true if they are known, and hardly more than a handful. `by_optimizer` is true of the calls of a closure, and
    `supposed` of calls again that nobody was seen to make. `by_default` is false where an option has to be given for it.
    """

    loop: Span
    number: int
    is_call: bool = False
    depth: int = field(default=0, compare=False)
    sure: bool = field(default=True, compare=False)
    few: bool = field(default=False, compare=False)
    begun: int = field(default=0, compare=False)  # what was made since the loop began has a higher number; 0: not known
    by_optimizer: bool = field(default=False, compare=False)
    supposed: bool = field(default=False, compare=False)
    by_default: bool = field(default=True, compare=False)


@record
class Moment:
    """A place, in which turn of which loops (outermost first), through which calls (outermost first)."""

    span: Span
    iterations: tuple[Iteration, ...] = ()
    frames: tuple[Span, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of its iterations, the outermost first."""
        return tuple(each.number for each in self.iterations)


STAND_INS = ("UnseenBackward", "PartBackward")
"""The ops of nodes that stand for a call that nobody sees, and for a part of what it returned."""


@record
class BackwardPass:
    """One call of backward or autograd.grad: when, from which root (its text), keeping the graph or not."""

    moment: Moment
    root: str
    retained: bool = False


@record
class Condition:
    """A branch that the failing path took and that we could not decide: the text, and which way; and within how many
    calls it stands, in which turns. A `fleeting` one asks anew in each turn of the loop that fails, of what nobody sees;
    `turn` is the only one that matters, 0 where that isn't told. `by_default` tells whether it
    holds where nobody gives an option; None where nobody knows. `item` is of a choice among the items of a dict: under
    which key the one stands that is asked for."""

    span: Span
    taken: bool
    item: str = ""
    depth: int = field(default=0, compare=False)
    fleeting: bool = field(default=False, compare=False)
    iterations: tuple[Iteration, ...] = field(default=(), compare=False)
    iteration: int = field(default=0, compare=False)
    by_default: bool | None = field(default=None, compare=False)
    measured: bool = field(default=False, compare=False)  # whether it asks a number that was read off a tensor
    described: bool = field(
        default=False, compare=False
    )  # whether it asks what a tensor with a graph is like: its type
    chooses: bool = field(
        default=False, compare=False
    )  # whether an option decides it that is a text, yes or no, or how long a loop is
    implied: Span | None = field(default=None, compare=False)  # the condition that says so, too
    keeps: bool = field(default=False, compare=False)  # whether it asks if a backward pass keeps its graph


@record
class Said:
    """Of a statement of a witness: the program's text that it stands for, where that is, and what it does; "" for none."""

    text: str = ""
    place: str = ""
    what: str = ""


@record
class Witness:
    """The failing path as a straight torch script, the choices that lead there, the error that the core raised; and what is
    said of each statement of the script, but for its imports and functions."""

    choices: tuple[Condition, ...]
    script: str
    error: str
    node: str  # the backward function that raised
    said: tuple[Said, ...] = ()


@record
class IncidentBase:
    """What every kind of incident says: what its path took for granted, and the proof."""

    conditions: tuple[Condition, ...] = field(kw_only=True)
    assumptions: tuple[str, ...] = field(default=(), kw_only=True)
    witness: Witness | None = field(default=None, kw_only=True)
    alone: str = field(default="", kw_only=True)
    """The function or method of the program in which it fails only if that is run for itself, as nobody there calls it."""
    guessed: str = field(default="", kw_only=True)
    """What an argument was taken for, where it fails only then."""
    first: Span | None = field(default=None, kw_only=True)
    """What fails before it, on the same path."""


@record
class AtBackward(IncidentBase):
    """An incident whose place is a walk."""

    backward_pass: BackwardPass

    @property
    def primary(self) -> Span:
        return self.backward_pass.moment.span


@record
class AtCall(IncidentBase):
    """An incident whose place is a call."""

    call: Moment

    @property
    def primary(self) -> Span:
        return self.call.span


@record
class Holder:
    """What outlives an iteration and holds the graph of an earlier one, by its `name` as the loop sees it; `detached` is an
    expression for its value without. `containers` are those that hold its tensors, from the outside in, as "dict" and
    "list"; `gathers`: each iteration adds its own to it. `resets` are the calls by which its object puts it back to what it
    was at first, and does nothing else, and others of that class do; `owner` is the class of an object whose list it is."""

    name: str
    detached: str
    containers: tuple[str, ...] = ()
    gathers: bool = False
    resets: tuple[str, ...] = ()
    owner: Span | None = None

    @property
    def row(self) -> str:
        return f"{self.name} = {self.detached}"


@record
class Freed(IncidentBase):
    """A graph was walked after an earlier walk had freed it.

    `op` is the backward function that had saved and lost; `saved` names what. `via` are the places, from the root
    down, at which the later walk's way passes. `same_root`: both walks start at one tensor.
    """

    op: str
    saved: tuple[str, ...]
    built: Moment
    freed: BackwardPass
    reused: BackwardPass
    via: tuple[Moment, ...]
    name: str  # the variable that holds the shared graph, "" if it has no name
    same_root: bool
    in_closure: bool = False  # walked inside a closure that an optimiser calls again, built outside
    in_init: bool = False  # built in `__init__` or at module level, walked in later calls
    foreign: bool = False  # the shared graph belongs to a network that the first walk's optimiser doesn't own
    astray: Moment | None = None  # where the first comes to that network, if the later one comes there by another way
    scheduled: bool = False  # whether the first backward pass keeps its graph was chosen before it
    counted: bool = (
        False  # so, by the number of its iteration, in a loop of which nobody knows how many iterations it makes
    )
    target: Span | None = None  # what one of the two losses compares with, where only that leads it to the shared graph
    regressed: bool = False  # the later loss compares it with what the same leaves make anew of the same data
    predicted: bool = (
        False  # the later loss compares it with what it is to come to: what the same leaves make next, and data
    )
    stepped: bool = False  # weights that the first walk gave gradients moved between the two
    elsewhere: bool = False  # so, but none to which the later walk comes
    aggregates: frozenset[str] = (
        frozenset()
    )  # what is called so is no tensor, but holds some: a tuple, a list, an object
    numbers: frozenset[str] = frozenset()  # what is called so is a number of Python's
    aside: bool = False
    """What only the later walk trains has an optimiser of its own, which owns nothing of what is shared; or both only compare
    with that what they train."""
    joint: bool = (
        False  # what only the later walk trains has an optimiser of its own, which owns a part of what is shared
    )
    zeroed: str = ""  # "at once" if the gradients of the earlier were zeroed before anything could use them, or "later"
    whole: bool = False  # whether the later backward pass goes through what the earlier one starts at
    part: bool = False  # or the earlier one through what the later one starts at, as a share or a term of its loss
    trained: bool | None = None  # whether the shared graph is what an optimiser trains; None where that isn't known
    unowned: bool = False  # no optimiser owns any leaf of the shared graph
    total: bool = False  # the later backward pass comes to it through sums, and their shares, alone
    averaged: bool = False  # so, and the later loss is a weighted average of it and of one thing more
    term: bool = False  # so, and it was no more than a term of the first one's loss
    fed: bool = False  # weights go into the later loss together with it, as with an input
    by_item: bool = False  # the later loss has a term for it, and one like that for what its own iteration made
    sought: bool = False  # a term of the later loss is made of it, and what the iteration adds to it, alone
    cached: bool = False  # both backward passes come to it from one place: it was kept as it is, and not carried on
    holders: tuple[Holder, ...] = ()  # of a graph that is carried on
    weight: str = ""  # "first" or "second": the one in which it does nothing but to weigh a log-probability
    in_turn: bool = (
        False  # one optimiser stepped with the first one's gradients, and another zeroed its own behind that
    )
    left: bool = False  # the later one asks for gradients of leaves alone, which the earlier has just left in `.grad`, zeroed before
    apart: bool = False  # gradients were read, or zeroed, between the two, and no step used them

    @property
    def primary(self) -> Span:
        """Where the user's program raises."""
        return self.reused.moment.span


@record
class Modified(AtBackward):
    """A saved tensor was changed in place between the forward that saved it and the walk that needs it.

    `saved` is the slot, `name` the variable or parameter that was changed. `by_step`: an optimiser's step() did it.
    `earlier` is the walk over the same graph before the change, if there was one (then it retained the graph).
    `supposed`: that this optimiser owns the weight is a convention, not seen. `recorded`: it was not under `no_grad`.
    """

    op: str
    saved: str
    name: str
    built: Moment
    modified: Moment
    by_step: bool
    earlier: BackwardPass | None
    supposed: bool = False
    recorded: bool = True
    holders: tuple[Holder, ...] = ()  # as of a freed one
    unowned: Moment | None = None  # what makes a part of the graph of which no optimiser owns a leaf
    zeroed: str = ""  # whose gradients were zeroed since a step changed it: its "own", or those of an "other" optimiser
    aside: bool = False  # as of a freed one, seen from the earlier walk
    constant: Moment | None = None  # then, where what the later walk doesn't train enters what that alone goes through
    leaf: bool = False  # what was saved is a leaf
    owned: bool = False  # so, which an optimiser is known to own, and whose step isn't what changed it
    sole: bool = False  # nothing that was made since the change trains anything: cut off from the rest, the loss would have no graph
    whole: bool = False  # the change overwrote all of it with another tensor of its shape


@record
class Numbers:
    """What a loss without a graph was computed of: numbers that were `taken` of a tensor which has one, and perhaps
    `wrapped` as a tensor again."""

    taken: Moment
    wrapped: Span | None = None


@record
class NoGraph(AtBackward):
    """A walk starts at a tensor without a graph. `cut` is where the graph was lost, `reason` how: "detach", "no_grad",
    "data", "copied", "item", "wrapped" where numbers were taken of a list of tensors, "create_graph" where a gradient was computed
    without it, "constant" where a gradient is a function of nothing that requires grad, "checkpoint" where what one is given
    requires none, "plain" where a custom function says that its result has none, or "leaf" where nothing that went in does.
    `switched` is the call that had turned gradients off, if that was no block's. `learns`: an optimiser has weights that
    require gradients. `numbers`: what it was computed of, where nothing else tells. `taken`: where numbers were taken of what
    was `cut`."""

    cut: Moment | None
    reason: str
    switched: Span | None = None
    learns: bool = False
    numbers: Numbers | None = None
    taken: Span | None = None
    rarely: bool = False  # only where a called function finds something in what it is given; else there is a graph
    flat: Span | None = None  # what all that was cut off comes through, though its gradient is always zero: `x.round()`
    beside: tuple[Span, ...] = ()  # of "wrapped": where the same was done with other tensors


@record
class LeafModified(IncidentBase):
    """A leaf that requires grad (or, with `view`, a view of one) was changed in place outside no_grad. `taken`: what goes
    into it has a graph of its own. `given`: a function changes what it was given; `trained`: something is known to train it;
    `updated`: so, and no gradient has a graph that could go into it."""

    name: str
    made: Moment | None
    modified: Moment
    view: bool
    taken: bool = False
    given: bool = False
    trained: bool = False
    updated: bool = False

    @property
    def primary(self) -> Span:
        return self.modified.span


@record
class ViewModified(IncidentBase):
    """One of several views that one operation gave at `made` was changed in place outside no_grad, or what a module that has a
    full backward hook was given there, or gave; `op` is the operation whose node it has, "" without one."""

    name: str
    made: Span
    op: str
    modified: Moment

    @property
    def is_hooked(self) -> bool:
        return self.op == "BackwardHookFunction"

    @property
    def primary(self) -> Span:
        return self.modified.span


@record
class InferenceUsed(IncidentBase):
    """A tensor that was made in inference mode, which `block` had asked for, is used outside where autograd records. `reason`:
    it is "saved" for a backward pass, "changed" in place, or "asked" to require a gradient."""

    name: str
    made: Span
    block: Span
    used: Moment
    reason: str

    @property
    def primary(self) -> Span:
        return self.used.span


@record
class Refused(AtCall):
    """A call that torch refuses for what it is `given`, by its text; `made` is where that was. `reason`: "unused", a gradient
    of what the graph of `root` doesn't hold, "computed", an optimiser of what is no leaf, or how the graph of an input was
    lost, or that it never had one ("detach", "leaf", as for NoGraph): `made` is then where. `kin`: the root is made of what
    that is made of; `apart`: what it is made of in place of that, a leaf of its own; `copied`: such a leaf, that was made of the
    numbers of what leads there. `number` tells which of several it is."""

    given: str
    made: Moment
    reason: str
    root: str = ""
    kin: Moment | None = None
    number: int | None = None
    gradient: Moment | None = None
    apart: Moment | None = None
    copied: Moment | None = None


# -- what runs, and wastes or misses the point --------------------------------------------------------------------


@record
class Retained(AtBackward):
    """A walk retained its graph, and nothing ever walks any part of it again; `value` is where `True` stands."""

    value: Span


@record
class Growing(AtBackward):
    """In each turn of `loop` a retained walk passes through the graphs of all turns before; `built` is one of them."""

    earlier: BackwardPass
    built: Moment
    loop: Span


@record
class Kept(IncidentBase):
    """In each turn of `loop`, a tensor with its graph is added to a total, or (with `stored`) put into a container.

    `alive`: what these graphs saved is kept with them; else an earlier walk, `walk`, has freed it, and only their
    nodes stay; with `bare` nothing that the loop builds has saved anything. `item` is where the tensor stands in the text,
    or (with `inside`) a tuple or the like that has it; `holder` is what it is added to, and `reset` where the loop sets
    that back to a constant, or empties it. `single` tells whether it has one element, None where nobody knows.
    """

    kept: Moment
    primary: Span
    item: Span
    holder: str
    stored: bool
    alive: bool
    loop: Span
    built: Moment
    backward_pass: BackwardPass | None
    inside: bool = False
    reset: Span | None = None
    bare: bool = False
    single: bool | None = None


@record
class Cycle(AtBackward):
    """`backward(create_graph=True)`: the parameters and their gradients hold each other, and nobody lets go."""


@record
class NeverBackpropagated(IncidentBase):
    """In each turn of `loop` a module's call builds a graph that nothing ever walks; the loop's own code calls it at
    `primary`, perhaps through a helper."""

    built: Moment
    primary: Span
    loop: Span


@record
class ResultUsed(AtBackward):
    """What `backward()` returned, which is None, is bound to `target`, or (with "") used otherwise."""

    target: Span | None


@record
class UnknownArgument(AtCall):
    """A walk is given an argument `name` that torch's `function` has not, or (with `deprecated`) will not have."""

    function: str
    name: str
    value: Span | None
    deprecated: bool
    sure: bool  # that it is torch's function which is called

    @property
    def fails(self) -> bool:
        """Whether the call surely raises a TypeError."""
        return self.sure and not self.deprecated


@record
class NeverZeroed(IncidentBase):
    """In each turn of `loop` a walk adds to the gradients that `step` uses, and nothing ever zeroes them."""

    step: Moment
    backward_pass: Span
    loop: Span
    owner: str

    @property
    def primary(self) -> Span:
        return self.step.span


@record
class ThrownAway(IncidentBase):
    """The gradients that `walk` computed are zeroed at `zeroed`, before `step` could use them."""

    backward_pass: Span
    zeroed: Moment
    step: Span
    owner: str

    @property
    def primary(self) -> Span:
        return self.zeroed.span


@record
class Discarded(AtCall):
    """`name.detach()` alone: its result is dropped, and `name` keeps its graph."""

    name: str


@record
class OldVariable(AtCall):
    """`Variable(...)`, which is the tensor without its graph; `options` are the names it was given, and `bare` says that it was
    never given a tensor that may have a graph."""

    argument: Span | None
    options: tuple[str, ...]
    bare: bool = True


GraphFailure: TypeAlias = Freed | Modified | NoGraph | LeafModified | ViewModified | InferenceUsed | Refused
Waste: TypeAlias = (
    Retained | Growing | Kept | Cycle | NeverBackpropagated
    | ResultUsed | UnknownArgument | NeverZeroed | ThrownAway | Discarded | OldVariable
)  # fmt: skip
Incident: TypeAlias = GraphFailure | Waste


@record
class Gap:
    """What the machine couldn't follow, and why; `backward` if that is a backward pass, `spent` if what runs none takes too many
    steps, or there are too many ways through it."""

    span: Span
    reason: str
    backward: bool = False
    spent: bool = False


Leaf: TypeAlias = "tuple[Span, ...]"
"""Where a leaf was made, and through which call."""


@record
class Conduct:
    """What a program did when it was run, to tell whether another text does the same.

    `backward_passes` are where they ran, `leaves` where that was made in which one left a gradient, and `trained` these
    with the backward pass whose gradients an optimiser's step then used. `missing_reads` are where a path took what
    isn't there: a method of tensors from None, a number or a tuple, a name that nothing has bound. `arrivals` tell by how
    many ways each of these leaves was reached when a backward pass ran first, `fresh` by how many one that failed reached
    it within its own iteration, `less` what such a one reached by fewer ways than the first in all, `fading` what a later
    iteration reached by fewer ways than the first, `left` what it didn't reach and used nowhere else, as what a state
    began with, `further` what only a later one reached, ahead of any failure. `failed` are the iterations of the loops around
    in which a backward pass first failed at what was built at a place, `unseen` those in which nothing was known of what it reached.
    """

    backward_passes: frozenset[Span] = frozenset()
    leaves: frozenset[Leaf] = frozenset()
    trained: frozenset[tuple[Leaf, Span]] = frozenset()
    missing_reads: frozenset[Span] = frozenset()
    arrivals: tuple[tuple[Leaf, Span, int], ...] = ()
    fresh: tuple[tuple[Leaf, Span, int], ...] = ()
    less: frozenset[tuple[Leaf, Span]] = frozenset()
    fading: frozenset[tuple[Leaf, Span]] = frozenset()
    left: frozenset[tuple[Leaf, Span]] = frozenset()
    further: frozenset[Leaf] = frozenset()
    failed: frozenset[tuple[Span, tuple[int, ...]]] = frozenset()
    unseen: frozenset[tuple[Span, tuple[int, ...]]] = frozenset()


Definition: TypeAlias = "tuple[str, str]"
"""A function, method or class, by the name of its file and its qualified name there."""


@record
class Entry:
    """One function or method that was run for itself, all functions that this came to, unseen ones too, and its steps."""

    start: Definition
    reached: frozenset[Definition]
    steps: int


@record
class Exploration:
    """All that one entry's exploration has to say: what fails, what couldn't be followed, and what runs in vain."""

    incidents: tuple[Incident, ...]
    gaps: tuple[Gap, ...]
    steps: int = 0
    waste: tuple[Waste, ...] = ()
    conduct: Conduct = Conduct()
    unjudged: tuple[Gap, ...] = ()
    """Backward passes that were run, and rest on what nobody sees."""
    effort: int = 0
    """What it took beside its steps too, in steps that take as much."""
    entries: tuple[Entry, ...] = ()
    """What was run for itself, the module's body first."""
    followed: frozenset[Definition] = frozenset()
    """The functions and methods of other modules that it called, and followed to their end, with their backward passes."""
    unrolled: bool = False
    """Whether all iterations of a script told more than some, or less."""
    shortened: bool = False
    """Whether all of them would be more than were run."""
