"""Backward passes over symbolic graphs: the calls that ask for one, the core's engine that runs it, and the gradients that it gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from itertools import zip_longest

from retainlint.autograd import engine
from retainlint.autograd.errors import NoGraphError
from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.autograd.operations import rows
from retainlint.incident import BackwardPass, Iteration, Moment
from retainlint.startup.records import record, replace
from retainlint.symbolic.state import events, gradient_events, limits
from retainlint.symbolic.state.graphs import OPAQUE_CALL, Birth, Graphs
from retainlint.symbolic.state.protocol import Arrivals, Machine
from retainlint.symbolic.state.shape import UNKNOWN
from retainlint.symbolic.state.state import BackwardRecord, State
from retainlint.symbolic.state.values import CONVENTIONAL, GUESS, PROVEN, TensorObj, UnknownObj
from retainlint.symbolic.tape.observer import BackwardObserver, Refused, Request
from retainlint.text.source import Span


@record
class Mark:
    """A symbolic gradient: it is there, and with create_graph it has a graph of its own, if it is a function of what
    requires grad; `hidden`: it may have one that we can't see."""

    edge: Edge | None = None
    hidden: bool = False


HIDDEN = "hidden"
"""The operation of a gradient that may be a function of more than is seen: of what an unseen function was given, too."""


class Gradients:
    """The engine's arithmetic over marks; with `create` the gradients of the walk at `span` get graphs."""

    def __init__(self, graphs: Graphs, state: State, create: bool, span: Span) -> None:
        self.graphs, self.state, self.create, self.span = graphs, state, create, span

    def apply(self, node: Node, grads: list[Mark | None]) -> Sequence[Mark | None]:
        given = [grad for grad in grads if grad is not None]
        if not given:
            return [None] * len(node.next)
        if not self.create:
            return [Mark()] * len(node.next)
        above = [grad.edge for grad in given if grad.edge is not None]
        birth = self.graphs.births[node]
        row = rows().get(birth.operation)
        if row is not None and row.nought:
            return [Mark()] * len(node.next)
        hidden = birth.serves is None or birth.exists > PROVEN or any(grad.hidden for grad in given)
        marks: list[Mark | None] = []
        for place in range(len(node.next)):
            edges = above + [inner for saved in _serving(node, birth, place) if (inner := _within(node, saved))]
            saved = (*_factors(node, birth, place), SavedTensor("self")) if above else (SavedTensor("self"),)
            made = self._combine(
                tuple(dict.fromkeys(edges)), f"{node.op}Backward", saved if node.saved else (), hidden=hidden
            )
            marks.append(Mark(made, hidden))
        return marks

    def add(self, left: Mark, right: Mark) -> Mark:
        edges = tuple(mark.edge for mark in (left, right) if mark.edge is not None)
        hidden = left.hidden or right.hidden
        if len(edges) < 2:
            return Mark(edges[0] if edges else None, hidden)
        return Mark(self._combine(edges, "AddBackward0", (), hidden=hidden), hidden)

    def _combine(
        self, edges: tuple[Edge, ...], op: str, saved: tuple[SavedTensor, ...], *, hidden: bool
    ) -> Edge | None:
        if not edges:
            return None
        node = Node(op, saved, edges, self.state.ledger.next_order())
        passes = tuple(self.graphs.exists(edge) for edge in edges)
        moment = self.state.moment(self.span)
        slots = (max(CONVENTIONAL, min(passes)),) * len(saved)
        self.graphs.births[node] = Birth(moment, min(passes), passes, slots, operation=HIDDEN if hidden else "double")
        return Edge(node)

    def accumulate(self, variable: Hashable, grad: Mark) -> None:
        """The engine's ledger remembers that the leaf has a gradient now."""


def _serving(node: Node, birth: Birth, place: int) -> list[SavedTensor]:
    """What the gradient that `node` sends along its edge number `place` is a function of."""
    if birth.serves is None:
        return list(node.saved)
    pairs = zip(node.saved, birth.serves, strict=True)
    return [saved for saved, served in pairs if served is None or place in served]


