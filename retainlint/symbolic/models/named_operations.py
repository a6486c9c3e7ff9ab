"""Functions and methods that are rows of the saves table, called by their names."""

from __future__ import annotations

from retainlint.autograd.graph import Edge
from retainlint.records import replace
from retainlint.source import Span
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import operations, unknown
from retainlint.symbolic.models.measured import RESULTS
from retainlint.symbolic.models.names import LISTS, ONE, OPERATIONS, REDUCTIONS, SEVERAL, TWO
from retainlint.symbolic.models.operations import operate
from retainlint.symbolic.state import State, ticket
from retainlint.symbolic.values import (
    GUESS,
    NONE,
    TRUE,
    Const,
    ListObj,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)


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
        operations.change(machine, state, values[0], row, (), span, spans=spans)
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
        return [(state, Tuple((result, unknown.fresh(state, span, plain=True)), ("values", "indices")))]
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
    return isinstance(held, TensorObj) or (isinstance(held, UnknownObj) and held.hint == "tensor")


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
        return unknown.fresh(state, span, plain=True)
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
    many = count.value if isinstance(count, Const) and isinstance(count.value, int) and count.value <= 8 else None
    if many is None:
        return state.new(ListObj((operate(machine, state, row, values[:1], span, spans=spans),), True))
    return Tuple(tuple(operate(machine, state, row, values[:1], span, spans=spans) for _ in range(many)))
