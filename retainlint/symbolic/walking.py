"""Walks a symbolic graph with the core's engine, and turns a refusal into an incident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from retainlint.autograd import engine
from retainlint.autograd.errors import FreedError, GraphError
from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.incident import NoGraph, Walk
from retainlint.records import record
from retainlint.source import Span
from retainlint.symbolic import deeds, misuse, retaining, story, witness
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.gradients import Gradients, Mark
from retainlint.symbolic.graphs import UNSEEN
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import Change, Flow, State, WalkRecord, ticket
from retainlint.symbolic.values import (
    CONVENTIONAL,
    FALSE,
    GUESS,
    NONE,
    PROVEN,
    Const,
    Failure,
    ListObj,
    TensorObj,
    Tuple,
    Value,
)


@record
class Request:
    """One call of backward or grad: from where, how, and what it is called in the text."""

    roots: tuple[Value, ...]
    text: str
    span: Span
    retain: bool
    create: bool
    targets: tuple[Edge, ...] | None
    accumulate: bool
    seeds: tuple[Edge | None, ...] = ()  # the graphs of the gradients that the walk starts from
    written: retaining.Flags = retaining.UNWRITTEN


# -- the calls ----------------------------------------------------------------------------------------------------


def backward(machine: Machine, state: State, root: Value, args: Args, span: Span) -> Results:
    """`root.backward(gradient, retain_graph, create_graph, inputs)`."""
    text = span.text.partition(".backward")[0].strip() or "loss"
    misuse.arguments(machine, state, "Tensor.backward", (root,), args, span)
    misuse.result(machine, state, Walk(state.moment(span), text), (root,))
    return [(s, NONE) for s, _ in _requested(machine, state, (root,), text, args, span, 1, 3)]


def walk_for(machine: Machine, state: State, root: Value, args: Args, span: Span) -> Results:
    """A trainer walks `root` for the program; only flags under their names count."""
    text = span.text.partition("(")[2].rpartition(")")[0].partition(",")[0].strip() or "loss"
    named = Args((), args.named, args.open, (), args.span, args.places)
    return [(s, NONE) for s, _ in _requested(machine, state, (root,), text, named, span, 1, 3)]


def autograd_backward(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """`torch.autograd.backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)`."""
    roots = _tensors(state, args.get(0, "tensors"))
    text = _text(args, 0)
    misuse.arguments(machine, state, "torch.autograd.backward", roots, args, span)
    misuse.result(machine, state, Walk(state.moment(span), text), roots)
    return [(s, NONE) for s, _ in _requested(machine, state, roots, text, args, span, 2, 5)]


def _requested(
    machine: Machine, state: State, roots: tuple[Value, ...], text: str, args: Args, span: Span, at: int, inputs: int
) -> Results:
    wanted = args.get(inputs, "inputs")
    targets = None
    if wanted != NONE:
        targets = tuple(e for value in _tensors(state, wanted) if (e := machine.graphs.edge(state, value)))
    given = args.get(0 if at == 1 else 1, "gradient" if at == 1 else "grad_tensors")
    seeds = tuple(machine.graphs.edge(state, value) for value in _tensors(state, given))
    found: Results = []
    for each, retain, create in flags(machine, state, args, at, span):
        written = _written(args, at)
        request = Request(roots, text, span, retain, create, targets, True, seeds, written)
        execute(machine, each, request)
        found.append((each, NONE))
    return found


def grad(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """`torch.autograd.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, ...)`: the gradients."""
    roots = _tensors(state, args.get(0, "outputs"))
    misuse.arguments(machine, state, "torch.autograd.grad", roots, args, span)
    wanted = _tensors(state, args.get(1, "inputs"))
    edges = [machine.graphs.edge(state, value) for value in wanted]
    if any(edge is None and isinstance(state.get(value), TensorObj) for value, edge in zip(wanted, edges, strict=True)):
        machine.slips.add(span)
    seeds = tuple(machine.graphs.edge(state, value) for value in _tensors(state, args.get(2, "grad_outputs")))
    found: Results = []
    for each, retain, create in flags(machine, state, args, 3, span):
        targets = tuple(edge for edge in edges if edge is not None)
        written = _written(args, 3)
        request = Request(roots, _text(args, 0), span, retain, create, targets, False, seeds, written)
        grads = dict(zip(targets, execute(machine, each, request), strict=False))
        values = tuple(_gradient(each, grads.get(edge) if edge else None, create, span) for edge in edges)
        open_ = not values or isinstance(args.get(1, "inputs"), Const)
        result: Value = each.new(ListObj(values, True)) if open_ else Tuple(values)
        found.append((each, result))
    return found


def _gradient(state: State, mark: Mark | None, create: bool, span: Span) -> Value:
    """What grad returns for one input. With create_graph, one whose graph we can't see may have one all the same."""
    edge = mark.edge if mark is not None else None
    if edge is None and create and (mark is None or mark.hidden):
        return unknown.fresh(state, span)
    cut = None if edge is not None else ("constant" if create else "create_graph", span)
    return state.new(TensorObj(edge, ticket(), cut=cut))


