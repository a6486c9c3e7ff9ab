"""Whether two states' graphs have the same shape, stem from the same places, and are as free."""

from __future__ import annotations

from collections.abc import Hashable

from retainlint.autograd.graph import Edge, Node
from retainlint.symbolic import reach
from retainlint.symbolic.graphs import Graphs, whole
from retainlint.symbolic.state import State
from retainlint.symbolic.values import GUESS


class Shapes:
    """A comparison of graphs; `nodes` is the bijection found so far."""

    def __init__(self, graphs: Graphs, a: State, b: State, lenient: bool) -> None:
        self.graphs, self.a, self.b, self.lenient = graphs, a, b, lenient
        self.nodes: dict[Node, Node] = {}

    def edges(self, a: Edge | None, b: Edge | None, lazy: bool = False) -> bool:
        """Two graphs are alike if they have the same shape, stem from the same places and are as free."""
        if a is None or b is None:
            known = self.unwalked if lazy else self.guessed
            return a is b or (known(self.a, a) and known(self.b, b))
        if a.output != b.output:
            return False
        if self.graphs.exists(a) == self.graphs.exists(b) == GUESS:
            return self.as_freed(whole(a.node), whole(b.node))
        stack = [(a.node, b.node)]
        while stack:
            left, right = stack.pop()
            if left in self.nodes:
                if self.nodes[left] is not right:
                    return False
                continue
            self.nodes[left] = right
            if not self.as_freed(left, right):
                return False
            if left in self.a.ledger.freed:
                continue  # whatever lies below, a walk ends here
            if not self.as_stale(left, right):
                return False
            if left is right:
                continue
            if left.is_leaf and right.is_leaf:
                graded = left.variable in self.a.ledger.graded, right.variable in self.b.ledger.graded
                if graded[0] != graded[1] and not self.lenient:
                    return False
            if left.op != right.op or len(left.next) != len(right.next) or len(left.saved) != len(right.saved):
                return False
            if self.graphs.births[left].moment.span != self.graphs.births[right].moment.span:
                return False
            for one, other in zip(left.next, right.next, strict=True):
                assert one is not None and other is not None
                guessed = self.graphs.exists(one) == self.graphs.exists(other) == GUESS
                if not guessed:
                    stack.append((one.node, other.node))
                elif not self.as_freed(whole(one.node), whole(other.node)):
                    return False
        return True

    def guessed(self, state: State, edge: Edge | None) -> bool:
        """Whether there is no graph, or one that is a mere guess and was not walked."""
        return edge is None or (self.graphs.exists(edge) == GUESS and whole(edge.node) not in state.ledger.freed)

    def unwalked(self, state: State, edge: Edge | None) -> bool:
        """Whether there is no graph, or one that no walk has spoilt."""
        if edge is None:
            return True
        node = whole(edge.node)
        return node not in state.ledger.freed and node not in state.reported

    def as_freed(self, left: Node, right: Node) -> bool:
        """Whether both were freed, and both told of, or neither."""
        alike = (left in self.a.ledger.freed) == (right in self.b.ledger.freed)
        return alike and (left in self.a.reported) == (right in self.b.reported)

    def as_stale(self, left: Node, right: Node) -> bool:
        """Whether the same saved tensors of two nodes were changed since."""
        a, b = self.a.ledger, self.b.ledger
        for x, y in zip(left.saved, right.saved, strict=False):
            if (a.version(x.storage) == x.version) != (b.version(y.storage) == y.version):
                return False
        return True

    def ledgers(self) -> bool:
        """What one freed, stepped or changed and the other didn't must be out of reach."""
        a, b = self.a.ledger, self.b.ledger
        told = {key[0] if isinstance(key, tuple) else key for key in self.a.reported ^ self.b.reported}
        freed = (a.freed ^ b.freed) | told
        graded = a.graded ^ b.graded
        changed = set[Hashable]()
        if a.versions != b.versions:
            changed = {key for key in a.versions.keys() | b.versions.keys() if a.version(key) != b.version(key)}
        if not freed and not changed and not graded:
            return True
        left = reach.nodes(self.a)
        told_apart = left & freed
        if graded and not self.lenient:
            told_apart |= {node for node in left if node.is_leaf and node.variable in graded}
        touched = [node for node in left if any(s.storage in changed for s in node.saved)] if changed else []
        if not told_apart and not touched:
            return True
        right = reach.nodes(self.b)  # what only one side reaches was compared where it is held
        return right.isdisjoint(told_apart) and all(self.as_stale(node, node) for node in touched if node in right)
