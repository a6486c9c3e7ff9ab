"""The graph as it was built: nodes, edges and what each node saved; nothing here ever changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

LAST = 2**63 - 1
"""The order of leaves: torch lets gradients arrive at them as soon as they can."""


class Edge(NamedTuple):
    """Output number `output` of `node`: where a gradient is sent."""

    node: Node
    output: int = 0


class SavedTensor(NamedTuple):
    """A slot of a node that holds a tensor (or a scalar) until the node is freed.

    `storage` is the key of the memory whose version is checked at the walk; None where no change can matter (a
    scalar, a mask, the inner function of an in-place change of a view). `edge` is where double differentiation goes
    on; for the node's own result it is None and `is_result` is set.
    """

    name: str
    storage: Hashable | None = None
    version: int = 0
    edge: Edge | None = None
    is_result: bool = False


@dataclass(frozen=True, eq=False)
class Node:
    """One backward function. `next[i]` receives the gradient of input i; None where that input needs none.

    `order` is the creation number: of the nodes that are ready, the one created last runs first. A leaf's node has
    the op "AccumulateGrad", no next, the order LAST, and the key of its tensor in `variable`.
    """

    op: str
    saved: tuple[SavedTensor, ...] = ()
    next: tuple[Edge | None, ...] = ()
    order: int = 0
    variable: Hashable | None = field(default=None)

    @property
    def is_leaf(self) -> bool:
        return self.op == "AccumulateGrad"

    @property
    def below(self) -> list[Node]:
        """The nodes that it sends gradients to."""
        return [edge.node for edge in self.next if edge is not None]

    def __repr__(self) -> str:
        return f"<{self.op} {self.order}>" if not self.is_leaf else f"<{self.op} {self.variable!r}>"


def leaf(variable: Hashable) -> Node:
    """The node at which the gradients of a leaf tensor arrive."""
    return Node("AccumulateGrad", order=LAST, variable=variable)


def walk(roots: Iterable[Node], below: Callable[[Node], Iterable[Node]] = lambda node: node.below) -> Iterator[Node]:
    """Some nodes and all that lies below them, each once; `below` says what does."""
    stack, seen = [*roots], set[Node]()
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            stack.extend(below(node))


def short(op: str) -> str:
    """The name of a backward function as torch's messages have it."""
    head, found, tail = op.rpartition("Backward")
    return head if found and (not tail or tail.isdigit()) else op
