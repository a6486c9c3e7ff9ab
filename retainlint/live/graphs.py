"""Torch's graphs as they are: the nodes that a backward pass goes through, and what has become of what they saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from typing import Any, TypeAlias

Node: TypeAlias = Any
"""torch.autograd.graph.Node; also a node of the user's own Function."""


class Saved(Enum):
    """What became of a node's saved tensors."""

    FREED = "Trying to backward through the graph a second time"
    CHANGED = "modified by an inplace operation"


def roots_of(outputs: Iterable[Any]) -> list[Node]:
    """The nodes at which a backward pass from these tensors, or gradient edges, starts."""
    found = (getattr(each, "node", None) or getattr(each, "grad_fn", None) for each in outputs)
    return [node for node in found if node is not None]


def reached(roots: Iterable[Node]) -> Iterator[tuple[Node, Node | None]]:
    """Each node that roots lead to, once, before what it leads to, with the node that led to it; no leaf's own."""
    waiting: list[tuple[Node, Node | None]] = [(root, None) for root in roots]
    seen: set[Node] = set()
    while waiting:
        node, before = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node, before
        waiting += [(next_node, node) for next_node, _ in node.next_functions if next_node is not None]


def executed(roots: Iterable[Node], inputs: Iterable[Any]) -> list[tuple[Node, Node | None]]:
    """Those of the nodes that a backward pass runs: with `inputs`, only what stands on the way to these."""
    found = list(reached(roots))
    targets = [_edge(each) for each in inputs]
    if not targets:
        return found
    before: dict[Node, list[Node]] = {}
    for node, _ in found:
        for next_node, _ in node.next_functions:
            if next_node is not None:
                before.setdefault(next_node, []).append(node)
    waiting, needed = [target for target in targets if target is not None], set()
    while waiting:
        for node in before.get(waiting.pop(), ()):
            if node not in needed:
                needed.add(node)
                waiting.append(node)
    return [(node, led) for node, led in found if node in needed]


def _edge(tensor: Any) -> Node | None:
    """The node that a gradient for this tensor would come to."""
    if getattr(tensor, "node", None) is not None or tensor.grad_fn is not None:
        return roots_of([tensor])[0]
    if not tensor.requires_grad:
        return None
    from torch.autograd.graph import get_gradient_edge

    return get_gradient_edge(tensor).node


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """The attributes of such a node that give what it has saved."""
    found = tuple(name for name in dir(kind) if name.startswith("_saved_"))
    return found or (("saved_tensors",) if hasattr(kind, "saved_tensors") else ())


def lost(node: Node) -> Saved | None:
    """Why a node's saved tensors can't be had, if so. Asked only when something has failed: to look makes tensors."""
    kind: Any = type(node)
    for name in _names(kind):
        try:
            getattr(node, name)
        except RuntimeError as error:
            for why in Saved:
                if why.value in str(error):
                    return why
    return None


def order(node: Node) -> int:
    """The later a node was made, the earlier a backward pass comes to it."""
    number = getattr(node, "_sequence_nr", None)
    return int(number()) if number is not None else 0
