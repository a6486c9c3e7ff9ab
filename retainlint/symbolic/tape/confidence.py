"""How sure a backward pass that ran makes it that there is a graph: what had to be there for it to run, and what two of them share."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence

from retainlint.autograd.graph import Edge, Node, walk
from retainlint.autograd.operations import rows
from retainlint.startup.records import record
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.graphs import OPAQUE_CALL, PROJECTION, Birth, Graphs, whole
from retainlint.symbolic.state.values import CONVENTIONAL, GUESS, PROVEN, Value

_CLASSES = ("nll_loss", "bce_loss", "bce_logits_loss")
"""Losses that are given classes beside a prediction."""

_DATA_BEHIND = ("div", *_CLASSES)
"""Operations whose second operand, if nobody computed it, has no graph by convention."""


def certain(graphs: Graphs, roots: Iterable[Edge]) -> frozenset[Node]:
    """The nodes that some roots surely lead to if these require grad."""

    def leads(node: Node) -> list[Node]:
        is_seen = node.op not in (OPAQUE_CALL, PROJECTION) or graphs.births[node].operation == "slice"
        return node.below if is_seen else []

    return frozenset(walk((root.node for root in roots), leads))


def needed(graphs: Graphs, root: Edge) -> tuple[Node, ...]:
    """The nodes that have a graph if a root has one, from the root down: those that lie on every way by which it can have
    its graph. A number that nobody knows, by which something is divided, has none by convention, nor have the classes of a
    loss, nor data beside what was computed."""
    if (found := graphs.returned.needs.get(root.node)) is None:
        found = graphs.returned.needs[root.node] = tuple(_on_every_way(graphs, root.node))
    return found


def _on_every_way(graphs: Graphs, root: Node) -> Iterator[Node]:
    """The nodes on every way from a root to an end, from the root down; of the ends only what is surely no leaf."""
    below: dict[Node, Node | None] = {}
    depth: dict[Node, int] = {}
    ways: dict[Node, list[Node]] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node not in ways:
            ways[node] = [] if _is_end(graphs, node) else _giving(graphs, node)
            stack += (each for each in ways[node] if each not in ways)
            continue
        stack.pop()
        if node not in below:
            below[node] = _meeting(ways[node], below, depth)
            depth[node] = 1 + (0 if (next_ := below[node]) is None else depth[next_])
    at: Node | None = root
    while at is not None and (at is root or at.op != OPAQUE_CALL or at.next):
        yield at
        at = below[at]


def _meeting(ways: Sequence[Node], below: dict[Node, Node | None], depth: dict[Node, int]) -> Node | None:
    """The first node at which some ways meet, given the next of each node's own."""
    meeting: Node | None = ways[0] if ways else None
    for other in ways[1:]:
        each: Node | None = other
        while meeting is not None and each is not None and meeting is not each:
            if depth[meeting] >= depth[each]:
                meeting = below[meeting]
            else:
                each = below[each]
        meeting = None if each is None else meeting
    return meeting


def implied(graphs: Graphs, root: Edge, among: Collection[Node] | None = None) -> frozenset[Node]:
    """The operations, `among` those given, by which alone a root can have its graph, if all of them then have saved
    something; else none. What is added to them and was not computed has none by convention: a total begins as a number."""
    stack, seen, savers = [root.node], set[Node](), set[Node]()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if (among is None or node in among) and _saves(graphs, node):
            savers.add(node)
        elif node.is_leaf or node.op == OPAQUE_CALL:
            return frozenset()
        else:
            stack.extend(_giving(graphs, node))
    return frozenset(savers)


