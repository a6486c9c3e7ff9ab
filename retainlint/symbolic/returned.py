"""What is remembered of calls that nobody sees, and of which parts of what they returned were taken."""

from __future__ import annotations

from retainlint.autograd.graph import Node
from retainlint.symbolic.values import Value


class Returned:
    """By the nodes that stand for what was returned; these never change, so all paths share it."""

    def __init__(self) -> None:
        self.callees: dict[Node, Value] = {}
        """What was called, where it is an object or a method of one."""
        self.criteria: set[Node] = set()
        """Calls of criteria: what they return has the graphs of what they were given, and no other."""
        self.portions: dict[Node, str] = {}
        """Under which names parts were taken."""
        self.apart: set[Node] = set()
        """Of what single items were taken: perhaps that is no tensor."""
        self.needs: dict[Node, tuple[Node, ...]] = {}
        """What a root needs to have a graph, as `proof` has it."""
        self.rooted: set[Node] = set()
        """Nodes that are known to lead to a leaf, or to a network."""
