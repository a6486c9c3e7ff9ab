"""What operations do to tensors: which row of the table they are, by name and by sign, and what comes out."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

from retainlint import ir
from retainlint.autograd.graph import Edge
from retainlint.autograd.operations import Row, by_name, rows
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import sequences
from retainlint.symbolic.models.torch import shapes, submodules
from retainlint.symbolic.models.torch.in_place_changes import RENORMED, change, renorm
from retainlint.symbolic.models.torch.names import OVERWRITES
from retainlint.symbolic.models.torch.new_tensors import compared, cut_off, is_unsure, lost, operate, shaped
from retainlint.symbolic.models.unknown import counts, objects
from retainlint.symbolic.solver import decisions, terms
from retainlint.symbolic.solver.terms import NotWorkedOut, worked_out
from retainlint.symbolic.state import events, known_libraries, limits, shape
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.exception_types import as_text
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.shape import UNKNOWN
from retainlint.symbolic.state.state import Flow, State, ticket
from retainlint.symbolic.state.values import (
    CUT,
    GUESS,
    NONE,
    TRUE,
    Bound,
    Const,
    DictObj,
    External,
    Failure,
    Instance,
    ListObj,
    Method,
    Ref,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_SIGNS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "@": "matmul", "**": "pow", "%": "remainder", "//": "floor",
}  # fmt: skip

_MAGIC = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "@": "matmul", "**": "pow", "%": "mod", "//": "floordiv",
    "|": "or", "&": "and", "^": "xor", "<<": "lshift", ">>": "rshift",
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip


_MAY_BE_TENSORS = (TensorObj, UnknownObj)


def _filled(text: str, given: Value) -> Value:
    """`text % given`: a text, which another value makes another one."""
    parts = [*map(as_text, given.items if isinstance(given, Tuple) else (given,))]
    values = tuple(part.value for part in parts if isinstance(part, Const))
    if len(values) == len(parts) and not terms.is_wide(text, *values):
        try:
            return Const(worked_out(operator.mod, text, values))
        except NotWorkedOut:
            pass
    return Term("format", (Const(text), given))


def _refuses_none(state: State, left: Value, right: Value) -> bool:
    """Whether one side is None, of which the other has no sum."""
    other = state.get(left) or state.get(right) or (right if left == NONE else left)
    return NONE in (left, right) and isinstance(other, TensorObj | UnknownObj | Const | Term | Symbol)


def _by_own_method(machine: Machine, state: State, instr: ir.Binary, left: Value, right: Value) -> Results | None:
    """By the method of an object that is on one side; None where neither has one."""
    sides = ((left, right, "i"),) if instr.in_place else ()
    for obj, other, prefix in (*sides, (left, right, ""), (right, left, "r")):
        if isinstance(state.get(obj), Instance) and instr.op in _MAGIC:
            method = find(state, obj, f"__{prefix}{_MAGIC[instr.op]}__")
            if method is not None:
                return machine.call(state, Bound(method, obj), Args((other,)), instr.span)
    return None


def binary(machine: Machine, state: State, instr: ir.Binary) -> Results:
    """`left op right`, or the augmented assignment."""
    left, right, span = _number(state.read(instr.left)), _number(state.read(instr.right)), instr.span
    if isinstance(left, Const) and isinstance(left.value, str) and instr.op == "%":
        return [(state, _filled(left.value, right))]
    lheld, rheld = state.get(left), state.get(right)
    if instr.op in _SIGNS and _refuses_none(state, left, right):
        if machine.forced:  # what is None when the object is made, others may have set
            return [(state, objects.fresh(state, span))]
        state.flow = Flow("raise", Failure("TypeError"))
        return [(state, NONE)]
    folded = terms.binary(instr.op, left, right)
    if folded is not None:
        return [(state, folded)]
    is_option = isinstance(rheld, UnknownObj) or isinstance(right, External)
    if instr.op in ("%", "//"):
        left = decisions.total(state, left)
    if instr.op in ("%", "//") and terms.is_scalar(left) and is_option:  # a turn by an option
        right = counts.counted(state, right)
        return [(state, left if left == Const(0) else Term(instr.op, (left, right)))]
    if instr.op in ("+", "-") and terms.is_count(state, left) and terms.is_count(state, right):
        return [(state, terms.sum_of(instr.op, left, right))]
    if instr.op == "|" and isinstance(lheld, DictObj):
        whole = left if instr.in_place else state.new(lheld)
        return [(each, whole) for each, _ in machine.call(state, Method(whole, "update"), Args((right,)), span)]
    spans = (state.frame.spans.get(instr.left), state.frame.spans.get(instr.right))
    sequence = sequences.joined(machine, state, instr, left, right)
    if sequence is None and instr.op == "+":
        if instr.in_place and submodules.is_list(state, left):
            grown = machine.call(state, Method(left, "extend"), Args((right,)), span)
            return [(each, left) for each, _ in grown]
        sequence = submodules.joined(state, left, right)
    if sequence is not None:
        return [(state, sequence)]
    if (own := _by_own_method(machine, state, instr, left, right)) is not None:
        return own
    row = _SIGNS.get(instr.op)
    if row is None and (bits := _of_bits(state, instr, left, right)) is not None:
        return [(state, bits)]
    if row is None or not (isinstance(lheld, _MAY_BE_TENSORS) or isinstance(rheld, _MAY_BE_TENSORS)):
        made = UnknownObj(
            span, plain=row is None or not state.grad, returned=_is_returned(lheld) or _is_returned(rheld)
        )
        return [(state, state.new(made))]
    if instr.op == "**" and isinstance(rheld, _MAY_BE_TENSORS):
        row = "pow_tensor" if isinstance(lheld, _MAY_BE_TENSORS) else "rpow"
        operands: tuple[Value, ...] = (left, right) if row == "pow_tensor" else (right,)
        return [(state, _numeric(machine, state, row, operands, span, spans))]
    if instr.op == "/" and terms.is_scalar(left) and isinstance(rheld, TensorObj):
        turned = _numeric(machine, state, "reciprocal", (right,), span, spans[1:])
        return [(state, _numeric(machine, state, "mul", (turned, left), span, ()))]
    if instr.in_place and isinstance(lheld, TensorObj) and instr.op != "@":  # which tensors have in no such form
        change(machine, state, left, row, (right,), span, spans=spans)
        total = left
    else:
        total = _numeric(machine, state, row, (left, right), span, spans)
        if instr.op in ("+", "-", "*"):
            counts.totalled(state, total, instr.op, left, right)
    return [(state, total)]


def _of_bits(state: State, instr: ir.Binary, left: Value, right: Value) -> Value | None:
    """What `&`, `>>` and their like make of tensors: numbers or truths, which have no graph; None of all else."""
    held = [state.get(each) for each in (left, right) if not isinstance(each, Const)]
    if not any(isinstance(each, TensorObj) for each in held):
        return None
    if instr.in_place and isinstance(state.get(left), TensorObj):
        return left
    known = shape.broadcast([shapes.of(state, each) for each in (left, right)])
    return state.new(TensorObj(None, ticket(), cut=compared(instr.op, instr.span, held), shape=known))


def _is_returned(held: object) -> bool:
    return isinstance(held, UnknownObj) and held.returned


def _numeric(
    machine: Machine, state: State, row: str, operands: tuple[Value, ...], span: Span, spans: Sequence[Span | None]
) -> Value:
    """The result of an operation whose operands may be numbers or tensors."""
    held = [state.get(value) for value in operands]
    if any(isinstance(obj, TensorObj) for obj in held):
        return operate(machine, state, row, operands, span, spans=spans)
    returned = any(map(_is_returned, held))
    if all(not isinstance(obj, UnknownObj) or obj.plain for obj in held):
        if any(is_unsure(state, each) for each in operands):
            return state.new(UnknownObj(span, plain=True, returned=returned))
        cut = lost(machine, state, operands, span)
        return state.new(UnknownObj(span, hint=CUT, plain=True, returned=returned, cut=cut))
    edge = machine.graphs.build(state, row, operands, span, spans=spans, storage=ticket())
    if edge is None:
        return state.new(UnknownObj(span, plain=True, returned=returned))
    made = state.new(UnknownObj(span, edge, "tensor" if machine.graphs.exists(edge) < 2 else "", returned=returned))
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


_OF_ONE = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}


def own_unary(machine: Machine, state: State, op: str, value: Value, span: Span) -> Results:
    """`op value`, by an object's own method where it has one."""
    own = find(state, value, _OF_ONE[op]) if op in _OF_ONE and isinstance(state.get(value), Instance) else None
    if own is not None:
        return machine.call(state, Bound(own, value), Args(), span)
    return [(state, unary(machine, state, op, value, span))]


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
        counts.totalled(state, made, "-", Const(0), value)
        return made
    if op == "~" and isinstance(held := state.get(value), TensorObj):
        return state.new(TensorObj(None, ticket(), cut=compared(op, span, [held]), shape=held.shape))
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
            known = shape.broadcast([shapes.of(state, each) for each in (left, right)])
            return [
                (state, state.new(TensorObj(None, ticket(), cut=compared(instr.op, instr.span, held), shape=known)))
            ]
        if isinstance(state.get(left), Instance):
            method = find(state, left, f"__{_MAGIC[instr.op]}__")
            if method is not None:
                return machine.call(state, Bound(method, left), Args((right,)), instr.span)
            method = find(state, left, "__eq__") if instr.op == "!=" else None
            if method is not None:
                same = machine.call(state, Bound(method, left), Args((right,)), instr.span)
                return [(after, unary(machine, after, "not", value, instr.span)) for after, value in same]
    own = find(state, right, "__contains__") if "in" in instr.op and isinstance(state.get(right), Instance) else None
    if own is not None:
        ways = machine.call(state, Bound(own, right), Args((left,)), instr.span)
        negated = instr.op == "not in"
        return [(each, unary(machine, each, "not", v, instr.span) if negated else v) for each, v in ways]
    return [(state, decisions.compare(state, instr.op, left, right))]