def is_behind_weights(graphs: Graphs, root: Edge, moved: Collection[Hashable]) -> bool:
    """Whether a root can have its graph only by networks that nobody sees, whose weights, all of them `moved`, were saved.
    What such a network is given, and nobody computed, is data."""
    stack, seen, ends, loose = [root.node], set[Node](), set[Node](), set[Node]()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.is_leaf:
            if node.variable not in moved:
                return False
        elif _saves_weights(graphs, node, moved):
            ends.add(node)
        elif not node.next:
            loose.add(node)
        else:
            stack.extend(_giving(graphs, node))
    given = {below for end in ends for below in end.below}
    return bool(ends) and all(graphs.births[node].operation == "data" or node in given for node in loose)


def _saves_weights(graphs: Graphs, node: Node, moved: Collection[Hashable]) -> bool:
    """Whether a call of a network that nobody sees has saved its weights by convention."""
    slots = zip(node.saved, graphs.births[node].slots, strict=True)
    return node.op == OPAQUE_CALL and any(level <= CONVENTIONAL and saved.storage in moved for saved, level in slots)


def _giving(graphs: Graphs, node: Node) -> list[Node]:
    """What a node may have its graph from. Beside what a network or a leaf gives its graph, what nobody computed has none
    by convention: an option, a target, data."""
    operation, below = graphs.births[node].operation, list(dict.fromkeys(node.below))
    if len(below) == 2 and operation in _DATA_BEHIND:
        is_classes = operation in _CLASSES and _is_loose(graphs, below[1]) and _is_rooted(graphs, below[0])
        return below[:1] if is_classes or _is_bare(graphs, below[1]) else below
    if node.op == PROJECTION or _is_end(graphs, node) or len(below) < 2 - (operation == "add"):
        return below
    computed = [each for each in below if not _is_bare(graphs, each)]
    dropped = operation == "add" or (len(computed) < len(below) and any(_is_rooted(graphs, each) for each in computed))
    return computed if dropped else below


def _is_end(graphs: Graphs, node: Node) -> bool:
    """Whether a node may have its graph from what nobody sees."""
    return node.op == OPAQUE_CALL and (node not in graphs.returned.criteria or not node.next)


def _is_rooted(graphs: Graphs, node: Node) -> bool:
    """Whether a node leads to a leaf, or to a call that builds a graph by convention."""
    rooted = graphs.returned.rooted
    for each in walk((node,)):
        if each in rooted or each.is_leaf or (each.op == OPAQUE_CALL and graphs.births[each].exists < GUESS):
            rooted.add(node)
            return True
    return False


def _is_bare(graphs: Graphs, node: Node) -> bool:
    """Whether a node stands for the graph that something might have which nobody computed."""
    node = whole(node)
    return node.op == OPAQUE_CALL and not node.next and not graphs.births[node].from_call


def _is_loose(graphs: Graphs, node: Node) -> bool:
    """Whether a node stands for what a call may have returned that nobody saw, and that was given no graph."""
    node = whole(node)
    return node.op == OPAQUE_CALL and not node.next and graphs.births[node].exists == GUESS


