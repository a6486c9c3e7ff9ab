"""Methods and attributes of tensors, of those that we saw being made and of those that may be."""

from __future__ import annotations

from retainlint import ir
from retainlint.autograd.errors import InferenceLeafError
from retainlint.autograd.graph import Edge
from retainlint.autograd.operations import by_name
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import dict_views, iteration
from retainlint.symbolic.models.torch import backward_calls, hooks, new_tensors, operations, shapes
from retainlint.symbolic.models.torch.names import (
    CUTS,
    DIMENSIONS,
    KEEPS,
    LACKED,
    NUMBERS,
    TOLD,
    WHOLE,
    in_place,
    is_foreign,
    is_of_precision,
)
from retainlint.symbolic.models.torch.new_tensors import operate, shaped
from retainlint.symbolic.models.torch.operations import bare, operation, uncertain
from retainlint.symbolic.models.unknown import call_results, conventions, objects
from retainlint.symbolic.state import events, gradient_events, known_libraries, shape
from retainlint.symbolic.state.graphs import OPAQUE_CALL, PROJECTION
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Flow, State, ticket
from retainlint.symbolic.state.values import (
    CUT,
    FALSE,
    GUESS,
    NONE,
    PROVEN,
    TRUE,
    Const,
    Failure,
    Method,
    Ref,
    Symbol,
    TensorObj,
    Term,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_MOVES = {"to", "cuda", "type_as"}
_CLOSING = ("sum", "mean")
"""What makes a loss of anything. They save nothing: of a leaf it may be walked twice."""
_COUNTS = {"dim", "numel", "nelement", "ndimension"}
_NO_TENSOR = {"format", "split", "index", "pop", "add", "remove", "round", "select", "size", "new", "flip", "repeat"}


def count(machine: Machine, state: State, value: Value, name: str) -> Value:
    """How many dimensions or numbers a tensor has."""
    if name in ("dim", "ndimension"):
        return shapes.rank(machine, state, value)
    held = state.get(value)
    known = held.shape.numel if isinstance(held, TensorObj) else None
    return Term(name, (value,)) if known is None else Const(known)


def is_no_array(machine: Machine, state: State, value: Value) -> bool:
    """Whether numpy can't have it as an array, since it surely requires a gradient."""
    held = state.get(value)
    return isinstance(held, TensorObj) and held.edge is not None and machine.graphs.exists(held.edge) == PROVEN


def method(machine: Machine, state: State, obj: Value, name: str, args: Args, span: Span) -> Results:
    """A method of a tensor that we saw being made."""
    held = state.get(obj)
    assert isinstance(held, TensorObj) and isinstance(obj, Ref)
    everything = args.behind(obj, _receiver(span))
    if name == "backward":
        return backward_calls.backward(machine, state, obj, args, span)
    if name in ("detach", "detach_"):
        return [(state, _detached(machine, state, obj, held, name, span))]
    if name in by_name():
        if name == "where" and len(everything.pos) > 1:  # the condition stands second
            first, condition, *rest = everything.pos
            everything = replace(everything, pos=(condition, first, *rest), spans=())
        return operation(machine, state, name, everything, span)
    if name == "requires_grad_":
        require_grad(machine, state, obj, args.get(0, "requires_grad", TRUE), span)
        return [(state, obj)]
    if name == "type" and args.all:
        name = "to"
    is_other = is_of_precision(name, args.all)
    machine.graphs.mixes |= is_other
    if (is_other and name in KEEPS) or (name == "float" and machine.graphs.mixes):
        return [(state, operate(machine, state, "to", (obj,), span, spans=(_receiver(span),)))]
    if name == "contiguous" and not new_tensors.is_contiguous(machine, held):  # else it is the tensor itself
        return [(state, operate(machine, state, "clone", (obj,), span, spans=(_receiver(span),)))]
    if name in _MOVES and held.edge is not None and held.edge.node.is_leaf and not held.parameter:
        return [(state, state.new(replace(held, moved=True)))]
    if name in ("retain_grad", "register_hook") and held.has_no_graph:
        state.flow = Flow("raise", Failure("RuntimeError"))  # torch takes neither of a tensor that requires no gradient
        return [(state, NONE)]
    if name in hooks.OF_TENSORS:
        return [(state, hooks.watch(state, obj, name, args, span))]
    if name == "retain_grad":  # as if it were a leaf
        state.set(obj, replace(held, unsure=True))
        return [(state, NONE)]
    if name in KEEPS and held.several is not None:
        return [(state, state.new(replace(held, several=None)))]  # nobody knows whether it is a copy
    if name in KEEPS:
        return [(state, obj)]
    if name in ("dropout", "feature_dropout"):
        return [(state, operate(machine, state, "dropout", (obj,), span))]
    if name == "item":
        return [(state, new_tensors.number_of(state, obj, held))]
    if name == "size":
        return [(state, _size(machine, state, obj, args, span))]
    if name in _COUNTS:
        return [(state, count(machine, state, obj, name))]
    if name in NUMBERS:
        return [(state, Term(name, (obj, *args.pos)))]
    if name == "numpy" and not args.all and is_no_array(machine, state, obj):
        state.flow = Flow("raise", Failure("RuntimeError"))
        return [(state, NONE)]
    if name in CUTS:
        kept = shape.UNKNOWN if args.all else held.shape if name in WHOLE else shape.of_rank(DIMENSIONS.get(name))
        return [(state, new_tensors.cut_off(machine, state, name, (obj,), args, kept, span))]
    if in_place(name):
        operations.changed_by(machine, state, name, everything, span)
        return [(state, obj)]
    return [(state, call_results.called(machine, state, Method(obj, name), args, span))]


def _size(machine: Machine, state: State, obj: Value, args: Args, span: Span) -> Value:
    """`size()`, which is the shape, or one number of it."""
    return iteration.along(machine, state, obj, args.get(0, "dim"), span) if args.all else Term("shape", (obj,))


def _receiver(span: Span) -> Span | None:
    """Where the receiver of a method call stands, if the call begins with it."""
    text = span.text
    depth = 0
    for at in range(len(text) - 1, 0, -1):
        depth += (text[at] in ")]}") - (text[at] in "([{")
        if text[at] == "." and depth == 0:
            return Span(span.source, span.start, span.start + len(text[:at].rstrip()))
    return None


def _detached(machine: Machine, state: State, obj: Ref, held: TensorObj, name: str, span: Span) -> Value:
    """`detach()` or `detach_()`, a tensor without the graph on the same memory, and what is to be remembered of it."""
    if held.edge is not None:
        machine.graphs.cut_off[span] = held.edge
    if name == "detach":
        machine.events.emit(events.Detached(state, obj, span))
    else:
        state.note_weak_cut_of(obj)
    is_parameter = held.parameter and name == "detach_"  # which stays one
    how = new_tensors.cut_by(state, "detach", (obj,), span)
    cut = replace(held, edge=None, base=None, cut=how, parameter=is_parameter)
    if name == "detach":
        return state.new(cut)
    if held.edge is not None:  # an item of a loop in which only some iterations are run stands for one that is held
        alike = [id for id, each in state.heap.items() if isinstance(each, TensorObj) and each.edge == held.edge]
        for id in alike:
            state.set(Ref(id), replace(state.heap[id], edge=None, base=None, cut=how))
    state.set(obj, cut)
    return obj


def require_grad(machine: Machine, state: State, ref: Ref, wanted: Value, span: Span) -> None:
    """`requires_grad_()`: makes a leaf of a tensor without a graph, or frees a leaf of its need. Who asks for it takes the
    tensor for one without, so a graph that it only might have, it has not."""
    held = state.heap[ref.id]
    assert isinstance(held, TensorObj)
    if wanted == Const(False):
        if held.edge is None or held.edge.node.is_leaf:
            machine.graphs.freeze(state, ref.id, held, span)
    elif machine.graphs.exists(held.edge) == GUESS:
        if (made := held.inference) is not None and state.inference is None:
            text = of.text if (of := _receiver(span)) else ""
            machine.refuse(
                state, InferenceLeafError, lambda told: events.InferenceUsed(told, text, made, span, "asked")
            )
            if state.flow is not None:
                return
        leaf = machine.graphs.thawed(ref.id, state.moment(span), PROVEN if wanted == TRUE else GUESS)
        machine.graphs.note_copied(leaf, held)
        state.set(ref, replace(held, edge=leaf, cut=None))


def attribute(machine: Machine, state: State, obj: Value, name: str, span: Span) -> Value:
    held = state.get(obj)
    assert isinstance(held, TensorObj) and isinstance(obj, Ref)
    match name:
        case "data":
            if held.edge is not None:
                machine.graphs.cut_off[span] = held.edge
            return state.new(TensorObj(None, ticket(), cut=("data", span), shape=held.shape))
        case "grad" | "_grad":
            gradient_events.read(state, span)
            graded = held.edge is not None and held.edge.node.variable in state.ledger.graded
            if graded and any(record.creates and record.accumulate for record in state.backward_passes):
                return objects.fresh(state, span, hint="tensor")
            if held.edge is not None and not held.edge.node.is_leaf and not held.unsure:
                if machine.graphs.exists(held.edge) == PROVEN:
                    return NONE  # which only leaves have, but for what was asked to retain its own
            if graded or held.edge is None or not held.edge.node.is_leaf:
                return state.new(TensorObj(None, ticket(), cut=_left_by(state, held.edge) if graded else None))
            unseen = any(node.op == OPAQUE_CALL for record in state.backward_passes for node in record.reach)
            return state.new(UnknownObj(span, plain=True)) if unseen else NONE
        case "T" | "mT" | "H":
            turned = operate(machine, state, "t", (obj,), span, spans=(_receiver(span),))
            return turned if name == "T" else shaped(state, turned, shape.transposed(held.shape, -2, -1))
        case "real" | "imag":
            return operate(machine, state, "alias", (obj,), span, spans=(_receiver(span),))
        case "requires_grad":
            known = not held.unsure if held.edge is None else machine.graphs.exists(held.edge) == PROVEN
            return Const(held.edge is not None) if known else Term(name, (obj,))
        case "is_leaf":
            return Const(held.edge is None or held.edge.node.is_leaf)
        case "grad_fn" | "_grad_fn":
            return NONE if held.edge is None or held.edge.node.is_leaf else Term("grad_fn", (obj,))
        case "_version":
            return Const(state.ledger.version(held.storage))
        case "retains_grad" if not held.unsure:
            return FALSE
        case "ndim":
            return shapes.rank(machine, state, obj)
    return _told(state, obj, held, name, span)


def _left_by(state: State, leaf: Edge | None) -> tuple[str, Span] | None:
    """The backward pass that left its gradient in a leaf last, without a graph."""
    records = (each for each in reversed(state.backward_passes) if each.accumulate and leaf and leaf.node in each.reach)
    last = next(records, None)
    return None if last is None else ("create_graph", last.backward_pass.moment.span)


def _told(state: State, obj: Ref, held: TensorObj, name: str, span: Span) -> Value:
    """What is asked of any tensor: a property of its memory, a method, or what a program has put there."""
    made = held.edge.node.op if held.edge is not None else ""
    if name in LACKED and not (name.startswith("is_sparse") and "sparse" in made):
        return FALSE
    if name in LACKED or name in TOLD:
        return Term(name, (obj,))
    return objects.fresh(state, span, name=name) if is_foreign(name) else Method(obj, name)


def set_attribute(machine: Machine, state: State, obj: Value, name: str, value: Value, span: Span) -> None:
    held = state.get(obj)
    assert isinstance(held, TensorObj) and isinstance(obj, Ref)
    if name == "requires_grad":
        require_grad(machine, state, obj, value, span)
    elif name == "data":
        state.set(obj, replace(held, storage=ticket(), shape=shapes.of(state, value)))
    elif name == "grad" and held.edge is not None and held.edge.node.is_leaf:
        gradient_events.zeroed(machine, state, None, span, to_none=value == NONE)
        variable = held.edge.node.variable
        (state.ledger.graded.discard if value == NONE else state.ledger.graded.add)(variable)
    elif name == "_grad_fn" and value == NONE:
        _detached(machine, state, obj, held, "detach_", span)  # which torch calls for this


def unknown_method(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Results | None:
    """A method of something unknown, if it is one that tensors have."""
    if name == "type" and args.all:
        return [(state, obj)]
    if held.plain:
        return _of_plain(machine, state, obj, held, name, args, span)
    if name == "backward":
        return _unknown_backward(machine, state, obj, held, args, span)
    if name == "item":
        return [(state, Term("item", (Symbol(ticket()),)))]
    if name == "size" and (args.all or held.edge is not None or held.hint == "tensor"):
        return [(state, _size(machine, state, obj, args, span))]
    if name in _COUNTS:
        return [(state, count(machine, state, obj, name))]
    if name in hooks.OF_TENSORS and held.edge is not None:
        return [(state, hooks.watch(state, obj, name, args, span))]
    if name == "detach":
        machine.events.emit(events.Detached(state, obj, span))
    if name == "detach" or name in CUTS or name in NUMBERS:
        cut = ("detach", span) if name == "detach" else None
        return [(state, state.new(UnknownObj(span, hint=CUT, plain=True, name=name, cut=cut)))]
    if name in KEEPS:
        return [(state, obj)]
    if name in _NO_TENSOR and held.hint != "tensor":
        return None
    if name in by_name() and (held.edge is not None or held.hint in ("tensor", CUT) or name in _CLOSING):
        if held.hint == "tensor" and held.edge is not None and held.notes.operated is None:
            state.set(obj, replace(held, notes=replace(held.notes, operated=TRUE)))
        return operation(machine, state, name, args.behind(obj, _receiver(span)), span)
    if name == "detach_":
        objects.cut(state, obj)
        return [(state, obj)]
    if in_place(name):
        return [(state, obj)]
    return None


def _of_plain(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Results | None:
    """A method of what surely has no graph: its result has one if an argument has (`batch.mm(weight)`)."""
    if in_place(name) or conventions.CHANGES.takes(name):
        objects.doubt(state, obj)
    if name == "backward":
        gradient_events.read(state, span)  # who calls it expects that it gives gradients
        if held.cut is not None:
            return _unknown_backward(machine, state, obj, held, args, span)
    if not state.grad or not any(machine.graphs.edge(state, value) for value in args.all):
        if name in by_name() and name not in _NO_TENSOR:
            return [(state, bare(machine, state, by_name()[name], (obj, *args.all), span))]
        cut = held.cut if name in dict_views.SHOWING else None
        hint = CUT if name == "detach" else objects.cut_hint(held)
        return [(state, state.new(UnknownObj(span, hint=hint, plain=True, cut=cut)))]
    if in_place(name):
        state.set(obj, replace(held, plain=False, cut=None))
        return [(state, obj)]
    if name in by_name() and name not in _NO_TENSOR:
        return operation(machine, state, name, args.behind(obj, _receiver(span)), span)
    return [(state, objects.fresh(state, span))]


_BACKWARD = frozenset(("gradient", "retain_graph", "create_graph", "inputs", "retain_variables"))
"""What a tensor's `backward` may be given by name."""


def _unknown_backward(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, args: Args, span: Span
) -> Results | None:
    """`x.backward()` on something unknown is a walk, unless it is given what a layer of one's own is given, or the file
    is written for another library than torch."""
    if known_libraries.speaks_another(span.source) or any(name not in _BACKWARD for name, _ in args.named):
        return [(state, objects.fresh(state, span, plain=True))]
    foreign = held.edge is None and any(map(is_foreign, held.attrs))
    computed = held.edge is not None and held.edge.node.op not in (OPAQUE_CALL, PROJECTION)
    if held.hint != "tensor" and not computed and (args.pos or foreign or _is_of_a_block(state.frame.code, span)):
        machine.gap(span, f"`{span.text.partition('(')[0]}` may be a method that is not torch's")
        return [(state, objects.fresh(state, span))]
    return backward_calls.backward(machine, state, obj, args, span)


def _is_of_a_block(code: ir.Code, span: Span) -> bool:
    """Whether what is asked for its `backward` is also asked for its `forward`, or the result goes into another `backward`:
    a layer that somebody wrote without torch, since a tensor has no `forward`, and its `backward` no result."""
    receiver, instrs = span.text.partition("(")[0].removesuffix("backward"), list(ir.walk(code.body))
    backwards = {each.dst for each in instrs if isinstance(each, ir.GetAttr) and each.name == "backward"}
    calls = [each for each in instrs if isinstance(each, ir.Call) and each.func in backwards]
    results = {each.dst for each in calls if each.span == span}
    names = {each.name for each in instrs if isinstance(each, ir.Store) and each.src in results}
    results |= {each.dst for each in instrs if isinstance(each, ir.Load) and each.name in names}
    if any(arg.value in results for each in calls for arg in each.args):
        return True
    return any(isinstance(each, ir.GetAttr) and each.span.text == f"{receiver}forward" for each in instrs)


def unknown_attribute(machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, span: Span) -> Value:
    if name in ("T", "mT", "H") and held.edge is not None:
        return uncertain(machine, state, "t", (obj,), span, (_receiver(span),))
    if name == "grad":
        gradient_events.read(state, span)
    if name == "shape" and name not in held.attrs:
        return Term(name, (obj,))
    if name == "ndim" and name not in held.attrs:
        return shapes.rank(machine, state, obj)
    if name == "grad_fn" and held.plain:
        return NONE
    if name == "data" and held.edge is not None:
        return state.new(UnknownObj(span, hint=CUT, plain=True, cut=("data", span)))
    if name == "data" and held.hint:
        return objects.fresh(state, span, plain=True)
    if name == "data":  # it may be an option
        found = objects.same(machine, state, obj, name, UnknownObj(span, name=name, plain=True))
        state.set(obj, replace(held, attrs={**held.attrs, name: found}))
        return found
    return objects.derived(machine, state, obj, name, span)
