"""In-place changes: what becomes of a tensor, of its views and of what had saved it, and which of them torch refuses."""

from __future__ import annotations

from collections.abc import Sequence

from retainlint.autograd.errors import InferenceModifiedError, LeafModifiedError, SharedViewModifiedError
from retainlint.autograd.graph import Edge, Node, short
from retainlint.autograd.operations import rows
from retainlint.startup.records import replace
from retainlint.symbolic.models.torch import shapes
from retainlint.symbolic.models.torch.new_tensors import is_basic, lost, operate
from retainlint.symbolic.state import events
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import Change, State
from retainlint.symbolic.state.values import NONE, PROVEN, Const, Ref, Slice, TensorObj, Value
from retainlint.text.source import Span

_IN_PLACE = {"leaky_relu": "relu", "elu": "relu"}
"""Rows that save their result instead of their input when they work in place."""


def change(
    machine: Machine,
    state: State,
    tensor: Value,
    row: str | None,
    operands: Sequence[Value],
    span: Span,
    *,
    spans: Sequence[Span | None] = (),
) -> None:
    """An in-place operation on a tensor; without a row one that overwrites it (`zero_`, `fill_`, ...)."""
    held = state.get(tensor)
    if not isinstance(held, TensorObj) or not isinstance(tensor, Ref):
        return
    base = state.get(held.base) if held.base is not None else None
    whole = base if isinstance(base, TensorObj) else held
    graph_goes_on = state.grad and (whole.edge is not None or any(machine.graphs.edge(state, v) for v in operands))
    text = spans[0].text if spans and spans[0] else ""
    if (inferred := held.inference) is not None and not (state.inference or (held.cut or ("",))[0] == "detach"):
        machine.refuse(
            state, InferenceModifiedError, lambda told: events.InferenceUsed(told, text, inferred, span, "changed")
        )
        if state.flow is not None:
            return
    if graph_goes_on and view_modified(machine, state, held, operands, span, name=text):
        made = operate(machine, state, row or "clone", (tensor, *operands), span, spans=spans)
        # what stands behind is told as if it were mended
        if state.flow is None and isinstance(instead := state.get(made), TensorObj):
            state.set(tensor, replace(instead, base=None))
        return
    if graph_goes_on and refuses(machine, state, held, [each for each in operands if each != tensor], span, name=text):
        return
    assert isinstance(held.storage, int)
    is_whole = row is None and len(operands) == 1 and _has_its_shape(machine, state, operands[0], held)
    if graph_goes_on and held.base is not None and isinstance(base, TensorObj):
        parts: tuple[Value, ...] = (held.base, *operands)
        if row is not None and held.edge is not None:  # what the operation saves of the view, its own result too
            own = _IN_PLACE.get(row, row)
            part = machine.graphs.build(
                state, own, (tensor, *operands), span, spans=spans, storage=held.storage, in_place=True
            )
            parts = (held.base, state.new(TensorObj(part, held.storage)))
        bump(state, held.storage, span, text=text)
        edge = machine.graphs.build(state, "copy_slices", parts, span, storage=held.storage)
        _go_on(machine, state, held.base, edge, span)
        return
    if graph_goes_on:
        row = _IN_PLACE.get(row or "", row or "alias")
        edge = machine.graphs.build(
            state, row, (tensor, *operands), span, spans=spans, storage=held.storage, in_place=True
        )  # fmt: skip
        _go_on(machine, state, tensor, edge, span)
        if "total" in rows()[row].result:
            machine.events.emit(events.Added(state, tensor, span, spans))
    else:
        _taken_in(machine, state, tensor, operands, span)
    bump(state, held.storage, span, text=text, whole=is_whole)


def set_item(machine: Machine, state: State, tensor: Ref, key: Value, value: Value, span: Span) -> None:
    """`tensor[key] = value`: an in-place change of a view, or by tensors as index of the tensor itself."""
    if not is_basic(state, key):
        name = Span(span.source, span.start, span.start + len(span.text.partition("[")[0]))
        change(machine, state, tensor, "index_put", (value,), span, spans=(name,))
        return
    held = state.heap[tensor.id]
    assert isinstance(held, TensorObj)
    target = held.base if held.base is not None and isinstance(state.get(held.base), TensorObj) else tensor
    base = state.heap[target.id]
    assert isinstance(base, TensorObj)
    grows = state.grad and (base.edge is not None or machine.graphs.edge(state, value) is not None)
    if grows and view_modified(machine, state, held, (value,), span):
        return
    if grows and base.edge is not None and base.edge.node.is_leaf and not base.moved:
        leaf_modified(machine, state, base, span, view=True, taken=_is_taken(machine, state, base, value))
        return
    is_whole = key == Const(...) or (isinstance(key, Slice) and all(part == NONE for part in key.parts))
    bump(state, base.storage, span, whole=is_whole and _has_its_shape(machine, state, value, held))
    if grows:
        assert isinstance(base.storage, int)
        edge = machine.graphs.build(state, "copy_slices", (target, value), span, storage=base.storage)
        _go_on(machine, state, target, edge, span)
    else:
        _taken_in(machine, state, target, (value,), span)


def _has_its_shape(machine: Machine, state: State, value: Value, held: TensorObj) -> bool:
    """Whether what has a graph is, as far as that is known, of the shape of a tensor that is no view."""
    known = shapes.of(state, value)
    return (
        held.base is None
        and held.shape.is_whole
        and known == held.shape
        and machine.graphs.edge(state, value) is not None
    )


