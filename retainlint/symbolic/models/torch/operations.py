"""What operations do to tensors: which row of the saves table they are, by name and by sign, and what comes out."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from retainlint import ir
from retainlint.autograd.graph import Edge
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import sequences
from retainlint.symbolic.models.torch import submodules
from retainlint.symbolic.models.torch.names import LISTS, ONE, OPERATIONS, REDUCTIONS, RESULTS, SEVERAL, TWO
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver import decisions, terms
from retainlint.symbolic.solver.constants import NotWorkedOut, worked_out
from retainlint.symbolic.state import events, limits
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
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

VIEWS = frozenset(
    "view reshape t transpose permute expand squeeze unsqueeze flatten select slice narrow unbind split alias".split()
)
"""Rows whose result shares its input's memory."""


_IN_PLACE = {"leaky_relu": "relu", "elu": "relu"}
"""Rows that save their result instead of their input when they work in place."""


_POSITIVE = frozenset(
    "norm abs square exp sigmoid softmax relu sqrt var std mse_loss l1_loss smooth_l1_loss huber_loss".split()
)

_SAME_SHAPE = frozenset(
    """add sub rsub neg mul div pow pow_tensor rpow reciprocal floor ceil round trunc sign remainder fmod lerp lerp_tensor
    addcmul addcdiv maximum minimum atan2 clone to alias exp expm1 log log2 log10 log1p sqrt rsqrt square sin cos tan
    abs relu leaky_relu elu selu gelu silu softplus sigmoid log_sigmoid tanh hardtanh erf softmax log_softmax clamp
    dropout where masked_fill sinh cosh asin acos atan t""".split()
)

_SHAPED_AS_FIRST = frozenset(
    """linear convolution layer_norm batch_norm group_norm native_dropout avg_pool max_pool adaptive_pool adaptive_pool_1
    prelu""".split()
)

_KEEP_SIGN = VIEWS | {"sum", "mean", "max", "min", "max_dim", "clone", "index", "to"}


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

SUMS = frozenset(("add", "sub", "lerp", "cat"))
"""Operations whose result keeps the graphs of all that went in, and nothing is made of them but a total."""


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
    """A new tensor: the result of a row of the saves table on some operands."""
    first = state.get(operands[0]) if operands else None
    row, ndim = _shaped(state, row, operands)
    view = row in VIEWS and isinstance(first, TensorObj)
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
    cut = None
    if edge is None and not state.grad and any(machine.graphs.edge(state, value) for value in operands):
        cut = ("no_grad", span)
        machine.graphs.unrecorded.setdefault(span, state.calls)
    elif edge is None:
        cut = next((obj.cut for value in operands if isinstance(obj := state.get(value), TensorObj) and obj.cut), None)
    if edge is None:
        held = [state.get(value) for value in operands]
        odd = any(isinstance(value, _ODD) for value in operands) or NONE in operands[:1]
        if odd or any(isinstance(obj, UnknownObj) and not obj.plain for obj in held):
            return objects.fresh(state, span, plain=not (odd and state.grad))
    keeps = row in _KEEP_SIGN and isinstance(first, TensorObj) and first.positive
    unsure = edge is None and any(_is_unsure(state, value) for value in operands)
    made = state.new(TensorObj(edge, storage, base, cut, positive=keeps or row in _POSITIVE, ndim=ndim, unsure=unsure))
    if edge is not None and row in SUMS:
        machine.events.emit(events.Added(state, made, span, spans))
    return made


def _is_unsure(state: State, value: Value) -> bool:
    """Whether an operand that has no graph, as it seems, may have one after all."""
    held = state.get(value)
    if isinstance(held, TensorObj):
        return held.unsure
    return isinstance(held, UnknownObj) and held.hint not in (CUT, COUNT)


def _shaped(state: State, row: str, operands: Sequence[Value]) -> tuple[str, int | None]:
    """The row that a product really is, and how many dimensions a result has, as far as both are known."""
    known: list[int] = []
    for value in operands[:1] if row in _SHAPED_AS_FIRST else operands:
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
    if row in ("dot", "trace"):
        return row, 0
    return row, max(known) if row in _SAME_SHAPE | _SHAPED_AS_FIRST and known else None