def _factors(node: Node, birth: Birth, place: int) -> list[SavedTensor]:
    """Of these what it is multiplied by, as it is: the other operand of a product, which the gradient's own graph saves again
    if what comes in has one."""
    pairs = zip(node.saved, birth.serves or (), strict=False)
    return [saved for saved, served in pairs if served is not None and place in served and saved.storage is not None]


def _within(node: Node, saved: SavedTensor) -> Edge | None:
    """The graph of a saved tensor."""
    return Edge(node) if saved.is_result else saved.edge


_CUTS = frozenset("detach no_grad data copied item wrapped leaf create_graph constant checkpoint plain indices".split())
"""Ways to lose a graph that are told apart."""


# -- the walk -----------------------------------------------------------------------------------------------------


def execute(machine: Machine, state: State, request: Request) -> list[Mark | None]:
    """Run a walk on a path; the gradients at the targets."""
    machine.covered(state, request.span)
    backward_pass = BackwardPass(state.moment(request.span), request.text, request.retain)
    edges = [machine.graphs.edge(state, root) for root in request.roots]
    if not edges or any(edge is None for edge in edges):
        _no_graph(machine, state, request, backward_pass, edges)
        gradient_events.read(state, request.span)  # who calls it expects that it gives gradients
        if not any(isinstance(state.get(root), TensorObj) for root in request.roots):
            machine.leave_unjudged(request.span, f"nothing is seen to give `{request.text}` a graph")
        machine.events.emit(events.Escaped(edge for edge in edges if edge is not None))
        machine.events.emit(events.NotFollowed())
        return []
    roots = tuple(edge for edge in edges if edge is not None)
    watch = BackwardObserver(machine, state, request, roots, backward_pass)
    told = state.reported
    if request.accumulate:
        gradient_events.backpropagated(state, backward_pass.moment)
    try:
        marks = engine.backward_pass(
            [(edge, Mark(seed)) for edge, seed in zip_longest(roots, request.seeds[: len(roots)])],
            state.ledger,
            Gradients(machine.graphs, state, request.create, request.span),
            watch,
            retain=request.retain,
            inputs=request.targets,
            accumulate=request.accumulate,
        )
    except Refused as refused:
        machine.withhold(state, refused.error, refused.failure)
        state.backward_passes += (watch.record(),)
        _tell(machine, state, state.backward_passes[-1], request, failed=True)
        return []
    if request.accumulate:
        machine.passed.update(watch.reach if request.targets is None else (edge.node for edge in request.targets))
    _arrived(machine, request, watch)
    record = watch.record()
    if all(level == GUESS for level in record.reach.values()):
        machine.unseen.add((request.span, backward_pass.moment.numbers))
        machine.leave_unjudged(request.span, _unseen_below(machine, request, record))
    _note_unseen(machine, request, record)
    _tell(machine, state, record, request, failed=state.reported is not told)
    if watch.failed:  # one cure heals them all: later failures at what this walk freed are the same bug
        state.reported |= record.freed
    state.backward_passes += (_uncertain(machine, state, request, record) if state.guards else record,)
    return marks


def _unseen_below(machine: Machine, request: Request, record: BackwardRecord) -> str:
    """Why it is not known what a backward pass reaches: the call, or the value, that nobody sees."""
    opaque = [node for node in record.reach if node.op == OPAQUE_CALL]
    text = machine.graphs.births[max(opaque, key=lambda node: node.order)].moment.span.text if opaque else request.text
    if " ".join(text.split()) == request.text:
        return f"it is not known what `{request.text}` is made of"
    return f"the graph of `{request.text}` rests on `{' '.join(text.split())}`, of which nothing is known"


def _note_unseen(machine: Machine, request: Request, record: BackwardRecord) -> None:
    """Remember of a backward pass whether its graph rests on a call of the program's own that took too many steps."""
    left = machine.imports.left
    calls = (machine.graphs.births[node].moment.span for node in record.reach if left and node.op == OPAQUE_CALL)
    if (call := next((each for each in calls if each in left), None)) is not None:
        machine.imports.unseen.setdefault(request.span, call)
    else:
        machine.imports.whole.add(request.span)


