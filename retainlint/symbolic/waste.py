"""What one exploration kept or built for nothing: claims, made on some path, that hold if nothing on any path denies them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from retainlint import ir
from retainlint.autograd.graph import Edge, Node
from retainlint.incident import (
    Condition,
    Cycle,
    Kept,
    NeverWalked,
    NeverZeroed,
    Turn,
    Waste,
)
from retainlint.records import record
from retainlint.source import Span
from retainlint.symbolic import doubts, reach
from retainlint.symbolic.graphs import UNSEEN, Graphs
from retainlint.symbolic.state import Flow, State, WalkRecord
from retainlint.symbolic.untaken import WALKS, Arms, count, walkers
from retainlint.symbolic.uses import Uses
from retainlint.symbolic.values import CONVENTIONAL, GUESS, DictObj, ListObj, Ref, Tuple, Value

Ways = list[tuple[State, Value]]


@record(eq=False)
class Claim:
    """An incident that holds unless a walk after `at` reaches one of `nodes`.

    If it is not `settled`, nothing may have been left unseen in its entry, and none of the nodes in `held` may be where
    somebody out of sight might walk it.
    """

    incident: Waste
    nodes: frozenset[Node]
    held: frozenset[Node]
    at: int
    entry: int
    settled: bool = False
    container: int | None = None  # the list that holds it, which must not shrink


class Account:
    """The claims of one exploration, and what denies them. All paths share it; time is counted in events.

    A path's events come in its own order. Where two paths mix, a walk of the one may deny the claim of the other:
    that costs a finding, never makes a false one.
    """

    def __init__(self, graphs: Graphs) -> None:
        self.graphs = graphs
        self.uses = Uses()
        self.arms = Arms()
        self.clock = 0
        self.entry = 0
        self.in_module = True
        self.claims: list[Claim] = []
        self.denied: set[tuple[type, Span]] = set()
        self.spoilt: set[int] = set()
        self.dropped: set[int] = set()  # entries of whose conditions some answers were not followed
        self.thinned: set[int] = set()  # entries of whose paths some were not followed
        self.returned: set[int] = set()  # entries whose result has a graph
        self.unseen: dict[int, set[str]] = {}  # by entry, functions of the program that were not followed
        self.walks: list[tuple[int, WalkRecord]] = []
        self.given_away: dict[Node, None] = {}
        self.opened: set[Node] = set()
        self.shrunk: set[int] = set()
        self.stored: dict[tuple[int | None, Span], list[tuple[tuple[Turn, ...], Node, int]]] = {}
        self.joined: dict[Span, set[int]] = {}  # the lists that a `+` made, by its place
        self.called: dict[Span, list[tuple[tuple[Turn, ...], frozenset[Node]]]] = {}
        self.cleared: dict[int, int] = {}  # by entry, when gradients were last set to None
        self.opaque: dict[int, int] = {}  # by entry, when something unseen was last called

    # -- what happens ---------------------------------------------------------------------------------------------

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def begin(self) -> None:
        """A new entry."""
        self.entry += 1
        self.in_module = False

    def spoil(self) -> None:
        """This entry was not followed to its end, or something in it was not followed."""
        self.spoilt.add(self.entry)

    def thin(self, whole: bool) -> None:
        """Paths of this entry were given up; unless the others are the `whole`, with them an answer to some condition:
        it may have led to a walk."""
        self.thinned.add(self.entry)
        if not whole:
            self.dropped.add(self.entry)

    def leave_unseen(self, name: str, edges: Iterable[Edge]) -> None:
        """A function of the program, of this name, was not followed; these graphs are in its hands."""
        self.unseen.setdefault(self.entry, set()).add(name)
        self.give(edges)

    def give(self, edges: Iterable[Edge]) -> None:
        """Graphs were handed to somebody whom we can't see."""
        self.given_away.update((edge.node, None) for edge in edges)

    def call_unseen(self) -> None:
        """Something that we can't see ran: it may have zeroed or set gradients."""
        self.opaque[self.entry] = self.tick()

    def clear(self) -> None:
        """Some gradients were set to None."""
        self.cleared[self.entry] = self.tick()

    def claim(
        self,
        incident: Waste,
        nodes: Iterable[Node] = (),
        held: Iterable[Node] = (),
        *,
        settled: bool = False,
        since: int | None = None,
        container: int | None = None,
    ) -> None:
        at = self.clock if since is None else since
        self.claims.append(Claim(incident, frozenset(nodes), frozenset(held), at, self.entry, settled, container))

    def deny(self, kind: type, place: Span) -> None:
        """On this path, what others claim at `place` doesn't hold."""
        self.denied.add((kind, place))

    def leave(self, ways: Ways, *holders: Value) -> None:
        """An entry has ended: what its result, its object and the module hold, others may walk."""
        if any(claim.entry == self.entry and not claim.settled for claim in self.claims):
            for state, value in ways:
                flow, state.flow = state.flow, Flow("return", Tuple((value, *holders)))
                self.given_away.update(dict.fromkeys(reach.nodes(state)))
                state.flow = flow
                if roots_of(state, value):
                    self.returned.add(self.entry)

    # -- what came of it ------------------------------------------------------------------------------------------

    def incidents(self, program: ir.Program, reaches: Callable[[str], bool] | None) -> list[Waste]:
        """The incidents whose place nothing denies; not in other modules, since who else uses these isn't known.

        `reaches` says whether a walk may be reached from a function of some name; None where there are no other modules.
        """
        if not self.claims:
            return []
        waiting = {claim.entry for claim in self.claims if not claim.settled} - self.spoilt
        leads = reaches or walkers(program).__contains__
        self.spoilt |= {entry for entry in waiting if any(map(leads, self.unseen.get(entry, ())))}
        # what a path that was given up would have returned, nobody has shown
        self.spoilt |= self.thinned & self.returned
        if self.dropped and not self._is_sole(program):
            self.spoilt |= self.dropped
        walked: dict[Node, int] = {}
        for at, walk in self.walks:
            walked.update(dict.fromkeys(walk.reach, at))
        away = self.graphs.reach([Edge(node) for node in (*self.given_away, *self.opened)])
        untaken = self.arms.untaken()
        hides_walk = not untaken.isdisjoint(walkers(program) if untaken else WALKS)
        kept = any(isinstance(claim.incident, Kept) for claim in self.claims)
        used = doubts.used(self.graphs, walked, self.stored) if kept else doubts.Used()
        holding: list[Waste] = []
        for claim in self.claims:
            place = type(claim.incident), claim.incident.primary
            if self._is_refuted(claim, walked) or doubts.is_used(claim.incident, used):
                self.denied.add(place)
            elif not self._is_doubtful(claim, away) and not doubts.may_happen(
                claim.incident, claim.settled, untaken, hides_walk
            ):
                holding.append(claim.incident)
            elif not isinstance(claim.incident, Kept):
                self.denied.add(place)
        found = [i for i in holding if (type(i), i.primary) not in self.denied and i.primary.source is program.source]
        first: dict[Span, int] = {}
        for incident in found:
            if isinstance(incident, NeverWalked):
                first.setdefault(incident.loop, incident.primary.start)
        return [i for i in found if not isinstance(i, NeverWalked) or i.primary.start == first[i.loop]]

    def _is_sole(self, program: ir.Program) -> bool:
        """Whether one walk is all that there is: what a path that was given up would have walked, others have shown."""
        return count(program) == 1 and len({walk.walk.moment.span for _, walk in self.walks}) == 1

    def _is_refuted(self, claim: Claim, walked: dict[Node, int]) -> bool:
        """Whether it was needed, or is let go."""
        if claim.container in self.shrunk or any(walked.get(node, 0) > claim.at for node in claim.nodes):
            return True
        if isinstance(claim.incident, Cycle | NeverZeroed):
            return max(self.opaque.get(claim.entry, 0), self.cleared.get(claim.entry, 0)) > claim.at
        return False

    def _is_doubtful(self, claim: Claim, away: dict[Node, int]) -> bool:
        """Whether somebody out of sight may need it."""
        return not claim.settled and (claim.entry in self.spoilt or not claim.held.isdisjoint(away))