def row_of(machine: Machine, state: State, tensor: Value, span: Span) -> Value:
    """What iterating over a tensor gives."""
    return operate(machine, state, "unbind", (tensor,), span)


def index(machine: Machine, state: State, tensor: Value, key: Value, span: Span) -> Value:
    """`tensor[key]`: integers and slices give a view; tensors, lists and masks a copy that saves the index."""
    return operate(machine, state, "select" if _is_basic(key) else "index", (tensor,), span)


def _is_basic(key: Value) -> bool:
    """Whether an index is made of integers and slices alone."""
    parts = key.items if isinstance(key, Tuple) else (key,)
    return all(isinstance(part, Slice) or terms.is_scalar(part) for part in parts)


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
    left, right, span = state.read(instr.left), state.read(instr.right), instr.span
    if isinstance(left, Const) and isinstance(left.value, str) and instr.op == "%":
        return [(state, _filled(left.value, right))]
    folded = terms.binary(instr.op, left, right)
    if folded is not None:
        return [(state, folded)]
    lheld, rheld = state.get(left), state.get(right)
    is_option = isinstance(rheld, UnknownObj) or isinstance(right, External)
    if instr.op in ("%", "//"):
        left = objects.number(state, left)
    if instr.op in ("%", "//") and terms.is_scalar(left) and is_option:  # a turn by an option
        right = objects.counted(state, right)
        return [(state, left if left == Const(0) else Term(instr.op, (left, right)))]
    if instr.op in ("+", "-") and terms.is_count(state, left) and terms.is_count(state, right):
        return [(state, terms.sum_of(instr.op, left, right))]
    spans = (state.frame.spans.get(instr.left), state.frame.spans.get(instr.right))
    sequence = sequences.joined(machine, state, instr, left, right)
    if sequence is None and instr.op == "+":
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
        return objects.fresh(state, span, plain=True)
    edge = machine.graphs.build(state, row, operands, span, spans=spans, storage=ticket())
    if edge is None:
        return objects.fresh(state, span, plain=True)
    made = state.new(UnknownObj(span, edge, "tensor" if machine.graphs.exists(edge) < 2 else ""))
    if row in SUMS:
        machine.events.emit(events.Added(state, made, span, spans))
    return made


def unary(machine: Machine, state: State, op: str, value: Value, span: Span) -> Value:
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
    """`left op right`; between tensors it has no graph, and nobody knows the answer."""
    left, right = state.read(instr.left), state.read(instr.right)
    if instr.op not in ("is", "is not", "in", "not in"):
        if isinstance(state.get(left), TensorObj) or isinstance(state.get(right), TensorObj):
            return [(state, state.new(TensorObj(None, ticket(), cut=(instr.op, instr.span))))]
        if isinstance(state.get(left), Instance):
            method = find(state, left, f"__{_MAGIC[instr.op]}__")
            if method is not None:
                return machine.call(state, Bound(method, left), Args((right,)), instr.span)
            method = find(state, left, "__eq__") if instr.op == "!=" else None
            if method is not None:
                same = machine.call(state, Bound(method, left), Args((right,)), instr.span)
                return [(after, unary(machine, after, "not", value, instr.span)) for after, value in same]
    return [(state, decisions.compare(state, instr.op, left, right))]


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
    if graph_goes_on and whole.edge is not None and whole.edge.node.is_leaf and not (whole.cut or whole.moved):
        name = spans[0].text if spans and spans[0] else ""
        taken = any(machine.graphs.edge(state, value) is not None for value in operands if value != tensor)
        leaf_modified(machine, state, whole, span, view=base is not None, name=name, taken=taken)
        return
    assert isinstance(held.storage, int)
    text = spans[0].text if spans and spans[0] else ""
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
        state.set(held.base, replace(base, edge=edge, cut=None))
        _renew_views(machine, state, held.base, span)
        return
    if graph_goes_on:
        row = _IN_PLACE.get(row or "", row or "alias")
        edge = machine.graphs.build(
            state, row, (tensor, *operands), span, spans=spans, storage=held.storage, in_place=True
        )  # fmt: skip
        state.set(tensor, replace(held, edge=edge, cut=None))
        _renew_views(machine, state, tensor, span)
        if row in SUMS:
            machine.events.emit(events.Added(state, tensor, span, spans))
    bump(state, held.storage, span, text=text)