def _tell(machine: Machine, state: State, record: BackwardRecord, request: Request, *, failed: bool) -> None:
    machine.backward_count += 1
    machine.events.emit(events.Backward(state, record, request.written, failed))


def _arrived(machine: Machine, request: Request, watch: BackwardObserver) -> None:
    """Remember by how many ways a backward pass came to each leaf of which it is asked when it did so first, what a later iteration
    came to by fewer, and what one that fails comes to by what its own iteration has made."""
    births = machine.graphs.births
    came: Collection[Node] = watch.reach
    if request.targets is not None:  # it brings nothing to other leaves
        asked = {edge.node for edge in request.targets}
        came = {node for node in came if not node.is_leaf or node in asked}
    known = machine.arrivals.get(request.span)
    if known is None:
        moment = watch.backward_pass.moment
        rounds, span = _rounds(machine, moment, watch.reach), _span(machine, moment, watch.reach)
        machine.arrivals[request.span] = Arrivals(moment, _ways(watch.roots, came), rounds, span)
        return
    now = _next(known.moment, watch.backward_pass.moment)
    others = _ways(watch.roots, came) if not watch.failed else Counter()
    if now is not None and all(_is_within(births[node], now) for node in others):
        others = Counter()  # its own iteration's
    if others and known.ways.keys().isdisjoint(others):  # another object's
        if known.moment.frames[:1] == watch.backward_pass.moment.frames[:1]:  # not what was run for itself
            machine.arrivals[request.span] = replace(known, others=known.others | others)
        return
    if further := others.keys() - known.ways.keys() - known.further:
        if watch.state.reported.isdisjoint(watch.reach):
            known = machine.arrivals[request.span] = replace(known, further=known.further | further)
    seen = known.fresh if watch.failed else known.later
    if seen is not None or now is None:
        return
    if watch.failed:
        own = {node for node in came if node.is_leaf or now in births[node].moment.iterations}
        ways = _ways(watch.roots, came)
        less = frozenset(node for node, count in known.ways.items() if ways[node] < count)
        fresh = _ways(watch.roots, own - watch.gone)
        machine.arrivals[request.span] = replace(known, fresh=fresh, less=less)
        return
    moment = watch.backward_pass.moment
    if not known.rounds <= _rounds(machine, moment, watch.reach) or _span(machine, moment, watch.reach) < known.span:
        return  # of a loop within it fewer iterations were run, or since the one before it
    later = _ways(watch.roots, came)
    fewer = {node for node, count in known.ways.items() if later[node] < count and not _is_within(births[node], now)}
    left = set[Node]()
    if not all(later[node] for node in fewer):  # a state that is learnt may be left, a weight that is still used not
        made = (node for node, birth in births.items() if now in birth.moment.iterations)
        used = {below for node in made for below in node.below}
        left = {node for node in fewer if not later[node] and node not in used}
    machine.arrivals[request.span] = replace(known, later=frozenset(fewer - left), left=frozenset(left))


def _rounds(machine: Machine, moment: Moment, reach: Collection[Node]) -> frozenset[Iteration]:
    """The iterations of loops within the one of a backward pass that have made what it came to."""
    depth = len(moment.iterations)
    made = {
        id(at): at for at in (machine.graphs.births[node].moment.iterations for node in reach)
    }  # most are one object
    return frozenset(each for one in made.values() if one[:depth] == moment.iterations for each in one[depth:])


def _span(machine: Machine, moment: Moment, reach: Collection[Node]) -> int:
    """How many iterations of the innermost loop of a backward pass have made what it came to."""
    depth = len(moment.iterations)
    made = {machine.graphs.births[node].moment.iterations[:depth] for node in reach}
    return sum(len(each) == depth for each in made)


