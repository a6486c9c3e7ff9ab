"""Builds the graph's nodes as operations run, with the numbers that they save, and hands those back at the walk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from retainlint.autograd.errors import GraphError, InferenceModifiedError, InferenceSavedError
from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.autograd.ledger import Ledger
from retainlint.autograd.operations import RESULT, UNCHECKED, Row
from retainlint.numeric import grad_mode
from retainlint.numeric.dtypes import dtype
from retainlint.numeric.tensor import Tensor

LEDGER = Ledger.weak()
"""The account of this process."""

Grads: TypeAlias = Sequence[Tensor | None]
Pullback: TypeAlias = Callable[["Saved", list[Tensor | None]], Grads]


class RunObserver:
    """Told what is built, changed, run and freed. This one is silent; story.py has one that remembers where."""

    def built(self, node: Node) -> None: ...

    def changed(self, tensor: Tensor) -> None: ...

    def started(self, retain: bool) -> None:
        """A backward pass begins."""

    def ran(self, node: Node) -> None: ...

    def freed(self, node: Node) -> None: ...

    def refused(self, node: Node, saved: SavedTensor, error: GraphError) -> None:
        """`node` couldn't run, for what it had saved."""

    def rootless(self, tensor: Tensor) -> None:
        """A backward pass was asked for from a tensor without graph."""


OBSERVERS = [RunObserver()]
"""Who is told: the last one."""


@dataclass(frozen=True)
class Meta:
    """Shape and dtype that a gradient must have."""

    shape: tuple[int, ...]
    dtype: dtype

    @classmethod
    def of(cls, tensor: Tensor) -> Meta:
        return cls(tensor.array.shape, tensor.dtype)