def _now(state: State, value: Value) -> Value:
    """What a tensor holds now, as a number; any other value is itself."""
    held = state.get(value)
    if not isinstance(held, TensorObj):
        return _number(value)
    return Term("now", (value, Const(state.ledger.version(held.storage))))


# -- in place -----------------------------------------------------------------------------------------------------


def operands(state: State, row: Row, args: Args) -> tuple[tuple[Value, ...], tuple[Span | None, ...]]:
    """The arguments of a call that are a row's inputs, with where each stands; a list of tensors is spread."""
    values: list[Value] = []
    spans: list[Span | None] = []
    for place, name in zip(row.places, row.inputs, strict=True):
        span = args.spans[place] if place < len(args.spans) else None
        if name.endswith("*"):
            several = args.pos[place:] or (args.get(-1, name[:-1]),)
            for value in several:
                parts = (value,) if (listed := state.items(value)) is None else listed
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
    ("gumbel_softmax", True): "gumbel_softmax_hard", ("interpolate", "area"): "interpolate_area", ("kl_div", True): "kl_div_log", ("norm", "nuc"): "nuclear_norm",
}  # fmt: skip
"""Rows that are others in a mode."""

_MODE_OF = {
    "pad": (2, "mode"), "interpolate": (3, "mode"), "kl_div": (5, "log_target"), "norm": (1, "p"), "gumbel_softmax": (2, "hard"),
}  # fmt: skip
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
        if (along := shapes.called(state, name, row, args)) is None:
            along = shapes.of(state, result)
        shaped(state, result, along)
        indices = cut_off(machine, state, "indices", args.pos[:1], Args(), along, span)
        return [(state, Tuple((result, indices), ("values", "indices")))]
    if "list" in row.result:
        return [(state, _pieces(machine, state, name, row, values, args, span, spans))]
    if all(not isinstance(state.get(value), TensorObj) for value in values):
        return [(state, uncertain(machine, state, row.operation, values, span, spans))]
    result = operate(machine, state, row.operation, values, span, spans=spans)
    if row.fields:
        return [(state, _results(state, result, row.fields))]
    if dict(args.named).get("return_indices") == TRUE:
        return [(state, Tuple((result, objects.fresh(state, span, hint=CUT, plain=True))))]
    known = shapes.called(state, name, row, args)
    return [(state, result if known is None else shaped(state, result, known))]