def _is_within(birth: Birth, iteration: Iteration) -> bool:
    """Whether each iteration of its loop makes its own."""
    return any(each.loop == iteration.loop for each in birth.moment.iterations)


def _next(one: Moment, other: Moment) -> Iteration | None:
    """The iteration in which a place is reached again, where the way to it differs in nothing else."""
    if one.frames != other.frames or len(one.iterations) != len(other.iterations):
        return None
    pairs = [(a, b) for a, b in zip(one.iterations, other.iterations) if a != b]
    return pairs[0][1] if len(pairs) == 1 and pairs[0][0].loop == pairs[0][1].loop else None


def _ways(roots: Sequence[Edge], reach: Collection[Node]) -> Counter[Node]:
    """By how many ways a backward pass comes to each leaf; a node is made after those that it leads to."""
    ways = Counter(edge.node for edge in roots if edge.node in reach)
    inner = sorted((node for node in reach if not node.is_leaf), key=lambda node: node.order, reverse=True)
    for node in inner:
        for edge in _edges(node):
            if edge.node in reach:
                ways[edge.node] += ways[node]
    return Counter({node: count for node, count in ways.items() if node.is_leaf and count})


def _uncertain(machine: Machine, state: State, request: Request, record: BackwardRecord) -> BackwardRecord:
    """A walk in a `try`: it may have failed for another reason than a graph, though a program means it to succeed."""
    known = [held.shape if isinstance(held, TensorObj) else UNKNOWN for held in map(state.get, request.roots)]
    if request.seeds or all(each.numel == 1 for each in known):
        return record
    machine.risks += 1
    level = GUESS if state.expects or any(each.is_many for each in known) else CONVENTIONAL
    return replace(record, reach={node: max(known, level) for node, known in record.reach.items()}, uncertain=True)


def _no_graph(
    machine: Machine, state: State, request: Request, backward_pass: BackwardPass, edges: Sequence[Edge | None]
) -> None:
    """The root has no graph: an error if we saw it being made."""
    bare = [root for root, edge in zip(request.roots, edges, strict=True) if edge is None]
    held = next((obj for obj in map(state.get, bare) if isinstance(obj, TensorObj | UnknownObj)), None)
    if held is None or (held.unsure if isinstance(held, TensorObj) else held.cut is None):
        return
    cut, kind = cut_of(machine, state, held)
    had_none = held.cut is not None and held.cut[0] in ("bare", "compared")
    is_asked = cut is None or had_none or kind == "no_grad"
    numbers = machine.graphs.numbers.among(state, bare) if is_asked else None
    if numbers is not None and (lost := machine.graphs.numbers.lost.get(numbers)) is not None:
        (cut, kind), had_none = cut_of(machine, state, lost), False
    machine.refuse(
        state, NoGraphError, lambda told: events.WithoutGraph(told, backward_pass, cut, kind, had_none, numbers)
    )


def cut_of(machine: Machine, state: State, held: TensorObj | UnknownObj) -> tuple[Moment | None, str]:
    """Where a tensor lost its graph, and how; nowhere, where it never had one."""
    reason, span = held.cut or ("leaf", None)
    turned_off = state.switched in state.calls  # by a backward pass that is running, not where it was reached before
    calls = state.calls if span is None or turned_off else machine.graphs.unrecorded_near(span, state.calls)
    cut = None if span is None else Moment(span, frames=state.calls if calls is None else calls)
    return cut, reason if reason in _CUTS else "detach"


def _edges(node: Node) -> list[Edge]:
    """Where a node leads to: what changes a view in place by what it held goes one way, to what it is a view of."""
    edges = [edge for edge in node.next if edge is not None]
    if node.op == "CopySlices" and len(edges) == 2:
        whole, waiting, seen = edges[0].node, [edges[1].node], 0
        while waiting and seen < limits.VIEW_SEARCH:
            node, seen = waiting.pop(), seen + 1
            if node is whole:
                return edges[1:]
            waiting += [edge.node for edge in node.next if edge is not None and edge.node.order >= whole.order]
    return edges
