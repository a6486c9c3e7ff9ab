"""What operations do to tensors: which row of the table they are, by name and by sign, and what comes out."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

from retainlint import ir
from retainlint.autograd.errors import LeafModifiedError, SharedViewModifiedError
from retainlint.autograd.graph import Edge, short
from retainlint.autograd.operations import Row, by_name, rows
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import options, sequences
from retainlint.symbolic.models.torch import submodules
from retainlint.symbolic.models.torch.names import OVERWRITES
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver import decisions, terms
from retainlint.symbolic.solver.constants import NotWorkedOut, worked_out
from retainlint.symbolic.state import events, known_libraries, limits
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Change, Flow, State, ticket
from retainlint.symbolic.state.values import (
    COUNT,
    CUT,
    GUESS,
    NONE,
    PROVEN,
    TRUE,
    Bound,
    Closure,
    Const,
    External,
    Failure,
    Instance,
    ListObj,
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

_IN_PLACE = {"leaky_relu": "relu", "elu": "relu"}
"""Rows that save their result instead of their input when they work in place."""


_SIGNS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "@": "matmul", "**": "pow", "%": "remainder", "//": "floor",
}  # fmt: skip

_MAGIC = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "@": "matmul", "**": "pow", "%": "mod", "//": "floordiv",
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip


_ODD = (External, Method, Closure, Bound, Tuple)
"""Operands of which nobody knows what an operation makes."""

_MAY_BE_TENSORS = (TensorObj, UnknownObj)


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
    cut = _lost(machine, state, operands, span) if edge is None else None
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
        TensorObj(edge, storage, base, cut, positive=positive, sizes=sizes, ndim=ndim, unsure=unsure, several=several)
    )
    if edge is not None and "total" in result:
        machine.events.emit(events.Added(state, made, span, spans))
    return made


def _lost(machine: Machine, state: State, operands: Sequence[Value], span: Span) -> tuple[str, Span] | None:
    """How the graphs were lost of what an operation without one computes from; None if there were none."""
    if not state.grad and any(machine.graphs.edge(state, value) for value in operands):
        machine.graphs.unrecorded.setdefault(span, state.calls)
        return "no_grad", span
    cuts = [obj.cut for value in operands if isinstance(obj := state.get(value), TensorObj) and obj.cut]
    return min(cuts, key=_innocence, default=None)


def _innocence(cut: tuple[str, Span]) -> int:
    """What never had a graph has lost none, least where nothing of it would have been left."""
    return 2 if cut[0] == "compared" else cut[0] in ("leaf", "bare")


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
    """The first sizes of the only operand that is no number; none if there are several, which may be stretched."""
    held = [state.get(value) for value in operands if not isinstance(value, Const)]
    wide = [each for each in held if not (isinstance(each, TensorObj) and each.ndim == 0)]
    return wide[0].sizes if len(wide) == 1 and isinstance(wide[0], TensorObj) else ()


def row_of(machine: Machine, state: State, tensor: Value, span: Span, row: str = "unbind") -> Value:
    """What iterating over a tensor gives; or, with another `row` of the table, an index."""
    made, whole = operate(machine, state, row, (tensor,), span), state.get(tensor)
    held = state.get(made)
    if isinstance(held, TensorObj) and isinstance(whole, TensorObj) and whole.ndim:
        state.set(made, replace(held, ndim=whole.ndim - 1))
    return made


def index(machine: Machine, state: State, tensor: Value, key: Value, span: Span) -> Value:
    """`tensor[key]`: integers and slices give a view; tensors, lists and masks a copy that saves the index."""
    made = operate(machine, state, "select" if _is_basic(state, key) else "index", (tensor,), span)
    held, at = state.get(made), state.get(key)
    if isinstance(held, TensorObj) and isinstance(at, TensorObj) and at.cut and held.edge is None and held.cut is None:
        state.set(made, replace(held, cut=at.cut))  # what was chosen by a number that was computed: `bins[x.argmax()]`
    return made


def _is_basic(state: State, key: Value) -> bool:
    """Whether an index is made of integers and slices alone; a tensor without dimensions is an integer, too."""
    parts = key.items if isinstance(key, Tuple) else (key,)
    held = [state.get(part) for part in parts]
    return all(
        isinstance(part, Slice) or terms.is_count(state, part) or (isinstance(each, TensorObj) and each.ndim == 0)
        for part, each in zip(parts, held)
    )


def _filled(text: str, given: Value) -> Value:
    """`text % given`: a text, which another value makes another one."""
    parts = given.items if isinstance(given, Tuple) else (given,)
    values = tuple(part.value for part in parts if isinstance(part, Const))
    if len(values) == len(parts) and not terms.is_wide(text, *values):
        try:
            return Const(worked_out(operator.mod, text, values))
        except NotWorkedOut:
            pass
    return Term("format", (Const(text), given))


def binary(machine: Machine, state: State, instr: ir.Binary) -> Results:
    """`left op right`, or the augmented assignment."""
    left, right, span = _number(state.read(instr.left)), _number(state.read(instr.right)), instr.span
    if isinstance(left, Const) and isinstance(left.value, str) and instr.op == "%":
        return [(state, _filled(left.value, right))]
    lheld, rheld = state.get(left), state.get(right)
    other = lheld or rheld or (right if left == NONE else left)
    if (
        NONE in (left, right)
        and instr.op in _SIGNS
        and isinstance(other, TensorObj | UnknownObj | Const | Term | Symbol)
    ):
        state.flow = Flow("raise", Failure("TypeError"))
        return [(state, NONE)]
    folded = terms.binary(instr.op, left, right)
    if folded is not None:
        return [(state, folded)]
    is_option = isinstance(rheld, UnknownObj) or isinstance(right, External)
    if instr.op in ("%", "//"):
        left = decisions.total(state, left)
    if instr.op in ("%", "//") and terms.is_scalar(left) and is_option:  # a turn by an option
        right = objects.counted(state, right)
        return [(state, left if left == Const(0) else Term(instr.op, (left, right)))]
    if instr.op in ("+", "-") and terms.is_count(state, left) and terms.is_count(state, right):
        return [(state, terms.sum_of(instr.op, left, right))]
    spans = (state.frame.spans.get(instr.left), state.frame.spans.get(instr.right))
    sequence = sequences.joined(machine, state, instr, left, right)
    if sequence is None and instr.op == "+":
        if instr.in_place and submodules.is_list(state, left):
            grown = machine.call(state, Method(left, "extend"), Args((right,)), span)
            return [(each, left) for each, _ in grown]
        sequence = submodules.joined(state, left, right)
    if sequence is not None:
        return [(state, sequence)]
    sides = ((left, right, "i"),) if instr.in_place else ()
    for obj, other, prefix in (*sides, (left, right, ""), (right, left, "r")):
        if isinstance(state.get(obj), Instance) and instr.op in _MAGIC:
            method = find(state, obj, f"__{prefix}{_MAGIC[instr.op]}__")
            if method is not None:
                return machine.call(state, Bound(method, obj), Args((other,)), span)
    row = _SIGNS.get(instr.op)
    if row is None or not (isinstance(lheld, _MAY_BE_TENSORS) or isinstance(rheld, _MAY_BE_TENSORS)):
        return [(state, objects.fresh(state, span, plain=row is None or not state.grad))]
    if instr.op == "**" and isinstance(rheld, _MAY_BE_TENSORS):
        row = "pow_tensor" if isinstance(lheld, _MAY_BE_TENSORS) else "rpow"
        operands: tuple[Value, ...] = (left, right) if row == "pow_tensor" else (right,)
        return [(state, _numeric(machine, state, row, operands, span, spans))]
    if instr.op == "/" and terms.is_scalar(left) and isinstance(rheld, TensorObj):
        turned = _numeric(machine, state, "reciprocal", (right,), span, spans[1:])
        return [(state, _numeric(machine, state, "mul", (turned, left), span, ()))]
    if instr.in_place and isinstance(lheld, TensorObj):
        change(machine, state, left, row, (right,), span, spans=spans)
        total = left
    else:
        total = _numeric(machine, state, row, (left, right), span, spans)
        if instr.op in ("+", "-", "*"):
            objects.totalled(state, total, instr.op, left, right)
    return [(state, total)]


def _numeric(
    machine: Machine, state: State, row: str, operands: tuple[Value, ...], span: Span, spans: Sequence[Span | None]
) -> Value:
    """The result of an operation whose operands may be numbers or tensors."""
    held = [state.get(value) for value in operands]
    if any(isinstance(obj, TensorObj) for obj in held):
        return operate(machine, state, row, operands, span, spans=spans)
    if all(not isinstance(obj, UnknownObj) or obj.plain for obj in held):
        return objects.fresh(
            state, span, hint="" if any(is_unsure(state, each) for each in operands) else CUT, plain=True
        )
    edge = machine.graphs.build(state, row, operands, span, spans=spans, storage=ticket())
    if edge is None:
        return objects.fresh(state, span, plain=True)
    made = state.new(UnknownObj(span, edge, "tensor" if machine.graphs.exists(edge) < 2 else ""))
    if "total" in rows()[row].result:
        machine.events.emit(events.Added(state, made, span, spans))
    return made


def _number(value: Value) -> Value:
    """A library's constant as the number that it is: `math.pi`, `np.inf`."""
    if not isinstance(value, External):
        return value
    root, _, name = value.path.rpartition(".")
    number = getattr(math, name, None)
    is_known = root == "torch" or known_libraries.known_for("plain", value.path)
    return Const(number) if is_known and isinstance(number, float) else value


