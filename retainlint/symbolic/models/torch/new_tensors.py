"""A new tensor: the result of a row of the table of operations on some operands, with its graph or how that was lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from retainlint.autograd.graph import Edge
from retainlint.autograd.operations import rows
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import options
from retainlint.symbolic.models.torch import shapes
from retainlint.symbolic.models.torch.names import NUMBERED
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver import terms
from retainlint.symbolic.state import events, shape
from retainlint.symbolic.state.numbers import NEVER_HAD
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.shape import Shape
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    COUNT,
    CUT,
    FALSE,
    GUESS,
    NONE,
    PROVEN,
    TRUE,
    Bound,
    Closure,
    Const,
    External,
    HeapObj,
    Method,
    Ref,
    Slice,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_ODD = (External, Method, Closure, Bound, Tuple)
"""Operands of which nobody knows what an operation makes."""


def operate(
    machine: Machine,
    state: State,
    row: str,
    operands: Sequence[Value],
    span: Span,
    *,
    spans: Sequence[Span | None] = (),
    doubt: int = PROVEN,
    assumed: str = "",
) -> Ref:
    """A new tensor: the result of a row of the table of operations on some operands."""
    first = state.get(operands[0]) if operands else None
    if "reshaped" in rows()[row].result and isinstance(first, TensorObj) and _is_reordered(machine, first):
        operands = (operate(machine, state, "clone", operands[:1], span, spans=spans[:1]), *operands[1:])
        first = state.get(operands[0])
    row = _product(state, operands) if row == "matmul" else row
    result = rows()[row].result
    view = "view" in result and isinstance(first, TensorObj)
    storage = first.storage if view and isinstance(first, TensorObj) else ticket()
    assert isinstance(storage, int)
    edge = machine.graphs.build(
        state, row, operands, span, spans=spans, doubt=doubt, assumed=assumed, storage=storage
    )  # fmt: skip
    base = None
    if view and isinstance(first, TensorObj):
        base = first.base or (operands[0] if isinstance(operands[0], Ref) else None)
        if not state.grad and first.edge is not None:  # torch then makes a leaf of the view
            edge = machine.graphs.leaf(state.moment(span), machine.graphs.exists(first.edge))
    cut, unsure = None, False
    if edge is None:
        cut = lost(machine, state, operands, span)
        sources = [value for value in rows()[row].takes(operands) if value is not None]
        held = [state.get(value) for value in sources]
        odd = any(isinstance(value, _ODD) or _is_of_none(value) for value in operands) or NONE in operands[:1]
        unseen = any(isinstance(obj, UnknownObj) and not (obj.plain or obj.hint == CUT) for obj in held)
        if odd or (unseen and (cut is None or cut[0] != "no_grad" or "view" in result)):
            return objects.fresh(state, span, plain=not (odd and state.grad))
        may_have = state.grad or "view" in result  # with gradients off a view may have its base's graph
        unsure = may_have and any(is_unsure(state, value) for value in sources)
    positive = "positive" in result
    if isinstance(first, TensorObj) and first.positive:
        positive = positive or view or "signed" in result
    several = first.several if base is not None and isinstance(first, TensorObj) else None
    if "fixed" in result and base is not None and state.grad:
        several = span
    made = state.new(
        TensorObj(
            edge, storage, base, cut, positive=positive, shape=shapes.computed(state, row, operands), unsure=unsure, several=several,
            inference=first.inference if view and isinstance(first, TensorObj) else of_inference(state, span),
        )
    )  # fmt: skip
    if edge is not None and "total" in result:
        machine.events.emit(events.Added(state, made, span, spans))
    return made


def _is_of_none(value: Value) -> bool:
    """Whether a method of None would give it: something else will be there."""
    return isinstance(value, Term) and value.args[:1] == (NONE,)


def _is_reordered(machine: Machine, held: TensorObj) -> bool:
    """Whether a view has its elements in another order than its memory, so that no other shape is a view of it."""
    return held.base is not None and not _is_row(held) and any("reordered" in each for each in _views(machine, held))


def is_contiguous(machine: Machine, held: TensorObj) -> bool:
    """Whether a tensor surely has all elements of its memory, in their order."""
    if held.base is None:
        return True
    words = set().union(*_views(machine, held))
    return bool(words) and "part" not in words and ("reordered" not in words or _is_row(held))


def _is_row(held: TensorObj) -> bool:
    """Whether no more than one dimension has elements to be put in another order."""
    return held.shape.is_whole and sum(size != 1 for size in held.shape.sizes) < 2


def _views(machine: Machine, held: TensorObj) -> Iterator[frozenset[str]]:
    """What the table says of each view that lies between a tensor and its memory, as far as that has a graph."""
    edge = held.edge
    while edge is not None and (birth := machine.graphs.births.get(edge.node)) is not None:
        row = rows().get(birth.operation)
        if row is None or "view" not in row.result:
            return
        yield row.result
        edge = edge.node.next[0] if edge.node.next else None


def shaped(state: State, value: Value, known: Shape) -> Value:
    """The same tensor, of which more is known than what its operands say."""
    if isinstance(value, Ref) and isinstance(held := state.get(value), TensorObj):
        state.set(value, replace(held, shape=known))
    return value


def number_of(state: State, obj: Ref, held: TensorObj) -> Term:
    """The number that is read off a tensor: the same one until somebody writes to it. A leaf is trained, or written to by
    whom nobody sees."""
    is_leaf = held.parameter or (held.edge is not None and held.edge.node.is_leaf)
    memory = held.storage if isinstance(held.storage, int) and not is_leaf else ticket()
    seen = Symbol(obj.id), Const(memory), Const(state.ledger.version(held.storage))
    return Term("positive" if held.positive else "item", seen)


def of_inference(state: State, span: Span) -> tuple[Span, Span] | None:
    """Where a tensor is made in inference mode, and where that was asked for; None of one that is made outside."""
    return None if state.inference is None else (span, state.inference)


def lost(machine: Machine, state: State, operands: Sequence[Value], span: Span) -> tuple[str, Span] | None:
    """How the graphs were lost of what an operation without one computes from, the nearest first; None if there were none."""
    graphs, calls = machine.graphs, state.calls
    if not state.grad and (edges := [edge for value in operands if (edge := graphs.edge(state, value)) is not None]):
        graphs.note_unrecorded(span, calls, edges)
        return "no_grad", span
    cuts = [obj.cut for value in operands if isinstance(obj := state.get(value), TensorObj | UnknownObj) and obj.cut]
    told = min(cuts, key=lambda cut: (_INNOCENT.get(cut[0], 0), graphs.unrecorded_apart(cut[1], calls)), default=None)
    for reason, at in cuts:
        if told is not None and told[0] == reason == "no_grad" and at != told[1]:
            graphs.note_lost_with(told[1], at)
    return told


def asked_leaf(machine: Machine, state: State, args: Args, span: Span) -> Edge | None:
    """The leaf that a call makes which is given `requires_grad=True`."""
    wanted = dict(args.named).get("requires_grad", FALSE)
    return None if wanted == FALSE else machine.graphs.leaf(state.moment(span), PROVEN if wanted == TRUE else GUESS)


def cut_off(
    machine: Machine, state: State, name: str, given: Sequence[Value], args: Args, known: Shape, span: Span
) -> Value:
    """What has no graph, by that name; a leaf if it was asked to require a gradient."""
    leaf = asked_leaf(machine, state, args, span)
    cut = cut_by(state, name, given, span) if leaf is None else None
    return state.new(TensorObj(leaf, ticket(), cut=cut, shape=known, inference=of_inference(state, span)))


def cut_by(state: State, name: str, given: Iterable[Value], span: Span) -> tuple[str, Span]:
    """How what has no graph was cut off by that name: of what never had one, nothing was."""
    held = [obj for value in given if isinstance(obj := state.get(value), TensorObj | UnknownObj)]
    is_bare = all(isinstance(obj, TensorObj) and not (obj.edge or obj.unsure) and _had_none(obj.cut) for obj in held)
    return ("bare" if held and is_bare and name not in NUMBERED else name), span


def compared(op: str, span: Span, held: Sequence[HeapObj | None]) -> tuple[str, Span]:
    """How a comparison of such operands, or of their bits, has lost its graph: where they had lost theirs, or by itself."""
    known = [each for each in held if isinstance(each, TensorObj) and each.has_no_graph]
    if len(known) < len(held):
        return op, span
    return next((each.cut for each in known if not _had_none(each.cut)), None) or ("compared", span)


def _had_none(cut: tuple[str, Span] | None) -> bool:
    return cut is None or cut[0] in _INNOCENT


_INNOCENT = {reason: order for order, reason in enumerate(NEVER_HAD, 1)}
"""What never had a graph has lost none: what could have one first, and last where nothing of it would have been left."""


def is_unsure(state: State, value: Value) -> bool:
    """Whether an operand that has no graph, as it seems, may have one after all."""
    held = state.get(value)
    if isinstance(held, TensorObj):
        return held.unsure
    if not isinstance(held, UnknownObj) or held.hint in (CUT, COUNT):
        return False
    return options.default(state, value) is None


_OF_RANKS: Mapping[tuple[int | None, ...], str] = {(2, 1): "mv", (1, 1): "dot", (2, 2): "mm", (3, 3): "bmm"}


def _product(state: State, operands: Sequence[Value]) -> str:
    """The row that `left @ right` is, by how many dimensions each has."""
    return _OF_RANKS.get(tuple(shapes.of(state, each).ndim for each in operands), "matmul")


def row_of(machine: Machine, state: State, tensor: Value, span: Span, row: str = "unbind") -> Value:
    """What iterating over a tensor gives; or, with another `row` of the table, an index."""
    return shaped(state, operate(machine, state, row, (tensor,), span), shape.item(shapes.of(state, tensor)))


def index(machine: Machine, state: State, tensor: Value, key: Value, span: Span) -> Value:
    """`tensor[key]`: integers and slices give a view; tensors, lists and masks a copy that saves the index."""
    made = operate(machine, state, "select" if is_basic(state, key) else "index", (tensor,), span)
    held, at = state.get(shaped(state, made, shapes.indexed(state, tensor, key))), state.get(key)
    if isinstance(held, TensorObj) and isinstance(at, TensorObj) and at.cut and held.edge is None and held.cut is None:
        state.set(made, replace(held, cut=at.cut))  # what was chosen by a number that was computed: `bins[x.argmax()]`
    return made


def is_basic(state: State, key: Value) -> bool:
    """Whether an index is made of integers and slices alone; a tensor without dimensions is an integer, too. A truth is a
    mask."""
    parts = key.items if isinstance(key, Tuple) else (key,)
    held = [state.get(part) for part in parts]
    return all(
        isinstance(part, Slice)
        or (terms.is_count(state, part) and not terms.is_truth(part))
        or (isinstance(each, TensorObj) and each.ndim == 0)
        for part, each in zip(parts, held)
    )
