"""All that changes while graphs live: freed nodes, versions, which leaves have a gradient."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, MutableMapping, MutableSet
from weakref import WeakKeyDictionary, WeakSet

from retainlint.autograd.graph import Node


class Ledger:
    """The account of one run. The machine holds one a path and forks it; the face holds one for the process.

    `freed` are the nodes whose saved tensors are gone; `versions` counts the in-place changes of each storage;
    `graded` are the leaves whose `.grad` is not None; `created` counts nodes.
    """

    __slots__ = ("created", "freed", "graded", "versions")

    def __init__(self) -> None:
        self.freed: MutableSet[Node] = set()
        self.versions: MutableMapping[Hashable, int] = {}
        self.graded: MutableSet[Hashable] = set()
        self.created = 0

    @classmethod
    def weak(cls) -> Ledger:
        """A ledger that keeps neither nodes nor storages alive: for a run with real numbers."""
        ledger = cls()
        ledger.freed, ledger.versions, ledger.graded = WeakSet(), WeakKeyDictionary(), WeakSet()
        return ledger

    def fork(self) -> Ledger:
        """A copy that goes its own way."""
        other = Ledger()
        other.freed, other.versions, other.graded = set(self.freed), dict(self.versions), set(self.graded)
        other.created = self.created
        return other

    def next_order(self) -> int:
        """The creation number of a new node."""
        self.created += 1
        return self.created

    def version(self, storage: Hashable) -> int:
        return self.versions.get(storage, 0)

    def bump(self, storage: Hashable) -> None:
        """Record an in-place change."""
        self.versions[storage] = self.version(storage) + 1

    def revive(self, nodes: Iterable[Node]) -> None:
        """Take back that these were freed: as if their walk had retained the graph."""
        self.freed -= set(nodes)