def unary(machine: Machine, state: State, op: str, value: Value, span: Span) -> Value:
    value = _number(value)
    if op == "not":
        truth = decisions.decide(state, value)
        return Const(not truth) if truth is not None else decisions.negate(value)
    if isinstance(value, Const) and isinstance(value.value, int | float) and op in "-+~":
        number = value.value
        if op == "~":
            return Const(~number) if isinstance(number, int) else value
        return Const(-number if op == "-" else +number)
    if terms.is_scalar(value):
        return value if op == "+" else Term(op, (value,))
    if op == "-":
        made = _numeric(machine, state, "neg", (value,), span, ())
        objects.totalled(state, made, "-", Const(0), value)
        return made
    return value if op == "+" else objects.fresh(state, span, plain=True)


def compare(machine: Machine, state: State, instr: ir.Compare) -> Results:
    """`left op right`; between tensors it has no graph, and nobody knows the answer, but that it is the same if it is asked
    again of what they hold now."""
    left, right = state.read(instr.left), state.read(instr.right)
    if instr.op not in ("is", "is not", "in", "not in"):
        held = [state.get(each) for each in (left, right) if not isinstance(each, Const)]
        if any(isinstance(each, TensorObj) for each in held):
            if instr.asked:
                return [(state, decisions.compare(state, instr.op, _now(state, left), _now(state, right)))]
            had_none = all(isinstance(each, TensorObj) and each.edge is None and not each.unsure for each in held)
            return [
                (state, state.new(TensorObj(None, ticket(), cut=("compared" if had_none else instr.op, instr.span))))
            ]
        if isinstance(state.get(left), Instance):
            method = find(state, left, f"__{_MAGIC[instr.op]}__")
            if method is not None:
                return machine.call(state, Bound(method, left), Args((right,)), instr.span)
            method = find(state, left, "__eq__") if instr.op == "!=" else None
            if method is not None:
                same = machine.call(state, Bound(method, left), Args((right,)), instr.span)
                return [(after, unary(machine, after, "not", value, instr.span)) for after, value in same]
    return [(state, decisions.compare(state, instr.op, left, right))]


