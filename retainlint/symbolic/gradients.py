"""What a walk computes, as far as the machine cares: gradients that are there, and where their own graphs lead."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.autograd.saves import rows
from retainlint.records import record
from retainlint.source import Span
from retainlint.symbolic.graphs import Birth, Graphs
from retainlint.symbolic.state import State
from retainlint.symbolic.values import CONVENTIONAL, PROVEN


@record
class Mark:
    """A symbolic gradient: it is there, and with create_graph it has a graph of its own, if it is a function of what
    requires grad; `hidden`: it may have one that we can't see."""

    edge: Edge | None = None
    hidden: bool = False


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
            made = self._combine(tuple(dict.fromkeys(edges)), f"{node.op}Backward", saves=bool(node.saved))
            marks.append(Mark(made, hidden))
        return marks

    def add(self, left: Mark, right: Mark) -> Mark:
        edges = tuple(mark.edge for mark in (left, right) if mark.edge is not None)
        hidden = left.hidden or right.hidden
        if len(edges) < 2:
            return Mark(edges[0] if edges else None, hidden)
        return Mark(self._combine(edges, "AddBackward0", saves=False), hidden)

    def _combine(self, edges: tuple[Edge, ...], op: str, *, saves: bool = True) -> Edge | None:
        if not edges:
            return None
        saved = (SavedTensor("self"),) if saves else ()
        node = Node(op, saved, edges, self.state.ledger.next_order())
        passes = tuple(self.graphs.exists(edge) for edge in edges)
        moment = self.state.moment(self.span)
        slots = (max(CONVENTIONAL, min(passes)),) * len(saved)
        self.graphs.births[node] = Birth(moment, min(passes), passes, slots, operation="double")
        return Edge(node)

    def accumulate(self, variable: Hashable, grad: Mark) -> None:
        """The engine's ledger remembers that the leaf has a gradient now."""


def _serving(node: Node, birth: Birth, place: int) -> list[SavedTensor]:
    """What the gradient that `node` sends along its edge number `place` is a function of."""
    if birth.serves is None:
        return list(node.saved)
    pairs = zip(node.saved, birth.serves, strict=True)
    return [saved for saved, served in pairs if served is None or place in served]


def _within(node: Node, saved: SavedTensor) -> Edge | None:
    """The graph of a saved tensor."""
    return Edge(node) if saved.is_result else saved.edge
