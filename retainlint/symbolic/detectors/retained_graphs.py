"""Walks that retain their graph: for nothing, or over a graph that grows with each turn; and those that make a cycle."""

from __future__ import annotations

from retainlint.autograd.graph import Node
from retainlint.incident import Cycle, Growing, Iteration, Retained
from retainlint.symbolic.detectors.claims import Claims, assumptions, conditions, is_foreign, later_iteration
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.events import Flags
from retainlint.symbolic.state.graphs import Graphs
from retainlint.symbolic.state.state import BackwardRecord, State
from retainlint.symbolic.state.values import CONVENTIONAL
from retainlint.text.source import Span


def backpropagated(claims: Claims, state: State, record: BackwardRecord, flags: Flags, *, failed: bool) -> None:
    """A walk ran on a path."""
    place = record.backward_pass.moment.span
    claims.backward_passes.append((claims.tick(), record))
    claims.graphs.effort.add(3 * len(state.retained))
    for earlier in state.retained:
        kept = earlier.backward_pass.moment.span
        if (Retained, kept) not in claims.denied and _meets(claims.graphs, earlier, record):
            claims.deny(Retained, kept)
    if flags.creates and record.accumulate and record.targets is None:
        _cycle(claims, state, record)
    elif flags.retain is not None and not flags.creates:
        _growth(claims, state, record, failed)
        _retained(claims, state, record, flags.retain)
        state.retained += (record,)
        if len(state.retained) > limits.RETAINED_GRAPHS:
            claims.deny(Retained, state.retained[0].backward_pass.moment.span)
            state.retained = state.retained[1:]
    elif flags.creates:
        claims.deny(Retained, place)


def _meets(graphs: Graphs, earlier: BackwardRecord, later: BackwardRecord) -> bool:
    """Whether both pass through a node that saved something, which only a retained graph allows."""
    graphs.effort.add(len(later.reach) // 4)
    common = (node for node in later.reach if node.saved and node in earlier.reach)
    return any(graphs.births[node].operation != "data" for node in common)


def _retained(claims: Claims, state: State, record: BackwardRecord, value: Span) -> None:
    graphs = claims.graphs
    saved = [node for node in record.reach if node.saved]
    sure = [node for node in saved if record.reach[node] <= CONVENTIONAL]
    if any(is_foreign(graphs, node) for node in saved):
        claims.deny(Retained, record.backward_pass.moment.span)
    if not sure:
        return
    incident = Retained(
        record.backward_pass, value, conditions=conditions(state), assumptions=assumptions(graphs, sure)
    )
    claims.claim(incident, held=sure)


def _growth(claims: Claims, state: State, record: BackwardRecord, failed: bool) -> None:
    """A retained walk in a later turn: does it pass through the graphs of all turns before?"""
    place, now = record.backward_pass.moment.span, record.backward_pass.moment.iterations
    if failed:
        claims.deny(Growing, place)
        return
    for earlier in reversed(state.retained):
        if earlier.backward_pass.moment.span != place:
            continue
        iteration = later_iteration(earlier.backward_pass.moment.iterations, now)
        if iteration is None:
            continue
        built = _grown(claims.graphs, earlier, record, iteration)
        if built is None:
            claims.deny(Growing, place)
            return
        birth = claims.graphs.births[built]
        incident = Growing(
            record.backward_pass, earlier.backward_pass, birth.moment, iteration.loop,
            conditions=conditions(state), assumptions=assumptions(claims.graphs, (built,)),
        )  # fmt: skip
        claims.claim(incident, settled=True)
        return


def _grown(graphs: Graphs, earlier: BackwardRecord, later: BackwardRecord, iteration: Iteration) -> Node | None:
    """A node of an earlier turn that both walks pass, while the later one passes its like of this turn as well."""
    places: dict[Span, Node] = {}
    fresh: set[Span] = set()
    for node, level in later.reach.items():
        if level > CONVENTIONAL or node.is_leaf or not node.saved:
            continue
        moment = graphs.births[node].moment
        if iteration in moment.iterations:
            fresh.add(moment.span)
        elif node in earlier.reach and any(t.loop == iteration.loop for t in moment.iterations):
            places.setdefault(moment.span, node)
    return next((node for span, node in places.items() if span in fresh), None)


def _cycle(claims: Claims, state: State, record: BackwardRecord) -> None:
    """`backward(create_graph=True)`: nobody may set the gradients to None later, nor get at the parameters."""
    turned = any(iteration.number > 1 and not iteration.is_call for iteration in record.backward_pass.moment.iterations)
    if claims.in_module or turned:
        leaves = [node for node, level in record.reach.items() if node.is_leaf and level <= CONVENTIONAL]
        if leaves or turned:
            assumed = assumptions(claims.graphs, record.reach)
            claims.claim(Cycle(record.backward_pass, conditions=conditions(state), assumptions=assumed))
