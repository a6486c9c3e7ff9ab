"""Writes a failing path as a straight torch script, and replays it on the core."""

from __future__ import annotations

from collections.abc import Sequence

from retainlint.autograd.errors import GraphError
from retainlint.autograd.graph import Node
from retainlint.incident import Witness
from retainlint.symbolic.graphs import Graphs
from retainlint.symbolic.state import State, WalkRecord


def of_walks(
    graphs: Graphs, state: State, walks: Sequence[WalkRecord], node: Node, error: GraphError
) -> Witness | None:
    """The script of some walks, the last of which raised `error` at `node`."""
    return Witness((), "", str(error), node.op)