def _saves(graphs: Graphs, node: Node) -> bool:
    """Whether a node that exists has saved something, whichever of its inputs needs a gradient."""
    birth = graphs.births[node]
    if node.op == OPAQUE_CALL:
        return birth.from_call
    row = rows().get(birth.operation)
    if row is None or birth.doubt == GUESS or any(name.endswith("*") for name in row.inputs):
        return False
    if len(set(node.below)) == 1 and node.saved:
        return True
    one = range(len(row.inputs))
    return bool(one) and all(row.saved([i == need for i in one]) for need in one)


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

    def __init__(self, graphs: Graphs, backward_passes: Sequence[Iterable[Edge]]) -> None:
        self.graphs = graphs
        roots = dict.fromkeys(
            root for backward_pass in backward_passes[-limits.BACKWARD_PASSES_AS_PROOF :] for root in backward_pass
        )
        self.known = {node for root in roots for node in needed(graphs, root)}
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
        if node.op != PROJECTION or node not in self.graphs.returned.portions or node.next[0] is None:
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
            found[node] = Sight(exists, passes, _saving_level(node, birth, exists, below))
        return found

    def _exists(self, node: Node, birth: Birth, below: Sequence[int]) -> int:
        if node in self.known or self._portion(node) in self.portions:
            return CONVENTIONAL
        if node.op in (OPAQUE_CALL, PROJECTION):
            return CONVENTIONAL if self.graphs.returned.callees.get(node) in self.callees else GUESS
        return max(_passing(birth), min(below, default=GUESS))

    def _reached(self, roots: Iterable[Edge], sights: dict[Node, Sight], doubtful: set[Node]) -> dict[Node, int]:
        """Every node that the roots lead to, with the least level of a way there; none leads from a part to what is
        doubtful, and what the roots need is surely reached."""
        waiting: dict[int, list[Node]] = {PROVEN: [], CONVENTIONAL: [], GUESS: []}
        for root in roots:
            waiting[sights[root.node].exists].append(root.node)
            waiting[CONVENTIONAL] += (node for node in needed(self.graphs, root) if node not in doubtful)
        found: dict[Node, int] = {}
        for level in waiting:
            while waiting[level]:
                node = waiting[level].pop()
                if node in found:
                    continue
                found[node] = level
                for edge, passes in zip(node.next, sights[node].passes, strict=True):
                    if edge is not None and edge.node not in found:
                        unsure = node.op == PROJECTION and whole(node) in doubtful
                        waiting[GUESS if unsure else max(level, passes)].append(edge.node)
        return found


def _passing(birth: Birth) -> int:
    """How sure it is that an operation passes a gradient on: what may do nothing does."""
    return PROVEN if birth.doubt == GUESS else birth.doubt


def _passes(node: Node, birth: Birth, exists: int, below: Sequence[int]) -> tuple[int, ...]:
    """How sure it is that a gradient passes each edge of a node; what else an unseen call does nobody knows."""
    own = birth.exists if node.op == OPAQUE_CALL else exists if node.op == PROJECTION else _passing(birth)
    pairs = zip(birth.passes, below, strict=True)
    return tuple(level if level < GUESS else max(own, lower) for level, lower in pairs)


def _saving_level(node: Node, birth: Birth, exists: int, below: Sequence[int]) -> int:
    """How sure it is that a node has saved something."""
    least = min(birth.slots, default=PROVEN)
    if least < GUESS:
        return least
    if node.op == OPAQUE_CALL:
        return exists if birth.from_call else GUESS
    return max(birth.doubt, *below)


def _unequal(graphs: Graphs, one: Iterable[Node], other: Iterable[Node], sights: dict[Node, Sight]) -> set[Node]:
    """What two walks come to by other parts of it: each part may have a graph of its own, as in a list of losses."""
    mine, theirs = (_parts(graphs, nodes) for nodes in (one, other))
    found: set[Node] = set()
    for each in mine.keys() & theirs.keys():
        if any(parts[each] <= graphs.returned.states for parts in (mine, theirs)):
            continue  # the state of a recurrent network has the graph of all that it returns
        both = mine[each] & theirs[each]
        if both not in (mine[each], theirs[each]) and all(sights[part].exists == GUESS for part in both):
            found.add(each)
    return found


def _parts(graphs: Graphs, nodes: Iterable[Node]) -> dict[Node, set[Node]]:
    """Of what some nodes lead to in parts: the parts, and not the parts of which these are parts. A slice of a tensor is
    all of it that counts."""
    parts = {node for node in nodes if node.op == PROJECTION and not _is_slice(graphs, node)}
    inner = {below for part in parts for below in part.below}
    found: dict[Node, set[Node]] = {}
    for part in parts - inner:
        found.setdefault(whole(part), set()).add(part)
    return found


def _is_slice(graphs: Graphs, part: Node) -> bool:
    sliced = part.next[0].node if part.next[0] is not None else None
    return graphs.births[part].operation == "slice" and sliced not in graphs.returned.apart