def _now(state: State, value: Value) -> Value:
    """What a tensor holds now, as a number; any other value is itself."""
    held = state.get(value)
    if not isinstance(held, TensorObj):
        return _number(value)
    return Term("now", (value, Const(state.ledger.version(held.storage))))


# -- in place -----------------------------------------------------------------------------------------------------


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
    if graph_goes_on and view_modified(machine, state, held, operands, span, name=text):
        made = operate(machine, state, row or "clone", (tensor, *operands), span, spans=spans)
        if state.flow is None and isinstance(
            instead := state.get(made), TensorObj
        ):  # what stands behind is told as if it were mended
            state.set(tensor, replace(instead, base=None))
        return
    if graph_goes_on and refuses(machine, state, held, [each for each in operands if each != tensor], span, name=text):
        return
    assert isinstance(held.storage, int)
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
    bump(state, held.storage, span, text=text)


def set_item(machine: Machine, state: State, tensor: Ref, key: Value, value: Value, span: Span) -> None:
    """`tensor[key] = value`: an in-place change of a view, or by tensors as index of the tensor itself."""
    if not _is_basic(state, key):
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
        leaf_modified(machine, state, base, span, view=True, taken=machine.graphs.edge(state, value) is not None)
        return
    bump(state, base.storage, span)
    if grows:
        assert isinstance(base.storage, int)
        edge = machine.graphs.build(state, "copy_slices", (target, value), span, storage=base.storage)
        _go_on(machine, state, target, edge, span)
    else:
        _taken_in(machine, state, target, (value,), span)


