"""What happens on a path that somebody may want to know of: the machine, its models and the tape emit it, detectors subscribe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

from retainlint import ir
from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.incident import BackwardPass, Moment, Numbers, Refused
from retainlint.startup.records import record
from retainlint.symbolic.state.state import BackwardRecord, GradientEvent, State
from retainlint.symbolic.state.values import DictObj, ListObj, Value
from retainlint.text.source import Span

Event = TypeVar("Event")


class Events:
    """Hands each event to those that subscribed to its kind, in the order in which they did."""

    def __init__(self) -> None:
        self._listeners: dict[type, list[Callable[[Any], object]]] = {}

    def subscribe(self, kind: type[Event], listener: Callable[[Event], object]) -> None:
        self._listeners.setdefault(kind, []).append(listener)

    def emit(self, event: object) -> None:
        for listener in self._listeners.get(type(event), ()):
            listener(event)


# -- backward passes, and what they are refused -----------------------------------------------------------------------


@record
class Flags:
    """How a backward pass's arguments are written: where the `True` of `retain_graph` stands, and whether `create_graph`'s
    does."""

    retain: Span | None = None
    creates: bool = False


UNWRITTEN = Flags()


@record(eq=False)
class BackwardCalled:
    """A call that asks for a backward pass, before it runs: the names of its named arguments, and where their values stand."""

    state: State
    function: str
    roots: Sequence[Value]
    names: tuple[str, ...]
    places: tuple[tuple[str, Span], ...]
    span: Span
    backward_pass: BackwardPass | None  # None for `grad`, whose result is meant to be used


@record(eq=False)
class Backward:
    """A backward pass ran, or `failed`: was refused something."""

    state: State
    record: BackwardRecord
    flags: Flags
    failed: bool


@record(eq=False)
class Reused:
    """A backward pass, the `second`, needs what the `first` freed at a node."""

    state: State
    node: Node
    first: BackwardRecord
    second: BackwardRecord


@record(eq=False)
class SavedModified:
    """A backward pass needs what a node saved as it was, and it was changed in place since."""

    state: State
    node: Node
    saved: SavedTensor
    record: BackwardRecord


@record(eq=False)
class WithoutGraph:
    """A backward pass starts from a tensor that has no graph; `cut` is where it was lost, in the way of its `reason`; it was
    `bare` if it had none before that either."""

    state: State
    backward_pass: BackwardPass
    cut: Moment | None
    reason: str
    bare: bool
    numbers: Numbers | None


@record(eq=False)
class LeafModified:
    """A leaf that requires grad, or a `view` of it, is changed in place while autograd records."""

    state: State
    name: str
    leaf: Node
    made: Moment
    span: Span
    view: bool
    taken: bool
    parameter: bool


@record(eq=False)
class ViewModified:
    """One of several views, that an operation gave at `made`, is changed in place while autograd records; `op` is the operation
    whose node it has, "" without one."""

    state: State
    name: str
    made: Span
    op: str
    span: Span


@record(eq=False)
class InferenceUsed:
    """What was `made` in inference mode, which was asked for at the second place, is used at `span` where autograd records."""

    state: State
    name: str
    made: tuple[Span, Span]
    span: Span
    reason: str


@record(eq=False)
class CallRefused:
    """Torch refuses what a call is given."""

    state: State
    incident: Refused


# -- gradients --------------------------------------------------------------------------------------------------------


@record(eq=False)
class Step:
    """An optimiser's step, before the path remembers it."""

    state: State
    event: GradientEvent


@record(eq=False)
class GradientsCleared:
    """Gradients were set to None."""


# -- graphs that are kept ---------------------------------------------------------------------------------------------


@record(eq=False)
class Added:
    """An operation that sums up gave `total` of what stands at `places`."""

    state: State
    total: Value
    span: Span
    places: Sequence[Span | None]


@record(eq=False)
class Stored:
    """A value is put into a container by a method; `item` is where it stands in the text."""

    state: State
    holder: Value
    value: Value
    span: Span
    item: Span | None


@record(eq=False)
class ItemSet:
    """A value is put under a key of what a container holds, in the place of another unless `is_new`; `text` is what the
    container is called."""

    state: State
    container: int
    held: ListObj | DictObj
    value: Value
    span: Span
    text: str
    is_new: bool


@record(eq=False)
class Joined:
    """A list was `made` of two sequences."""

    state: State
    left: Value
    right: Value
    made: Value
    places: Sequence[Span | None]
    span: Span


@record(eq=False)
class ContainerShrunk:
    """Something was taken out of a list, told by its number."""

    container: int


@record(eq=False)
class ModuleCalled:
    """The call of a module, or of something unseen, gave a value."""

    state: State
    value: Value
    span: Span


# -- calls that may not do what they seem to ------------------------------------------------------------------------------


@record(eq=False)
class Detached:
    """`tensor.detach()`."""

    state: State
    tensor: Value
    span: Span


@record(eq=False)
class VariableMade:
    """`Variable(argument, ...)`, with the names of its named arguments, of a tensor that is `bare` of a graph."""

    state: State
    argument: Span | None
    names: tuple[str, ...]
    bare: bool
    span: Span


# -- how far the program was followed ---------------------------------------------------------------------------------


@record(eq=False)
class Escaped:
    """Graphs were handed to somebody whom we can't see."""

    edges: Iterable[Edge]


@record(eq=False)
class OpaqueCall:
    """Something that we can't see ran: it may have zeroed or set gradients."""


@record(eq=False)
class NotFollowed:
    """The entry was not followed to its end, or something in it was not followed."""


@record(eq=False)
class CalleeSkipped:
    """A function of the program, of this name, was not followed; these graphs are in its hands."""

    name: str
    edges: Iterable[Edge]


@record(eq=False)
class PathsDropped:
    """Paths were given up; the others are the `whole` if each answer to a condition is among theirs."""

    whole: bool


@record(eq=False)
class ArmTaken:
    """A path took an arm of a branch: the first if `arm` is true. That of a loop is its body."""

    instr: ir.If | ir.For | ir.While
    arm: bool


@record(eq=False)
class EntryBegun:
    """A function is run for itself."""


Refusal: TypeAlias = "Reused | SavedModified | WithoutGraph | LeafModified | ViewModified | InferenceUsed | CallRefused"
"""What torch refuses, and a program may have a handler for."""


@record(eq=False)
class EntryEnded:
    """It has ended: its results, and what others hold besides."""

    results: list[tuple[State, Value]]
    holders: tuple[Value, ...] = ()


@record(eq=False)
class ModulePartBegun:
    """Statements of an imported module are run, for a name that is asked for."""


@record(eq=False)
class ModulePartEnded:
    """They have been run; what they keep is nobody's waste."""