# -- what several kinds of claims ask ---------------------------------------------------------------------------------


def conditions(state: State) -> tuple[Condition, ...]:
    return tuple(choice.condition for choice in state.choices)


def assumptions(graphs: Graphs, nodes: Iterable[Node]) -> tuple[str, ...]:
    """What a claim over these nodes takes for granted, in words."""
    return tuple(dict.fromkeys(text for node in nodes if (text := graphs.births[node].assumed)))[:3]


def is_foreign(graphs: Graphs, node: Node) -> bool:
    """Whether a node stands for a graph that others may hold too: what came in from outside and is not plain data."""
    birth = graphs.births[node]
    return node.op == UNSEEN and birth.exists == GUESS and birth.operation != "data"


def later_turn(before: tuple[Turn, ...], now: tuple[Turn, ...]) -> Turn | None:
    """The turn of `now` in which it is further than `before`, if both are in the same loops and it is a real loop
    of many turns."""
    if len(before) != len(now):
        return None
    for old, new in zip(before, now, strict=True):
        if old.loop != new.loop:
            return None
        if old.number != new.number:
            return new if new.number > old.number and not new.is_call and not new.few else None
    return None


def in_forward(state: State) -> bool:
    """Whether a module computes its result: what is collected there lives as long as that result."""
    return any(state.frames[id].code.name in ("forward", "__call__") for id in state.stack)


def saving(graphs: Graphs, roots: Iterable[Edge], level: int = CONVENTIONAL) -> list[Node]:
    """The nodes below some roots that exist and save, at most so unsure."""
    return [
        node
        for node, way in graphs.reach(roots).items()
        if node.saved and max(way, graphs.births[node].exists, *graphs.births[node].slots[:1]) <= level
    ]


def roots_of(state: State, value: Value, depth: int = 1) -> list[Edge]:
    """The graphs of a tensor, or of the tensors in a tuple; with more `depth`, of those in lists and dicts too."""
    held = state.get(value) if isinstance(value, Ref) else None
    edge = getattr(held, "edge", None)
    if isinstance(edge, Edge):
        return [edge]
    if not depth:
        return []
    if isinstance(value, Tuple):
        parts = value.items
    elif depth > 1 and isinstance(held, ListObj):
        parts = held.items
    elif depth > 1 and isinstance(held, DictObj):
        parts = tuple(held.items.values())
    else:
        return []
    return [each for part in parts for each in roots_of(state, part, depth - 1)]
