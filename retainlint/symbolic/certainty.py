"""How sure two walks make it of each other's ways: what each needs to have a graph leads on to what they share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from retainlint.autograd.graph import Edge, Node
from retainlint.records import record
from retainlint.symbolic import proof
from retainlint.symbolic.graphs import PART, UNSEEN, Birth, Graphs, whole
from retainlint.symbolic.values import CONVENTIONAL, GUESS, PROVEN, Value

_MOST = 20
"""Of so many walks it is asked what they prove."""


@record
class Sight:
    """How sure we are of a node, knowing what walks prove: that it exists, that a gradient passes each edge, that it
    saved something."""

    exists: int
    passes: tuple[int, ...]
    saves: int


class Certainty:
    """What walks that ran prove: the nodes that their roots need have graphs, and so has what was taken under the same
    name out of the same network, or what the same method returned."""

    def __init__(self, graphs: Graphs, walks: Sequence[Iterable[Edge]]) -> None:
        self.graphs = graphs
        roots = dict.fromkeys(root for walk in walks[-_MOST:] for root in walk)
        self.known = {node for root in roots for node in proof.needed(graphs, root)}
        self.portions = {portion for node in self.known if (portion := self._portion(node)) is not None}
        self.callees = {callee for node in self.known if (callee := graphs.returned.callees.get(node)) is not None}

    def levels(self, first: Sequence[Edge], second: Sequence[Edge]) -> dict[Node, int]:
        """How sure it is of each node that walks from both roots come there, and that it exists and has saved something."""
        both = [self.graphs.reach(roots) for roots in (first, second)]
        sights = self._sights({**both[0], **both[1]})
        doubtful = _unequal(self.graphs, both[0], both[1], sights)
        mine, theirs = (self._reached(roots, sights, doubtful) for roots in (first, second))
        shared = ((node, max(level, theirs[node])) for node, level in mine.items() if node in theirs)
        return {node: max(level, sights[node].exists, sights[node].saves) for node, level in shared}

    def reached(self, roots: Sequence[Edge]) -> dict[Node, int]:
        """How sure it is of each node that a walk from some roots comes there, and that it exists."""
        sights = self._sights(self.graphs.reach(roots))
        found = self._reached(roots, sights, set())
        return {node: max(level, sights[node].exists) for node, level in found.items()}

    def _portion(self, node: Node) -> tuple[Value, str] | None:
        """What was called, and under which name this part was taken out of what it returned."""
        if node.op != PART or node not in self.graphs.returned.portions or node.next[0] is None:
            return None
        callee = self.graphs.returned.callees.get(node.next[0].node)
        return None if callee is None else (callee, self.graphs.returned.portions[node])

    def _sights(self, nodes: Iterable[Node]) -> dict[Node, Sight]:
        """Those of some nodes; what a node leads to is among them."""
        found: dict[Node, Sight] = {}
        for node in sorted(nodes, key=lambda node: (not node.is_leaf, node.order)):
            birth = self.graphs.births[node]
            below = [GUESS if edge is None else found[edge.node].exists for edge in node.next]
            exists = birth.exists if birth.exists < GUESS else self._exists(node, birth, below)
            passes = _passes(node, birth, exists, below)
            if (
                birth.operation == "select"
                and node.next[0] is not None
                and node.next[0].node in self.graphs.returned.apart
            ):
                passes = (GUESS,) * len(passes)  # of a tuple, the rest need not have the graph of the first
            found[node] = Sight(exists, passes, _saves(node, birth, exists, below))
        return found

    def _exists(self, node: Node, birth: Birth, below: Sequence[int]) -> int:
        if node in self.known or self._portion(node) in self.portions:
            return CONVENTIONAL
        if node.op in (UNSEEN, PART):
            return CONVENTIONAL if self.graphs.returned.callees.get(node) in self.callees else GUESS
        return max(_passing(birth), min(below, default=GUESS))

    def _reached(self, roots: Iterable[Edge], sights: dict[Node, Sight], doubtful: set[Node]) -> dict[Node, int]:
        """Every node that the roots lead to, with the least level of a way there; none leads from a part to what is
        doubtful, and what the roots need is surely reached."""
        waiting: dict[int, list[Node]] = {PROVEN: [], CONVENTIONAL: [], GUESS: []}
        for root in roots:
            waiting[sights[root.node].exists].append(root.node)
            waiting[CONVENTIONAL] += (node for node in proof.needed(self.graphs, root) if node not in doubtful)
        found: dict[Node, int] = {}
        for level in waiting:
            while waiting[level]:
                node = waiting[level].pop()
                if node in found:
                    continue
                found[node] = level
                for edge, passes in zip(node.next, sights[node].passes, strict=True):
                    if edge is not None and edge.node not in found:
                        unsure = node.op == PART and whole(node) in doubtful
                        waiting[GUESS if unsure else max(level, passes)].append(edge.node)
        return found


def _passing(birth: Birth) -> int:
    """How sure it is that an operation passes a gradient on: what may do nothing does."""
    return PROVEN if birth.doubt == GUESS else birth.doubt


def _passes(node: Node, birth: Birth, exists: int, below: Sequence[int]) -> tuple[int, ...]:
    """How sure it is that a gradient passes each edge of a node; what else an unseen call does nobody knows."""
    own = birth.exists if node.op == UNSEEN else exists if node.op == PART else _passing(birth)
    pairs = zip(birth.passes, below, strict=True)
    return tuple(level if level < GUESS else max(own, lower) for level, lower in pairs)


def _saves(node: Node, birth: Birth, exists: int, below: Sequence[int]) -> int:
    """How sure it is that a node has saved something."""
    least = min(birth.slots, default=PROVEN)
    if least < GUESS:
        return least
    if node.op == UNSEEN:
        return exists if birth.from_call else GUESS
    return max(birth.doubt, *below)


def _unequal(graphs: Graphs, one: Iterable[Node], other: Iterable[Node], sights: dict[Node, Sight]) -> set[Node]:
    """What two walks come to by other parts of it: each part may have a graph of its own, as in a list of losses."""
    mine, theirs = (_parts(graphs, nodes) for nodes in (one, other))
    found: set[Node] = set()
    for each in mine.keys() & theirs.keys():
        both = mine[each] & theirs[each]
        if both not in (mine[each], theirs[each]) and all(sights[part].exists == GUESS for part in both):
            found.add(each)
    return found


def _parts(graphs: Graphs, nodes: Iterable[Node]) -> dict[Node, set[Node]]:
    """Of what some nodes lead to in parts: the parts, and not the parts of which these are parts. A slice of a tensor is
    all of it that counts."""
    parts = {node for node in nodes if node.op == PART and not _is_slice(graphs, node)}
    inner = {edge.node for part in parts for edge in part.next if edge is not None}
    found: dict[Node, set[Node]] = {}
    for part in parts - inner:
        found.setdefault(whole(part), set()).add(part)
    return found


def _is_slice(graphs: Graphs, part: Node) -> bool:
    sliced = part.next[0].node if part.next[0] is not None else None
    return graphs.births[part].operation == "slice" and sliced not in graphs.returned.apart
