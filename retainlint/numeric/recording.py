"""What happens while statements run on the core, noted as plain data: nodes by number, and each event with its statement."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any, NamedTuple

from retainlint.autograd.errors import GraphError
from retainlint.autograd.graph import Node, SavedTensor
from retainlint.numeric.tape import OBSERVERS, RunObserver
from retainlint.numeric.tensor import Tensor


class BuiltNode(NamedTuple):
    """By which statement a node was built, and where what it saved comes from: a node's number, RESULT, or None."""

    row: int
    saved: tuple[int | None, ...]


RESULT = -1


class Event(NamedTuple):
    """`kind` is "begin", "run", "free", "change" or "fail"; `row` the statement that runs, `node` a node's number."""

    kind: str
    row: int
    node: int | None = None
    retained: bool = False


class Recorder(RunObserver):
    """Notes all of it."""

    def __init__(self) -> None:
        self.row = 0
        self.nodes: list[BuiltNode] = []
        self.events: list[Event] = []
        self._numbers: dict[Node, int] = {}

    def built(self, node: Node) -> None:
        self._numbers[node] = len(self.nodes)
        origins = (self._numbers.get(each.edge.node) if each.edge is not None else None for each in node.saved)
        saved = (RESULT if each.is_result else origin for each, origin in zip(node.saved, origins, strict=True))
        self.nodes.append(BuiltNode(self.row, tuple(saved)))

    def changed(self, tensor: Tensor) -> None:
        self._note("change")

    def started(self, retain: bool) -> None:
        self.events.append(Event("begin", self.row, None, retain))

    def ran(self, node: Node) -> None:
        self._note("run", node)

    def freed(self, node: Node) -> None:
        self._note("free", node)

    def refused(self, node: Node, saved: SavedTensor, error: GraphError) -> None:
        self._note("fail", node)

    def _note(self, kind: str, node: Node | None = None) -> None:
        self.events.append(Event(kind, self.row, None if node is None else self._numbers.get(node)))

    def run(self, statements: Sequence[CodeType], room: dict[str, Any]) -> None:
        """One statement after the other, until one raises: that is an event, too."""
        OBSERVERS.append(self)
        try:
            for self.row, statement in enumerate(statements):
                exec(statement, room)
        except Exception:  # noqa: BLE001 -- whatever it is, it is how the run ends
            if not self.events or self.events[-1].kind != "fail":
                self._note("fail")
        finally:
            OBSERVERS.pop()