def flags(machine: Machine, state: State, args: Args, at: int, span: Span) -> list[tuple[State, bool, bool]]:
    """`retain_graph` and `create_graph`, forking where they aren't known; retaining defaults to creating."""
    found: list[tuple[State, bool, bool]] = []
    retain = args.get(at, "retain_graph", args.get(-1, "retain_variables"))
    create = args.get(at + 1, "create_graph", FALSE)
    places = dict(args.places)
    for s, creates in machine.branch(state, create, places.get("create_graph", span)):
        if retain == NONE:
            found.append((s, creates, creates))
        else:
            found += [(t, keeps, creates) for t, keeps in machine.branch(s, retain, places.get("retain_graph", span))]
    return found


def _written(args: Args, at: int) -> retaining.Flags:
    """The flags as they stand in the text of the call."""
    places = dict(args.places)
    retain = places.get("retain_graph") or (args.spans[at] if at < len(args.spans) else None)
    create = places.get("create_graph") or (args.spans[at + 1] if at + 1 < len(args.spans) else None)
    is_true = retain is not None and retain.text == "True"
    return retaining.Flags(retain if is_true else None, create is not None and create.text != "False")


def _tensors(state: State, value: Value) -> tuple[Value, ...]:
    if isinstance(value, Tuple):
        return value.items
    held = state.get(value)
    if isinstance(held, ListObj):
        return held.items
    return () if isinstance(value, Const) else (value,)


def _text(args: Args, index: int) -> str:
    span = args.spans[index] if index < len(args.spans) else None
    return span.text if span is not None else "the loss"


# -- the walk -----------------------------------------------------------------------------------------------------


class _Refused(Exception):
    """A failure that the program expects: the walk ends here."""


class _Watch(engine.Observer):
    """Sees what is freed and refused; a refusal that we are sure enough of becomes an incident."""

    def __init__(self, machine: Machine, state: State, request: Request, roots: tuple[Edge, ...], walk: Walk) -> None:
        self.machine, self.state, self.request, self.roots, self.walk = machine, state, request, roots, walk
        self.reach = machine.graphs.reach(roots)
        self.newly_freed: set[Node] = set()
        self.implied: dict[tuple[tuple[Edge, ...], bool], tuple[list[Node], frozenset[Node]]] = {}
        self.failed = False

    def freed(self, node: Node) -> None:
        self.newly_freed.add(node)

    def refused(self, node: Node, saved: SavedTensor, error: GraphError) -> None:
        if isinstance(error, FreedError):
            self._freed_before(node)
        else:
            self._modified(node, saved)

    def _freed_before(self, node: Node) -> None:
        state = self.state
        record = next(r for r in reversed(state.walks) if node in r.freed)
        level = self._level(node, record)
        if level > CONVENTIONAL or node in state.reported:
            return
        if state.guards:
            raise _Refused
        story.freed(self.machine, state, node, record, self.record())
        self.failed = True
        state.ledger.revive(record.freed)
        state.reported |= record.freed

    def _level(self, node: Node, record: WalkRecord) -> int:
        """How sure we are that both walks pass here and that something was saved."""
        birth = self.machine.graphs.births[node]
        level = max(
            self.reach.get(node, GUESS), record.reach.get(node, GUESS), birth.exists, min(birth.slots, default=PROVEN)
        )
        if record.hoped and self.request.seeds:  # it may have failed for want of them
            return GUESS
        return min(level, self._proven(node, record)) if level == GUESS else level

    def _proven(self, node: Node, record: WalkRecord) -> int:
        """How sure a walk that ran makes it that its root had a graph, and `node` in it."""
        graphs, first = self.machine.graphs, record.roots[0].node
        needed, implied = self._implied(record)
        if not needed:
            return GUESS
        above = graphs.way(Edge(needed[-1]), node, GUESS)
        is_below = graphs.births[node].from_call and bool(node.next) and all(not n.saved for n in above[:-1])
        if node.op == UNSEEN and (node is first or is_below):
            return CONVENTIONAL  # the first walk ran, so its root had a graph
        if node in implied:
            return CONVENTIONAL  # and all that alone can have given it one
        return GUESS

    def _implied(self, record: WalkRecord) -> tuple[list[Node], frozenset[Node]]:
        """What a walk that ran proves to have had a graph, if this one surely comes there too."""
        if (found := self.implied.get((record.roots, record.hoped))) is None:
            graphs, needed = self.machine.graphs, self.machine.graphs.needed(record.roots[0])
            carried = not record.hoped and any(graphs.carries(root, each) for root in self.roots for each in needed)
            found = [], frozenset()
            if carried or set(self.roots) == set(record.roots):
                found = needed, frozenset().union(*map(graphs.implied, (*record.roots, Edge(needed[-1]))))
            self.implied[record.roots, record.hoped] = found
        return found

    def _modified(self, node: Node, saved: SavedTensor) -> None:
        state = self.state
        birth = self.machine.graphs.births[node]
        level = max(self.reach.get(node, GUESS), birth.exists, birth.slots[node.saved.index(saved)])
        change = story.change_of(state, node, saved)
        before = next((r for r in reversed(state.walks) if set(r.roots) == set(self.roots)), None)
        if level == GUESS and before is not None:
            level = self._proven(node, before)
        if change is not None and not (change.level == GUESS and before is not None and _is_behind(change, before)):
            level = max(level, change.level)
        key = (node, saved.storage)
        if level > CONVENTIONAL or key in state.reported or node in state.reported or self.failed:
            return
        if state.guards:
            raise _Refused
        story.modified(self.machine, state, node, saved, self.record())
        state.reported |= {key}

    def record(self) -> WalkRecord:
        request = self.request
        freed = frozenset(self.newly_freed)
        created = self.state.ledger.created
        return WalkRecord(
            self.walk, self.reach, freed, created, self.roots, request.targets, request.accumulate, request.create
        )


