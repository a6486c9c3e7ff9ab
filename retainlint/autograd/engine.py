"""Walks a graph backward over a ledger: checks what was saved, accumulates, frees. It knows nothing of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from retainlint.autograd.errors import FreedError, GraphError, ModifiedError, NoGraphError
from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.autograd.ledger import Ledger

G = TypeVar("G")


class Arithmetic(Protocol[G]):
    """What a gradient is: numbers in the face, a mark in the machine. None is a gradient that is not defined."""

    def apply(self, node: Node, grads: list[G | None]) -> Sequence[G | None]:
        """One gradient for each of `node.next`, from those of the node's outputs (missing at the end: None)."""
        ...

    def add(self, left: G, right: G) -> G: ...

    def accumulate(self, variable: Hashable, grad: G) -> None:
        """Add to the `.grad` of a leaf."""
        ...


class Observer:
    """Told what a walk does. This one is silent, and lets every refusal be raised."""

    def arrived(self, node: Node, grads: list[Any]) -> None:
        """All gradients of `node` are there; hooks may replace them in the list."""

    def ran(self, node: Node) -> None:
        """`node` has handed its gradients on."""

    def freed(self, node: Node) -> None:
        """`node` let go of what it saved."""

    def refused(self, node: Node, saved: SavedTensor, error: GraphError) -> None:
        """`node` can't run, for want of `saved`. Returning instead of raising lets the walk go on."""
        raise error


def backward_pass(
    roots: Sequence[tuple[Edge | None, G]],
    ledger: Ledger,
    arithmetic: Arithmetic[G],
    observer: Observer,
    *,
    retain: bool = False,
    inputs: Sequence[Edge] | None = None,
    accumulate: bool = True,
) -> list[G | None]:
    """One backward walk from `roots`, each with the gradient that it starts from.

    With `inputs`, only the nodes on the way there run, and only they are freed; the gradients found at `inputs` are
    returned, in their order, unless `accumulate` is set: then the inputs' own nodes run (as `backward(inputs=...)`
    has it). Raises the errors of errors.py where the observer doesn't forgive them; what ran before stays freed.

    Source: torch/csrc/autograd/engine.cpp (Engine::execute, GraphTask::init_to_execute), read and measured at 2.13.0.
    """
    starts: list[tuple[Edge, G]] = []
    for index, (edge, grad) in enumerate(roots):
        if edge is None:
            raise NoGraphError(index)
        starts.append((edge, grad))
    task = _BackwardPass(ledger, arithmetic, observer, retain, inputs, accumulate)
    task.prepare([edge.node for edge, _ in starts])
    for edge, grad in starts:
        task.send(edge, grad)
    task.start({edge.node for edge, _ in starts})
    task.run()
    return [task.captured.get(edge) for edge in inputs or ()]


class _BackwardPass(Generic[G]):
    """The state of one walk."""

    def __init__(
        self,
        ledger: Ledger,
        arithmetic: Arithmetic[G],
        observer: Observer,
        retain: bool,
        inputs: Sequence[Edge] | None,
        accumulate: bool,
    ) -> None:
        self.ledger, self.arithmetic, self.observer, self.retain = ledger, arithmetic, observer, retain
        self.captures = set() if accumulate or inputs is None else set(inputs)
        self.targets = None if inputs is None else {edge.node for edge in inputs}
        self.accumulate = accumulate
        self.needed: set[Node] | None = None
        self.waiting: dict[Node, int] = {}  # how many gradients are still to come
        self.buffers: dict[Node, list[G | None]] = {}
        self.ready: list[tuple[int, int, Node]] = []
        self.captured: dict[Edge, G] = {}
        self._ticket = count()

    def prepare(self, roots: list[Node]) -> None:
        """Count what each node waits for and, with inputs, which nodes lie on the way to one."""
        finished = _depth_first(roots)
        self.waiting = dict.fromkeys(finished, 0)
        for node in finished:
            for edge in node.next:
                if edge is not None:
                    self.waiting[edge.node] += 1
        if self.targets is None:
            return
        self.needed = set()
        for node in finished:  # children first
            leads_on = any(
                edge is not None and (edge.node in self.needed or edge.node in self.targets) for edge in node.next
            )
            if leads_on or (self.accumulate and node in self.targets):
                self.needed.add(node)

    def start(self, roots: set[Node]) -> None:
        for node in roots:
            if not self.waiting[node]:
                self._enqueue(node)

    def run(self) -> None:
        while self.ready:
            node = heappop(self.ready)[2]
            grads = self.buffers.pop(node, [])
            self.observer.arrived(node, grads)
            for edge in self.captures:
                if edge.node is node and edge.output < len(grads) and (grad := grads[edge.output]) is not None:
                    self.captured[edge] = grad
            if self.needed is None or node in self.needed:
                self._run_node(node, grads)

    def send(self, edge: Edge, grad: G | None) -> None:
        """Add a gradient to what `edge` has received."""
        buffer = self.buffers.setdefault(edge.node, [])
        while len(buffer) <= edge.output:
            buffer.append(None)
        held = buffer[edge.output]
        if grad is not None:
            buffer[edge.output] = grad if held is None else self.arithmetic.add(held, grad)

    def _enqueue(self, node: Node) -> None:
        heappush(self.ready, (-node.order, next(self._ticket), node))

    def _run_node(self, node: Node, grads: list[G | None]) -> None:
        if node.is_leaf:
            if grads and (grad := grads[0]) is not None:
                self.arithmetic.accumulate(node.variable, grad)
                self.ledger.graded.add(node.variable)
            return
        check(node, self.ledger, self.observer)
        results = self.arithmetic.apply(node, grads)
        self.observer.ran(node)
        if not self.retain and node.saved and node not in self.ledger.freed:
            self.ledger.freed.add(node)
            self.observer.freed(node)
        for edge, grad in zip(node.next, results, strict=True):
            if edge is None:
                continue
            child = edge.node
            if self.needed is None or child in self.needed or child in (self.targets or ()):
                self.send(edge, grad)
            self.waiting[child] -= 1
            if not self.waiting[child]:
                self._enqueue(child)


def check(node: Node, ledger: Ledger, observer: Observer) -> None:
    """Refuse to run a node whose saved tensors are gone, or were changed since."""
    if node in ledger.freed:
        observer.refused(node, node.saved[0], FreedError())
        return
    for saved in node.saved:
        if saved.storage is not None and (now := ledger.version(saved.storage)) != saved.version:
            observer.refused(node, saved, ModifiedError("tensor", now, saved.version))


def _depth_first(roots: Iterable[Node]) -> list[Node]:
    """Every node that the roots reach, each behind all that it leads to."""
    finished: dict[Node, None] = {}
    stack: list[tuple[Node, bool]] = [(node, False) for node in roots]
    while stack:
        node, done = stack.pop()
        if done:
            finished[node] = None
        elif node not in finished:
            stack.append((node, True))
            stack.extend((e.node, False) for e in node.next if e is not None and e.node not in finished)
    return list(finished)