class Saved:
    """What a backward formula sees: saved tensors by the names of operations.py, parameters, shapes of the inputs."""

    checks_itself = False  # a custom function is refused when it asks for what it saved, not before

    def __init__(self, held: dict[str, Any], params: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> None:
        self.held, self.params, self.shapes = held, params, shapes
        self.needs: dict[str, bool] = {}

    def __getattr__(self, name: str) -> Any:
        if name in self.held:
            return self.held[name]
        if name in self.params:
            return self.params[name]
        raise AttributeError(f"a backward formula wants {name!r}, which its row in operations.py doesn't save")

    def release(self) -> None:
        """Let go of all tensors."""
        self.held.clear()
        self.params = {name: value for name, value in self.params.items() if not isinstance(value, Tensor)}


@dataclass(frozen=True, eq=False, repr=False)
class Step(Node):
    """A node with numbers: how to pull gradients back through it, and what it holds for that."""

    pullback: Pullback | None = None
    saved_numbers: Saved | None = None
    wanted: tuple[Meta | None, ...] = ()
    outputs: tuple[Meta, ...] = ()
    prehooks: dict[int, list[Callable[[Tensor], Any]]] = field(default_factory=dict)
    whole_prehooks: list[Callable[..., Any]] = field(default_factory=list)
    posthooks: list[Callable[..., Any]] = field(default_factory=list)

    def pull(self, grads: list[Tensor | None]) -> Grads:
        """One gradient an input, each with its input's shape and dtype."""
        assert self.pullback is not None and self.saved_numbers is not None
        grads = grads + [None] * (len(self.outputs) - len(grads))
        found = self.pullback(self.saved_numbers, grads)
        return [fit(grad, meta, self.op) for grad, meta in zip(found, self.wanted, strict=True)]


def recorded(
    op: str,
    saved: Sequence[SavedTensor],
    edges: Sequence[Edge | None],
    pullback: Pullback,
    numbers: Saved,
    wanted: Sequence[Meta | None],
    outputs: Sequence[Tensor],
) -> Step:
    """A new node, which is told of."""
    shapes = tuple(map(Meta.of, outputs))
    step = Step(op, tuple(saved), tuple(edges), LEDGER.next_order(), None, pullback, numbers, tuple(wanted), shapes)
    OBSERVERS[-1].built(step)
    return step


def fit(grad: Tensor | None, meta: Meta | None, op: str) -> Tensor | None:
    """Sum a gradient to its input's shape, and cast it to its dtype."""
    if grad is None or meta is None:
        return None
    if grad.array.shape != meta.shape:
        grad = grad._sum_to(meta.shape, op)
    return grad if grad.dtype is meta.dtype else grad.to(meta.dtype)


def needing(tensors: Sequence[Tensor | None]) -> list[bool]:
    """Which of these a graph is recorded for, now."""
    if not grad_mode.is_grad_enabled() or grad_mode.is_inference_mode_enabled():
        return [False] * len(tensors)
    return [tensor is not None and tensor.requires_grad and tensor.dtype.is_floating_point for tensor in tensors]


def alias(tensor: Tensor) -> Tensor:
    """Another name of the same memory and version, without graph."""
    made = Tensor.of(tensor.array, tensor.storage)
    made.made_in_inference = tensor.made_in_inference
    return made


def saved_slot(name: str, tensor: Tensor) -> SavedTensor:
    """The record of a saved input."""
    if tensor.made_in_inference and not grad_mode.is_inference_mode_enabled():
        raise InferenceSavedError().plain()
    return SavedTensor(name, tensor.storage, LEDGER.version(tensor.storage), tensor.edge())


class Recording:
    """A node in the making: what it saves of its inputs is taken before the operation runs, its result after.

    `reached` tells to which inputs a gradient goes back: not to a view that was made before its base required grad,
    which has no edge although it requires grad itself.
    """

    def __init__(self, row: Row, tensors: Sequence[Tensor | None], needs: Sequence[bool], changes_first: bool) -> None:
        self.row = row
        self.edges: list[Edge | None] = [
            t.edge() if need and t is not None else None for t, need in zip(tensors, needs)
        ]
        self.reached = [edge is not None for edge in self.edges]
        self.wanted = tuple(Meta.of(t) if t is not None and there else None for t, there in zip(tensors, self.reached))
        self.held: dict[str, Tensor] = {}
        self.slots: list[SavedTensor | None] = []
        for slot in row.saved(self.reached):
            if slot.source == RESULT:
                self.slots.append(None)
            elif slot.source == UNCHECKED:
                self.slots.append(SavedTensor(slot.name))
            elif (tensor := tensors[slot.source]) is not None:
                if changes_first and slot.source == 0:
                    tensor = _copied(tensor)
                self.held[slot.name] = tensor
                self.slots.append(saved_slot(slot.name, tensor))

    def finish(
        self,
        op: str,
        pullback: Pullback,
        results: Sequence[Tensor],
        params: dict[str, Any],
        shapes: dict[str, tuple[int, ...]],
    ) -> Step:
        """The node, now that the results are known."""
        saved = Saved(dict(self.held), params, shapes)
        saved.needs = dict(zip(self.row.inputs, self.reached))
        slots = list(self._with_result(saved, results[0]))
        step = recorded(op, slots, self.edges, pullback, saved, self.wanted, results)
        if "result" in saved.held:
            saved.held["result"].node = step
        return step

    def _with_result(self, saved: Saved, result: Tensor) -> Iterator[SavedTensor]:
        for slot in self.slots:
            if slot is not None:
                yield slot
                continue
            saved.held["result"] = alias(result)
            yield SavedTensor("result", result.storage, LEDGER.version(result.storage), None, True)


def _copied(tensor: Tensor) -> Tensor:
    """The value of `tensor` before it is changed in place, at the same edge."""
    made = Tensor.of(tensor.array.copy())
    made.node, made.output = tensor.gradient_node(), tensor.output
    made.leaf_needs = tensor.leaf_needs and tensor.is_leaf
    return made


def changed(tensor: Tensor) -> None:
    """Count an in-place change of the tensor's memory, after it was done; inference tensors are refused only then."""
    if tensor.made_in_inference and not tensor.counts and not grad_mode.is_inference_mode_enabled():
        raise InferenceModifiedError().plain()
    LEDGER.bump(tensor.storage)
    OBSERVERS[-1].changed(tensor)
