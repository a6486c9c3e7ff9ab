"""A new tensor: the result of a row of the table of operations on some operands, with its graph or how that was lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from retainlint.autograd.graph import Edge
from retainlint.autograd.operations import rows
from retainlint.ir import Compare
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import options
from retainlint.symbolic.models.torch.names import NUMBERED
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver import terms
from retainlint.symbolic.solver.constants import NotWorkedOut, worked_out
from retainlint.symbolic.state import events
from retainlint.symbolic.state.protocol import Args, Machine
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
    row, ndim = _shaped(state, row, operands)
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
    cut = lost(machine, state, operands, span) if edge is None else None
    sources = [value for value in rows()[row].takes(operands) if value is not None]
    if edge is None:
        held = [state.get(value) for value in sources]
        odd = any(isinstance(value, _ODD) for value in operands) or NONE in operands[:1]
        unseen = any(isinstance(obj, UnknownObj) and not obj.plain for obj in held)
        if odd or (unseen and (cut is None or cut[0] != "no_grad" or "view" in result)):
            return objects.fresh(state, span, plain=not (odd and state.grad))
    positive = "positive" in result
    if isinstance(first, TensorObj) and first.positive:
        positive = positive or view or "signed" in result
    may_have = edge is None and (state.grad or "view" in result)  # with gradients off a view may have its base's graph
    unsure = may_have and any(is_unsure(state, value) for value in sources)
    sizes = _sizes(state, operands) if "same" in result else ()
    several = first.several if base is not None and isinstance(first, TensorObj) else None
    if "fixed" in result and base is not None and state.grad:
        several = span
    made = state.new(
        TensorObj(
            edge, storage, base, cut, positive=positive, sizes=sizes, ndim=ndim, unsure=unsure, several=several,
            inference=first.inference if view and isinstance(first, TensorObj) else of_inference(state, span),
        )
    )  # fmt: skip
    if edge is not None and "total" in result:
        machine.events.emit(events.Added(state, made, span, spans))
    return made


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
    """How the graphs were lost of what an operation without one computes from; None if there were none."""
    if not state.grad and any(machine.graphs.edge(state, value) for value in operands):
        machine.graphs.unrecorded.setdefault(span, state.calls)
        return "no_grad", span
    cuts = [obj.cut for value in operands if isinstance(obj := state.get(value), TensorObj) and obj.cut]
    return min(cuts, key=_innocence, default=None)


def asked_leaf(machine: Machine, state: State, args: Args, span: Span) -> Edge | None:
    """The leaf that a call makes which is given `requires_grad=True`."""
    wanted = dict(args.named).get("requires_grad", FALSE)
    return None if wanted == FALSE else machine.graphs.leaf(state.moment(span), PROVEN if wanted == TRUE else GUESS)


def cut_off(
    machine: Machine, state: State, name: str, given: Sequence[Value], args: Args, ndim: int | None, span: Span
) -> Value:
    """What has no graph, by that name; a leaf if it was asked to require a gradient."""
    leaf = asked_leaf(machine, state, args, span)
    cut = cut_by(state, name, given, span) if leaf is None else None
    return state.new(TensorObj(leaf, ticket(), cut=cut, ndim=ndim, inference=of_inference(state, span)))


def cut_by(state: State, name: str, given: Iterable[Value], span: Span) -> tuple[str, Span]:
    """How what has no graph was cut off by that name: of what never had one, nothing was."""
    held = [obj for value in given if isinstance(obj := state.get(value), TensorObj | UnknownObj)]
    is_bare = all(isinstance(obj, TensorObj) and not (obj.edge or obj.unsure) and _had_none(obj.cut) for obj in held)
    return ("bare" if held and is_bare and name not in NUMBERED else name), span


def compared(instr: Compare, held: Sequence[HeapObj | None]) -> tuple[str, Span]:
    """How a comparison of such operands has lost its graph: where they had lost theirs, or by itself."""
    known = [each for each in held if isinstance(each, TensorObj) and each.edge is None and not each.unsure]
    if len(known) < len(held):
        return instr.op, instr.span
    return next((each.cut for each in known if not _had_none(each.cut)), None) or ("compared", instr.span)


def _had_none(cut: tuple[str, Span] | None) -> bool:
    return cut is None or cut[0] in _INNOCENT


_INNOCENT = {"leaf": 1, "bare": 2, "compared": 3}
"""What never had a graph has lost none: what could have one first, and last where nothing of it would have been left."""


def _innocence(cut: tuple[str, Span]) -> int:
    return _INNOCENT.get(cut[0], 0)


def is_unsure(state: State, value: Value) -> bool:
    """Whether an operand that has no graph, as it seems, may have one after all."""
    held = state.get(value)
    if isinstance(held, TensorObj):
        return held.unsure
    if not isinstance(held, UnknownObj) or held.hint in (CUT, COUNT):
        return False
    return options.default(state, value) is None


def _shaped(state: State, row: str, operands: Sequence[Value]) -> tuple[str, int | None]:
    """The row that a product really is, and how many dimensions a result has, as far as both are known."""
    known: list[int] = []
    result = rows()[row].result
    for value in operands[:1] if "first" in result else operands:
        held = state.get(value)
        if isinstance(held, TensorObj) and held.ndim is not None:
            known.append(held.ndim)
        elif held is None and isinstance(value, Const):
            known.append(0)
        else:
            return row, None
    if row == "matmul" and len(known) == 2:
        return {(2, 1): ("mv", 1), (1, 1): ("dot", 0), (2, 2): ("mm", 2), (3, 3): ("bmm", 3)}.get(
            (known[0], known[1]), (row, None)
        )
    if "scalar" in result:
        return row, 0
    return row, max(known) if known and ("same" in result or "first" in result) else None


def _sizes(state: State, operands: Sequence[Value]) -> tuple[int, ...]:
    """The first sizes of what tensors and numbers are broadcast to, as far as they can be read."""
    held = [state.get(value) for value in operands if not isinstance(value, Const)]
    wide = [each for each in held if not (isinstance(each, TensorObj) and each.ndim == 0)]
    if len(wide) == 1 and isinstance(wide[0], TensorObj):
        return wide[0].sizes
    shapes = [(each.ndim, each.sizes) for each in wide if isinstance(each, TensorObj) and each.ndim is not None]
    if len(shapes) < len(wide):
        return ()
    most = max((ndim for ndim, _ in shapes), default=0)
    found: list[int] = []
    for at in range(most):
        meant = [sizes[at - most + ndim :][:1] for ndim, sizes in shapes if at >= most - ndim]
        if () in meant:
            break
        found.append(max(size for (size,) in meant))
    return tuple(found)


def row_of(machine: Machine, state: State, tensor: Value, span: Span, row: str = "unbind") -> Value:
    """What iterating over a tensor gives; or, with another `row` of the table, an index."""
    made, whole = operate(machine, state, row, (tensor,), span), state.get(tensor)
    held = state.get(made)
    if isinstance(held, TensorObj) and isinstance(whole, TensorObj) and whole.ndim:
        state.set(made, replace(held, ndim=whole.ndim - 1, sizes=whole.sizes[1:] if row == "unbind" else ()))
    return made


def index(machine: Machine, state: State, tensor: Value, key: Value, span: Span) -> Value:
    """`tensor[key]`: integers and slices give a view; tensors, lists and masks a copy that saves the index."""
    made = operate(machine, state, "select" if is_basic(state, key) else "index", (tensor,), span)
    held, at, whole = state.get(made), state.get(key), state.get(tensor)
    if isinstance(held, TensorObj) and isinstance(whole, TensorObj) and (sizes := _cut_to(whole.sizes, key)):
        state.set(made, held := replace(held, sizes=sizes))
    if isinstance(held, TensorObj) and isinstance(at, TensorObj) and at.cut and held.edge is None and held.cut is None:
        state.set(made, replace(held, cut=at.cut))  # what was chosen by a number that was computed: `bins[x.argmax()]`
    return made


def _cut_to(sizes: tuple[int, ...], key: Value) -> tuple[int, ...]:
    """The first sizes of what stands at a number, or of a slice between known ones."""
    if isinstance(key, Const) and type(key.value) is int:
        return sizes[1:]
    parts: list[Any] = [each.value for each in key.parts if isinstance(each, Const)] if isinstance(key, Slice) else []
    if len(parts) < 3 or not sizes:
        return ()
    with suppress(NotWorkedOut):
        return (worked_out(lambda: len(range(sizes[0])[slice(*parts)])), *sizes[1:])
    return ()


def is_basic(state: State, key: Value) -> bool:
    """Whether an index is made of integers and slices alone; a tensor without dimensions is an integer, too."""
    parts = key.items if isinstance(key, Tuple) else (key,)
    held = [state.get(part) for part in parts]
    return all(
        isinstance(part, Slice) or terms.is_count(state, part) or (isinstance(each, TensorObj) and each.ndim == 0)
        for part, each in zip(parts, held)
    )
