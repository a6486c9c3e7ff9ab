"""What speaks against a claim of waste: that the place serves to train, or that an arm nobody took may need the graph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from retainlint.autograd.graph import Node
from retainlint.incident import Cycle, Kept, NeverZeroed, Retained, ThrownAway, Turn, Walk, Waste
from retainlint.records import record
from retainlint.source import Span
from retainlint.symbolic.graphs import Graphs

OWNERS = frozenset(("self", "cls", "torch", "nn", "F", "np"))
"""Names that say nothing of the graph of what is written behind their dot."""
_HOLDING = re.compile(r"[^\W\d]\w*(?![\w\s]*\()")
"""The names in a text that aren't called."""
Stored = Mapping[tuple[int | None, Span], Sequence[tuple[tuple[Turn, ...], Node, int]]]


@record
class Used:
    """The places at which something was built, or put, that is walked; and the calls in which it was built."""

    places: frozenset[Span] = frozenset()
    calls: frozenset[tuple[Span, ...]] = frozenset()


def used(graphs: Graphs, walked: Mapping[Node, int], stored: Stored) -> Used:
    """Where somebody walks what is built, or was put into a container; `walked` says when a node was last walked."""
    put = (span for (_, span), items in stored.items() if any(walked.get(node, 0) > at for _, node, at in items))
    built = [graphs.births[node].moment for node in walked if not node.is_leaf]
    return Used(frozenset(chain(put, (each.span for each in built))), frozenset(each.frames for each in built))


def is_used(incident: Waste, used: Used) -> bool:
    """Whether a graph that is kept for nothing in one call is walked in another: then the function is there to train."""
    if not isinstance(incident, Kept) or not incident.alive:
        return False
    frames = incident.kept.frames
    names = {_callee(each) for each in used.calls} - {""}
    return incident.kept.span in used.places or (frames not in used.calls and _callee(frames) in names)


def _callee(frames: tuple[Span, ...]) -> str:
    """How the innermost of some calls names the function."""
    return frames[-1].text.partition("(")[0].rpartition(".")[2].strip() if frames else ""


def may_happen(incident: Waste, settled: bool, untaken: frozenset[str], hides_walk: bool) -> bool:
    """Whether an arm that no path took may use what a claim says that nobody uses."""
    match incident:
        case NeverZeroed() | ThrownAway() | Cycle():
            return hides_walk or not untaken.isdisjoint(("zero_grad", "grad"))
        case Kept(holder=text, alive=True) | Kept(holder=text, stored=True) | Retained(walk=Walk(root=text)):
            return hides_walk or not (untaken - OWNERS).isdisjoint(_HOLDING.findall(text))
    return hides_walk and not settled