def _taken_in(machine: Machine, state: State, tensor: Ref, operands: Sequence[Value], span: Span) -> None:
    """What is written into a tensor without a graph has lost its own there; a frozen weight has none for being frozen."""
    held = state.heap[tensor.id]
    if isinstance(held, TensorObj) and held.edge is None and held.cut is None and not held.parameter:
        state.set(tensor, replace(held, cut=lost(machine, state, operands, span)))


def refuses(
    machine: Machine, state: State, held: TensorObj, others: Sequence[Value], span: Span, *, name: str = ""
) -> bool:
    """Whether torch refuses that a tensor is changed in place, by what `others` there are, while it records: a leaf that
    requires grad, or a view of one."""
    base = state.get(held.base) if held.base is not None else None
    whole = base if isinstance(base, TensorObj) else held
    if whole.edge is None or not whole.edge.node.is_leaf or whole.cut or whole.moved:
        return False
    taken = any(_is_taken(machine, state, whole, value) for value in others)
    leaf_modified(machine, state, whole, span, view=isinstance(base, TensorObj), name=name, taken=taken)
    return True


def rebase(machine: Machine, state: State, tensor: Ref, edge: Edge, span: Span) -> None:
    """What changed a tensor in place has a graph of its own, on which it goes on; of a view, what it is a view of does."""
    held = state.heap[tensor.id]
    assert isinstance(held, TensorObj) and isinstance(held.storage, int)
    if held.base is not None and isinstance(state.get(held.base), TensorObj):
        parts = (held.base, state.new(TensorObj(edge, held.storage)))
        made = machine.graphs.build(state, "copy_slices", parts, span, storage=held.storage)
        _go_on(machine, state, held.base, made, span)
    else:
        _go_on(machine, state, tensor, edge, span)


def _go_on(machine: Machine, state: State, tensor: Ref, edge: Edge | None, span: Span) -> None:
    """A tensor has another graph since it was changed in place: so have all views of it, once they are used."""
    whole = state.heap[tensor.id]
    assert isinstance(whole, TensorObj)
    state.set(tensor, replace(whole, edge=edge, cut=None))
    machine.graphs.effort.add(len(state.heap) // 8)
    views = [
        (id, held)
        for id, held in state.heap.items()
        if type(held) is TensorObj and held.base is not None and held.base == tensor
    ]
    if views:
        assert isinstance(whole.storage, int)
        alias = machine.graphs.build(state, "alias", (tensor,), span, storage=whole.storage)
        for id, held in views:
            state.set(Ref(id), replace(held, edge=alias, cut=None))


def bump(
    state: State,
    storage: object,
    span: Span,
    *,
    by_step: bool = False,
    text: str = "",
    level: int = PROVEN,
    assumed: str = "",
    loads: bool = False,
    whole: bool = False,
) -> None:
    """Record that memory was changed; `level` tells how sure that is, and `assumed` what it rests on. What a library
    `loads` is changed under `no_grad`."""
    assert isinstance(storage, int)
    state.ledger.bump(storage)
    moment, recorded = state.moment(span), state.grad and not loads
    change = Change(storage, moment, by_step, state.ledger.created, text, level, assumed, recorded, whole)
    state.changes += (change,)


RENORMED = frozenset(("embedding", "embedding_bag"))
"""Operations that shorten the looked up rows of a table in place, if they are given a `max_norm`."""


def renorm(state: State, table: Value, most: Value, span: Span) -> None:
    """Change a table before it is looked at, as torch does under `no_grad`, whether or not a row is too long."""
    held = state.get(table)
    if isinstance(held, TensorObj) and isinstance(most, Const) and most != NONE:
        bump(state, held.storage, span, text=f"{span.text.partition('(')[0]}.weight", loads=True)


_ITEMS = {"IndexBackward0", "SelectBackward0", "SliceBackward0"}


def _is_taken(machine: Machine, state: State, leaf: TensorObj, value: Value) -> bool:
    """Whether what is put into a leaf has a graph of more than the item that it replaces: `leaf[i] -= step` puts it back."""
    edge = machine.graphs.edge(state, value)
    if edge is None or leaf.edge is None:
        return edge is not None

    def is_item(node: Node) -> bool:
        return node.op in _ITEMS and all(each is None or each == leaf.edge for each in node.next)

    given = [each.node for each in edge.node.next if each is not None]
    return not is_item(edge.node) and not (given and all(map(is_item, given)))


def leaf_modified(
    machine: Machine, state: State, leaf: TensorObj, span: Span, *, view: bool, taken: bool, name: str = ""
) -> None:
    """In-place on a leaf that requires grad, outside no_grad: torch refuses. `taken`: what goes in has a graph."""
    assert leaf.edge is not None
    birth = machine.graphs.births[leaf.edge.node]
    if birth.exists > PROVEN:
        return
    node, of = leaf.edge.node, leaf.parameter
    machine.refuse(
        state,
        LeafModifiedError,
        lambda told: events.LeafModified(told, name, node, birth.moment, span, view, taken, of),
    )


def view_modified(
    machine: Machine, state: State, held: TensorObj, others: Sequence[Value], span: Span, *, name: str = ""
) -> bool:
    """Whether torch refuses an in-place change of one of several views: one that has a graph, or is to have one."""
    edges = (held.edge, *(machine.graphs.edge(state, value) for value in others))
    known = [edge for edge in edges if edge is not None and machine.graphs.exists(edge) <= PROVEN]
    if held.base is None or held.several is None or not known:
        return False
    op = short(held.edge.node.op) if held.edge is not None else ""
    several = held.several
    machine.refuse(state, SharedViewModifiedError, lambda told: events.ViewModified(told, name, several, op, span))
    return True
