"""What a call proves to have no graph: one that torch refuses a computed tensor, as an optimiser or a deep copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from retainlint.autograd.graph import Node, walk
from retainlint.startup.records import replace
from retainlint.symbolic.state import events
from retainlint.symbolic.state.graphs import OPAQUE_CALL, PROJECTION, Graphs
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.reachability import each_once
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import CONVENTIONAL, PROVEN, Ref, TensorObj, UnknownObj, Value


def given(state: State, value: Value) -> Iterator[Ref]:
    """The tensors, and what may be one, in a list, a tuple or a dict."""
    for each in each_once([value], state.parts):
        if isinstance(each, Ref) and isinstance(state.get(each), TensorObj | UnknownObj):
            yield each


def is_computed(machine: Machine, state: State, value: Value) -> bool:
    """Whether something surely is a tensor with a graph that is no leaf."""
    held = state.get(value)
    known = isinstance(held, TensorObj) and not held.unsure and held.edge is not None and not held.edge.node.is_leaf
    return known and machine.graphs.exists(machine.graphs.edge(state, value)) == PROVEN


def may_be_computed(machine: Machine, state: State, value: Value) -> bool:
    """Whether something is a tensor that has a graph as far as is known, and not for sure."""
    held = state.get(value)
    if not isinstance(held, TensorObj | UnknownObj) or held.edge is None or held.edge.node.is_leaf:
        return False
    level, unseen = machine.graphs.exists(held.edge), held.edge.node.op in (OPAQUE_CALL, PROJECTION)
    if isinstance(held, UnknownObj) and unseen:  # which may be no tensor
        return level == CONVENTIONAL
    return level != PROVEN and not (isinstance(held, TensorObj) and held.unsure)


def tell(machine: Machine, state: State, value: Value) -> None:
    """What may have been computed was not: nor was then all that would have given it its graph, nor what has none but
    by that. A gradient is sent to none of them."""
    held = state.get(value)
    assert isinstance(held, TensorObj | UnknownObj)
    if held.edge is None:
        return
    machine.events.emit(events.Escaped((held.edge,)))  # nothing of it is kept for nothing
    gone = _giving(machine.graphs, held.edge.node)
    having = {
        Ref(number): each.edge
        for number, each in state.heap.items()
        if isinstance(each, TensorObj | UnknownObj) and each.edge is not None
    }
    for node in sorted(machine.graphs.reach(having.values()), key=lambda node: node.order):
        below = node.below
        if below and node.op != OPAQUE_CALL and all(each in gone for each in below):
            gone.add(node)
    for ref, edge in having.items():
        each = state.heap[ref.id]
        if edge.node not in gone:
            continue
        if isinstance(each, UnknownObj):
            state.set(ref, replace(each, edge=None, called=False, plain=True))
        elif isinstance(each, TensorObj):
            state.set(ref, replace(each, edge=None))


def _giving(graphs: Graphs, root: Node) -> set[Node]:
    """A node, and those that would give it a graph; what a call that nobody sees was given may have one that ends there."""

    def given(node: Node) -> Iterable[Node]:
        birth = graphs.births[node]
        ends = node.is_leaf or (node.op in (OPAQUE_CALL, PROJECTION) and birth.operation != "slice")
        return () if ends or birth.doubt != PROVEN else node.below

    return {node for node in walk([root], given) if not node.is_leaf}