def _taken_in(machine: Machine, state: State, tensor: Ref, operands: Sequence[Value], span: Span) -> None:
    """What is written into a tensor without a graph has lost its own there; a frozen weight has none for being frozen."""
    held = state.heap[tensor.id]
    if isinstance(held, TensorObj) and held.edge is None and held.cut is None and not held.parameter:
        state.set(tensor, replace(held, cut=_lost(machine, state, operands, span)))


def refuses(
    machine: Machine, state: State, held: TensorObj, others: Sequence[Value], span: Span, *, name: str = ""
) -> bool:
    """Whether torch refuses that a tensor is changed in place, by what `others` there are, while it records: a leaf that
    requires grad, or a view of one."""
    base = state.get(held.base) if held.base is not None else None
    whole = base if isinstance(base, TensorObj) else held
    if whole.edge is None or not whole.edge.node.is_leaf or whole.cut or whole.moved:
        return False
    taken = any(machine.graphs.edge(state, value) is not None for value in others)
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
    views = [(id, held) for id, held in state.heap.items() if isinstance(held, TensorObj) and held.base == tensor]
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
) -> None:
    """Record that memory was changed; `level` tells how sure that is, and `assumed` what it rests on. What a library
    `loads` is changed under `no_grad`."""
    assert isinstance(storage, int)
    state.ledger.bump(storage)
    moment, recorded = state.moment(span), state.grad and not loads
    change = Change(storage, moment, by_step, state.ledger.created, text, level, assumed, recorded)
    state.changes += (change,)


RENORMED = frozenset(("embedding", "embedding_bag"))
"""Operations that shorten the looked up rows of a table in place, if they are given a `max_norm`."""


def renorm(state: State, table: Value, most: Value, span: Span) -> None:
    """Change a table before it is looked at, as torch does under `no_grad`, whether or not a row is too long."""
    held = state.get(table)
    if isinstance(held, TensorObj) and isinstance(most, Const) and most != NONE:
        bump(state, held.storage, span, text=f"{span.text.partition('(')[0]}.weight", loads=True)


def leaf_modified(
    machine: Machine, state: State, leaf: TensorObj, span: Span, *, view: bool, taken: bool, name: str = ""
) -> None:
    """In-place on a leaf that requires grad, outside no_grad: torch refuses. `taken`: what goes in has a graph."""
    assert leaf.edge is not None
    birth = machine.graphs.births[leaf.edge.node]
    if birth.exists > PROVEN:
        return
    if state.expects_error(LeafModifiedError):
        state.flow = Flow("raise", Failure("RuntimeError"))
        return
    machine.events.emit(events.LeafModified(state, name, birth.moment, span, view, taken))


