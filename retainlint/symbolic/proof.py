"""What a walk that ran proves: its root had a graph, so what alone can have given it one was there."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence

from retainlint.autograd.graph import Edge, Node
from retainlint.autograd.saves import rows
from retainlint.symbolic.graphs import PART, UNSEEN, Graphs, whole
from retainlint.symbolic.values import CONVENTIONAL, GUESS

_CLASSES = ("nll_loss", "bce_loss", "bce_logits_loss")
"""Losses that are given classes beside a prediction."""
_DATA_BEHIND = ("div", *_CLASSES)
"""Operations whose second operand, if nobody computed it, has no graph by convention."""


def certain(graphs: Graphs, roots: Iterable[Edge]) -> frozenset[Node]:
    """The nodes that some roots surely lead to if these require grad."""
    stack, found = [root.node for root in roots], set[Node]()
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            if node.op not in (UNSEEN, PART) or graphs.births[node].operation == "slice":
                stack.extend(_below(node))
    return frozenset(found)


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
    while at is not None and (at is root or at.op != UNSEEN or at.next):
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
        elif node.is_leaf or node.op == UNSEEN:
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
    given = {below for end in ends for below in _below(end)}
    return bool(ends) and all(graphs.births[node].operation == "data" or node in given for node in loose)


def _saves_weights(graphs: Graphs, node: Node, moved: Collection[Hashable]) -> bool:
    """Whether a call of a network that nobody sees has saved its weights by convention."""
    slots = zip(node.saved, graphs.births[node].slots, strict=True)
    return node.op == UNSEEN and any(level <= CONVENTIONAL and saved.storage in moved for saved, level in slots)


def _below(node: Node) -> list[Node]:
    return [edge.node for edge in node.next if edge is not None]


def _giving(graphs: Graphs, node: Node) -> list[Node]:
    """What a node may have its graph from. Beside what a network or a leaf gives its graph, what nobody computed has none
    by convention: an option, a target, data."""
    operation, below = graphs.births[node].operation, list(dict.fromkeys(_below(node)))
    if len(below) == 2 and operation in _DATA_BEHIND:
        return below[:1] if _is_bare(graphs, below[1]) else below
    if node.op == PART or _is_end(graphs, node) or len(below) < 2 - (operation == "add"):
        return below
    computed = [each for each in below if not _is_bare(graphs, each)]
    dropped = operation == "add" or (len(computed) < len(below) and any(_is_rooted(graphs, each) for each in computed))
    return computed if dropped else below


def _is_end(graphs: Graphs, node: Node) -> bool:
    """Whether a node may have its graph from what nobody sees."""
    return node.op == UNSEEN and (node not in graphs.returned.criteria or not node.next)


def _is_rooted(graphs: Graphs, node: Node) -> bool:
    """Whether a node leads to a leaf, or to a call that builds a graph by convention."""
    stack, seen = [node], set[Node]()
    while stack:
        each = stack.pop()
        if each in graphs.returned.rooted or each.is_leaf or (each.op == UNSEEN and graphs.births[each].exists < GUESS):
            graphs.returned.rooted.add(node)
            return True
        if each not in seen:
            seen.add(each)
            stack.extend(_below(each))
    return False


def _is_bare(graphs: Graphs, node: Node) -> bool:
    """Whether a node stands for the graph that something might have which nobody computed."""
    node = whole(node)
    return node.op == UNSEEN and not node.next and not graphs.births[node].from_call


def _saves(graphs: Graphs, node: Node) -> bool:
    """Whether a node that exists has saved something, whichever of its inputs needs a gradient."""
    birth = graphs.births[node]
    if node.op == UNSEEN:
        return birth.from_call
    row = rows().get(birth.operation)
    if row is None or birth.doubt == GUESS or any(name.endswith("*") for name in row.inputs):
        return False
    if len(set(_below(node))) == 1 and node.saved:
        return True
    one = range(len(row.inputs))
    return bool(one) and all(row.saved([i == need for i in one]) for need in one)
