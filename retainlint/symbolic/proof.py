"""What a walk that ran proves: its root had a graph, so what alone can have given it one was there."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable

from retainlint.autograd.graph import Edge, Node
from retainlint.autograd.saves import rows
from retainlint.symbolic.graphs import PART, UNSEEN, Graphs
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


def needed(graphs: Graphs, root: Edge) -> list[Node]:
    """The nodes that have a graph if a root has one: what it alone was computed from, and what that was. A number that
    nobody knows, by which something is divided, has none by convention, nor have the classes of a loss."""
    found = [root.node]
    while found[-1].op != UNSEEN:
        ways = list(dict.fromkeys(_below(found[-1])))
        if len(ways) == 2 and graphs.births[found[-1]].operation in _DATA_BEHIND and _is_bare(graphs, ways[1]):
            del ways[1]
        if len(ways) != 1 or (ways[0].op == UNSEEN and not ways[0].next):  # that may be a leaf
            break
        found.append(ways[0])
    return found


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
    """What a node may have its graph from."""
    operation, below = graphs.births[node].operation, _below(node)
    if operation in _CLASSES:
        return below[:1] if len(below) == 2 and _is_bare(graphs, below[1]) else below
    bare = [each for each in below if _is_bare(graphs, each)] if operation == "add" else []
    return [each for each in below if each not in bare]


def _is_bare(graphs: Graphs, node: Node) -> bool:
    """Whether a node stands for the graph that something might have which nobody computed."""
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