def changed_by(machine: Machine, state: State, name: str, args: Args, span: Span) -> None:
    """`tensor.name_(...)`: the in-place form of an operation, or what overwrites the tensor."""
    row = None if name in OVERWRITES or name[:-1] not in by_name() else _row(state, name[:-1], args)
    values, spans = (args.pos[:2], args.spans[:2]) if row is None else operands(state, row, args)
    if row is not None and (known := shapes.called(state, name[:-1], row, args)) is not None:
        shaped(state, args.pos[0], known)
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
        made.append(state.new(replace(held, edge=edge, storage=storage, shape=UNKNOWN)))
    return Tuple(tuple(made), tuple(name.rstrip("=") for name in fields))


def uncertain(
    machine: Machine, state: State, row: str, values: tuple[Value, ...], span: Span, spans: tuple[Span | None, ...]
) -> Value:
    """An operation on what may be tensors."""
    edge = machine.graphs.build(state, row, values, span, spans=spans, storage=ticket())
    if edge is None:
        return bare(machine, state, row, values, span)
    return state.new(UnknownObj(span, edge, "tensor" if machine.graphs.exists(edge) < GUESS else ""))


def bare(machine: Machine, state: State, row: str, values: Sequence[Value], span: Span) -> Value:
    """The result, without a graph, of an operation on what nobody sees: it surely has none where gradients are off, unless it
    is a view, and where all that it computes from surely has none."""
    is_new = not state.grad and "view" not in rows()[row].result
    if not is_new and any(is_unsure(state, each) for each in values if isinstance(each, Ref)):
        return objects.fresh(state, span, plain=True)
    cut = lost(machine, state, values, span) or (("no_grad", span) if is_new else None)
    return state.new(UnknownObj(span, hint=CUT, plain=True, cut=cut))


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
    """`split`, `chunk`, `unbind`: views of one tensor; how many is known where numbers say so. `meshgrid`: one of each."""
    if row.inputs[0].endswith("*"):
        return Tuple(tuple(operate(machine, state, row.operation, (value,), span, spans=spans[:1]) for value in values))
    known = shapes.pieces(state, name, args)
    if not known and (count := shapes.parts(state, name, args)) is not None:
        known = [UNKNOWN] * count
    if not 0 < len(known) <= limits.SPLIT_PARTS:
        return state.new(ListObj((operate(machine, state, row.operation, values[:1], span, spans=spans),), True))
    made = ((operate(machine, state, row.operation, values[:1], span, spans=spans), each) for each in known)
    return Tuple(tuple(shaped(state, piece, each) for piece, each in made))