def set_item(machine: Machine, state: State, tensor: Ref, key: Value, value: Value, span: Span) -> None:
    """`tensor[key] = value`: an in-place change of a view, or by tensors as index of the tensor itself."""
    if not _is_basic(key):
        name = Span(span.source, span.start, span.start + len(span.text.partition("[")[0]))
        change(machine, state, tensor, "index_put", (value,), span, spans=(name,))
        return
    held = state.heap[tensor.id]
    assert isinstance(held, TensorObj)
    target = held.base if held.base is not None and isinstance(state.get(held.base), TensorObj) else tensor
    base = state.heap[target.id]
    assert isinstance(base, TensorObj)
    grows = state.grad and (base.edge is not None or machine.graphs.edge(state, value) is not None)
    if grows and base.edge is not None and base.edge.node.is_leaf and not base.moved:
        leaf_modified(machine, state, base, span, view=True, taken=machine.graphs.edge(state, value) is not None)
        return
    bump(state, base.storage, span)
    if grows:
        assert isinstance(base.storage, int)
        edge = machine.graphs.build(state, "copy_slices", (target, value), span, storage=base.storage)
        state.set(target, replace(base, edge=edge, cut=None))
        _renew_views(machine, state, target, span)


def _renew_views(machine: Machine, state: State, base: Ref, span: Span) -> None:
    """A tensor has another graph since it was changed in place: so have all views of it, once they are used."""
    for id, held in list(state.heap.items()):
        if isinstance(held, TensorObj) and held.base == base:
            assert isinstance(held.storage, int)
            edge = machine.graphs.build(state, "alias", (base,), span, storage=held.storage)
            state.set(Ref(id), replace(held, edge=edge, cut=None))


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


def leaf_modified(
    machine: Machine, state: State, leaf: TensorObj, span: Span, *, view: bool, taken: bool, name: str = ""
) -> None:
    """In-place on a leaf that requires grad, outside no_grad: torch refuses. `taken`: what goes in has a graph."""
    assert leaf.edge is not None
    birth = machine.graphs.births[leaf.edge.node]
    if birth.exists > PROVEN:
        return
    if state.guards:
        state.flow = Flow("raise", Failure("RuntimeError"))
        return
    machine.events.emit(events.LeafModified(state, name, birth.moment, span, view, taken))


def operands(state: State, args: Args) -> tuple[tuple[Value, ...], tuple[Span | None, ...]]:
    """The tensors that go into an operation, with where each stands; a list of tensors is spread."""
    values: list[Value] = []
    spans: list[Span | None] = []
    pairs = list(zip(args.pos, args.spans + (None,) * len(args.pos), strict=False))
    for value, span in [*pairs, *((value, None) for _, value in args.named)]:
        held = state.get(value)
        if isinstance(value, Tuple):
            found: tuple[Value, ...] = value.items
        elif isinstance(held, ListObj):
            found = held.items
        else:
            found = (value,)
        values += found
        spans += [span] * len(found)
    return tuple(values), tuple(spans)


_NORMS = {"layer_norm": (0, 2, 3), "batch_norm": (0, 3, 4), "group_norm": (0, 2, 3)}
"""Where the input, the weight and the bias stand among the arguments."""