def view_modified(
    machine: Machine, state: State, held: TensorObj, others: Sequence[Value], span: Span, *, name: str = ""
) -> bool:
    """Whether torch refuses an in-place change of one of several views: one that has a graph, or is to have one."""
    edges = (held.edge, *(machine.graphs.edge(state, value) for value in others))
    known = [edge for edge in edges if edge is not None and machine.graphs.exists(edge) <= PROVEN]
    if held.base is None or held.several is None or not known:
        return False
    if state.expects_error(SharedViewModifiedError):
        state.flow = Flow("raise", Failure("RuntimeError"))
        return True
    op = short(held.edge.node.op) if held.edge is not None else ""
    machine.events.emit(events.ViewModified(state, name, held.several, op, span))
    return True


def operands(state: State, row: Row, args: Args) -> tuple[tuple[Value, ...], tuple[Span | None, ...]]:
    """The arguments of a call that are a row's inputs, with where each stands; a list of tensors is spread."""
    values: list[Value] = []
    spans: list[Span | None] = []
    for place, name in zip(row.places, row.inputs, strict=True):
        span = args.spans[place] if place < len(args.spans) else None
        if name.endswith("*"):
            several = args.pos[place:] or (args.get(-1, name[:-1]),)
            for value in several:
                held = state.get(value)
                parts = (
                    value.items if isinstance(value, Tuple) else held.items if isinstance(held, ListObj) else (value,)
                )
                values += parts
                spans += [span] * len(parts)
            break
        values.append(args.get(place, name, args.get(-1, "input") if place == 0 else NONE))
        spans.append(span)
    while len(values) > 1 and values[-1] == NONE:
        values.pop()
    return tuple(values), tuple(spans)


_OF_TENSORS = {
    "max": "maximum", "min": "minimum", "pow": "pow_tensor", "clamp": "clamp_tensor", "lerp": "lerp_tensor",
    "repeat_interleave": "repeat_interleave_tensor",
}  # fmt: skip
"""Rows that are others where what may be a number is a tensor: an operand of those beside `self` and `end`."""

_MODES = {
    ("pad", "reflect"): "pad_reflect", ("pad", "replicate"): "pad_reflect", ("pad", "circular"): "pad_circular",
    ("interpolate", "area"): "interpolate_area", ("kl_div", True): "kl_div_log", ("norm", "nuc"): "nuclear_norm",
}  # fmt: skip
"""Rows that are others in a mode."""

_MODE_OF = {"pad": (2, "mode"), "interpolate": (3, "mode"), "kl_div": (5, "log_target"), "norm": (1, "p")}
"""Which argument says the mode."""


def _row(state: State, name: str, args: Args) -> Row:
    """The row that a call of this name is, as far as its arguments say."""
    row = by_name()[name]
    if row in _OF_TENSORS:
        other = rows()[_OF_TENSORS[row]]
        maybe = (each for each in zip(other.places, other.inputs) if each[1] not in ("self", "end"))
        if any(_is_tensor(state, args.get(*each)) for each in maybe):
            return other
    if row in _MODE_OF and isinstance(mode := args.get(*_MODE_OF[row]), Const):
        row = _MODES.get((row, mode.value), row)
    row = pooled(row, args.get(1, "output_size"))
    if "indexed" in rows()[row].result and "reduced" in rows()[row].result and args.has(1, "dim"):
        row = "max_dim"
    return rows()[row]


def pooled(row: str, size: Value) -> str:
    """The row of a pooling to a size: to a single element it is a mean, which saves nothing."""
    single = size == Const(1) or (isinstance(size, Tuple) and all(each == Const(1) for each in size.items))
    return "adaptive_pool_1" if single and row in ("adaptive_pool", "adaptive_avg_pool3d") else row