def _is_behind(change: Change, walk: WalkRecord) -> bool:
    """Whether a step came behind a walk, and so moves some of the weights that this gave gradients to."""
    return change.by_step and change.created >= walk.created


def execute(machine: Machine, state: State, request: Request) -> list[Mark | None]:
    """Run a walk on a path; the gradients at the targets."""
    machine.covered(request.span)
    walk = Walk(state.moment(request.span), request.text, request.retain)
    edges = [machine.graphs.edge(state, root) for root in request.roots]
    if not edges or any(edge is None for edge in edges):
        _no_graph(machine, state, request, walk, edges)
        machine.waste.give(edge for edge in edges if edge is not None)
        machine.waste.spoil()
        return []
    roots = tuple(edge for edge in edges if edge is not None)
    watch = _Watch(machine, state, request, roots, walk)
    told = state.reported
    if request.accumulate:
        deeds.walked(state, walk.moment)
    try:
        marks = engine.walk(
            [(edge, Mark(seed)) for edge, seed in zip_longest(roots, request.seeds[: len(roots)])],
            state.ledger,
            Gradients(machine.graphs, state, request.create, request.span),
            watch,
            retain=request.retain,
            inputs=request.targets,
            accumulate=request.accumulate,
        )
    except _Refused:
        state.flow = Flow("raise", Failure("RuntimeError"))
        state.walks += (watch.record(),)
        retaining.walked(machine.waste, state, state.walks[-1], request.written, failed=True)
        return []
    if request.accumulate:
        machine.passed.update(watch.reach if request.targets is None else (edge.node for edge in request.targets))
    record = watch.record()
    retaining.walked(machine.waste, state, record, request.written, failed=state.reported is not told)
    if watch.failed:  # one cure heals them all: later failures at what this walk freed are the same bug
        state.reported |= record.freed
    state.walks += (_hoped(machine, state, request, record) if state.guards else record,)
    return marks


def _hoped(machine: Machine, state: State, request: Request, record: WalkRecord) -> WalkRecord:
    """A walk in a `try`: it may have failed for another reason than a graph, though a program means it to succeed."""
    ndims = {held.ndim if isinstance(held, TensorObj) else None for root in request.roots for held in [state.get(root)]}
    if request.seeds or ndims == {0}:
        return record
    machine.risks += 1
    level = CONVENTIONAL if ndims <= {0, None} and not state.expects else GUESS
    return replace(record, reach={node: max(known, level) for node, known in record.reach.items()}, hoped=True)


def _no_graph(machine: Machine, state: State, request: Request, walk: Walk, edges: Sequence[Edge | None]) -> None:
    """The root has no graph: an error if we saw it being made."""
    bare = (state.get(root) for root, edge in zip(request.roots, edges, strict=True) if edge is None)
    held = next((obj for obj in bare if isinstance(obj, TensorObj)), None)
    if held is None:
        return
    if state.guards:
        state.flow = Flow("raise", Failure("RuntimeError"))
        return
    reason, span = held.cut or ("leaf", None)
    kind = reason if reason in ("detach", "no_grad", "data", "item", "leaf", "create_graph", "constant") else "detach"
    cut = None if span is None else state.moment(span)
    incident = NoGraph(walk, cut, kind, conditions=tuple(choice.condition for choice in state.choices))
    machine.report(incident, lambda: witness.of_no_graph(incident))