def operation(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results:
    """A function or method named in OPERATIONS; `args` begin with the tensor itself."""
    values, spans = operands(state, args)
    row = OPERATIONS[name]
    if name == "where":
        values, spans = values[1:], spans[1:]
    elif row in _NORMS:
        values = tuple(args.get(at, key) for at, key in zip(_NORMS[row], ("input", "weight", "bias"), strict=True))
        spans = args.spans[:1]
    elif name in ONE or name in ("gather", "masked_fill"):
        values, spans = values[:1], spans[:1]
    elif row in ("scatter", "scatter_add", "index_put"):
        values, spans = (values[0], values[-1]), (spans[0], spans[-1])
    elif name in TWO:
        values, spans = values[:2], spans[:2]
    if dict(args.named).get("inplace") == TRUE and values and isinstance(state.get(values[0]), TensorObj):
        change(machine, state, values[0], row, (), span, spans=spans)
        return [(state, values[0])]
    if row == "adaptive_pool" and args.get(1, "output_size") in (Const(1), Tuple((Const(1), Const(1)))):
        row = "adaptive_pool_1"
    if name == "lerp" and len(values) > 2 and state.get(values[2]) is not None:
        row = "lerp_tensor"
    if name == "pad" and args.get(2, "mode") in (Const("reflect"), Const("replicate")):
        row = "pad_reflect"
    if name == "pow":
        return [(state, _power(machine, state, values, span, spans))]
    if name in ("cross_entropy",):
        values = (operate(machine, state, "log_softmax", values[:1], span, spans=spans), *values[1:])
    if name in ("max", "min") and len(args.pos) > 1 and _is_tensor(state, args.pos[1]):
        row, values = f"{name}imum", args.pos[:2]
    elif name in SEVERAL and (args.has(1, "dim") or name not in ("max", "min", "median")):
        row = row if row not in ("max", "min", "median") else "max_dim"
        result = operate(machine, state, row, values[:1], span, spans=spans)
        indices = objects.fresh(state, span, hint=CUT, plain=True)
        return [(state, Tuple((result, indices), ("values", "indices")))]
    if name in LISTS:
        return [(state, _pieces(machine, state, name, row, values, args, span, spans))]
    if all(not isinstance(state.get(value), TensorObj) for value in values):
        return [(state, uncertain(machine, state, row, values, span, spans))]
    result = operate(machine, state, row, values, span, spans=spans)
    held = state.get(result)
    if name in RESULTS:
        return [(state, _results(state, result, *RESULTS[name]))]
    if isinstance(held, TensorObj) and _reduces(name, args):
        state.set(result, replace(held, ndim=0))
    return [(state, result)]


def _is_tensor(state: State, value: Value) -> bool:
    held = state.get(value)
    return isinstance(held, TensorObj) or (
        isinstance(held, UnknownObj) and (held.hint == "tensor" or held.edge is not None)
    )


def _results(state: State, result: Ref, count: int, fields: tuple[str, ...]) -> Value:
    """Several tensors of one node."""
    held = state.get(result)
    if not isinstance(held, TensorObj):
        return result
    node = held.edge.node if held.edge is not None else None
    edges = (Edge(node, at) if node is not None else None for at in range(1, count))
    more = (state.new(replace(held, edge=edge, storage=ticket(), ndim=None)) for edge in edges)
    return Tuple((result, *more), fields)


def _reduces(name: str, args: Args) -> bool:
    """Whether an operation surely gives a scalar."""
    if name in REDUCTIONS:
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


def _power(
    machine: Machine, state: State, values: tuple[Value, ...], span: Span, spans: tuple[Span | None, ...]
) -> Value:
    tensor = len(values) > 1 and isinstance(state.get(values[1]), TensorObj)
    return operate(machine, state, "pow_tensor" if tensor else "pow", values[: 1 + tensor], span, spans=spans)


def _pieces(
    machine: Machine,
    state: State,
    name: str,
    row: str,
    values: tuple[Value, ...],
    args: Args,
    span: Span,
    spans: tuple[Span | None, ...],
) -> Value:
    """`split`, `chunk`, `unbind`: views of one tensor; how many is known where a number says so."""
    count = args.get(1, "chunks") if name == "chunk" else NONE
    many = (
        count.value
        if isinstance(count, Const) and isinstance(count.value, int) and count.value <= limits.SPLIT_PARTS
        else None
    )
    if many is None:
        return state.new(ListObj((operate(machine, state, row, values[:1], span, spans=spans),), True))
    return Tuple(tuple(operate(machine, state, row, values[:1], span, spans=spans) for _ in range(many)))