def operation(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results:
    """A function or method of the table; `args` begin with the tensor itself."""
    row = _row(state, name, args)
    values, spans = operands(state, row, args)
    if dict(args.named).get("inplace") == TRUE and values and isinstance(state.get(values[0]), TensorObj):
        change(machine, state, values[0], row.operation, (), span, spans=spans)
        return [(state, values[0])]
    if row.operation in RENORMED:
        renorm(state, args.get(1, "weight"), dict(args.named).get("max_norm", NONE), span)
    if name == "cross_entropy":
        values = (operate(machine, state, "log_softmax", values[:1], span, spans=spans), *values[1:])
    if ("indexed" in row.result and "reduced" not in row.result) or row.operation == "max_dim":
        result = operate(machine, state, row.operation, values[:1], span, spans=spans)
        indices = objects.fresh(state, span, hint=CUT, plain=True)
        return [(state, Tuple((result, indices), ("values", "indices")))]
    if "list" in row.result:
        return [(state, _pieces(machine, state, name, row, values, args, span, spans))]
    if all(not isinstance(state.get(value), TensorObj) for value in values):
        return [(state, uncertain(machine, state, row.operation, values, span, spans))]
    result = operate(machine, state, row.operation, values, span, spans=spans)
    held = state.get(result)
    if row.fields:
        return [(state, _results(state, result, row.fields))]
    if isinstance(held, TensorObj) and _reduces(row, name, args):
        state.set(result, replace(held, ndim=0))
    return [(state, result)]


def changed_by(machine: Machine, state: State, name: str, args: Args, span: Span) -> None:
    """`tensor.name_(...)`: the in-place form of an operation, or what overwrites the tensor."""
    row = None if name in OVERWRITES or name[:-1] not in by_name() else _row(state, name[:-1], args)
    values, spans = (args.pos[:2], args.spans[:2]) if row is None else operands(state, row, args)
    change(machine, state, args.pos[0], row.operation if row else None, values[1:], span, spans=spans)


def _is_tensor(state: State, value: Value) -> bool:
    held = state.get(value)
    return isinstance(held, TensorObj) or (
        isinstance(held, UnknownObj) and (held.hint == "tensor" or held.edge is not None)
    )


def _results(state: State, result: Ref, fields: tuple[str, ...]) -> Value:
    """Several tensors of one node; those that it saves beside the first one change when that does."""
    held = state.get(result)
    if not isinstance(held, TensorObj):
        return result
    node = held.edge.node if held.edge is not None else None
    made = [result]
    for at, name in enumerate(fields[1:], 1):
        edge = Edge(node, at) if node is not None else None
        storage = held.storage if name.endswith("=") else ticket()
        made.append(state.new(replace(held, edge=edge, storage=storage, ndim=None)))
    return Tuple(tuple(made), tuple(name.rstrip("=") for name in fields))


def _reduces(row: Row, name: str, args: Args) -> bool:
    """Whether an operation surely gives a scalar."""
    if "reduced" in row.result:
        return len(args.pos) == 1 and not {"dim", "axis"} & set(dict(args.named))
    return name.endswith(("_loss", "entropy")) and not args.has(-1, "reduction")


def uncertain(
    machine: Machine, state: State, row: str, values: tuple[Value, ...], span: Span, spans: tuple[Span | None, ...]
) -> Value:
    """An operation on what may be tensors."""
    edge = machine.graphs.build(state, row, values, span, spans=spans, storage=ticket())
    if edge is None:
        return objects.fresh(state, span, plain=True)
    return state.new(UnknownObj(span, edge, "tensor" if machine.graphs.exists(edge) < GUESS else ""))


def _pieces(
    machine: Machine,
    state: State,
    name: str,
    row: Row,
    values: tuple[Value, ...],
    args: Args,
    span: Span,
    spans: tuple[Span | None, ...],
) -> Value:
    """`split`, `chunk`, `unbind`: views of one tensor; how many is known where a number says so. `meshgrid`: one of each."""
    if row.inputs[0].endswith("*"):
        return Tuple(tuple(operate(machine, state, row.operation, (value,), span, spans=spans[:1]) for value in values))
    count = args.get(1, "chunks") if name == "chunk" else NONE
    many = (
        count.value
        if isinstance(count, Const) and isinstance(count.value, int) and count.value <= limits.SPLIT_PARTS
        else None
    )
    if many is None:
        return state.new(ListObj((operate(machine, state, row.operation, values[:1], span, spans=spans),), True))
    return Tuple(tuple(operate(machine, state, row.operation, values[:1], span, spans=spans) for _ in range(many)))
