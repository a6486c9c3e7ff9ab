"""Smaller libraries: einops, higher's modules with weights of their own, and what models of transformers return."""

from __future__ import annotations

from retainlint.symbolic.models.python import iteration
from retainlint.symbolic.models.torch import backward_calls
from retainlint.symbolic.models.torch.new_tensors import operate
from retainlint.symbolic.models.unknown import conventions, objects
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    FALSE,
    NONE,
    TRUE,
    Const,
    External,
    LayerObj,
    ListObj,
    Notes,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_LAYERS = "einops.layers.torch."

_REDUCTIONS = {"mean": "mean", "sum": "sum", "max": "amax", "min": "amin", "prod": "prod"}

_LIKE = {"mean": "ChannelShuffle", "sum": "ChannelShuffle"}
"""The layer of torch that treats a graph as a reduction does, where it isn't pooling by the largest."""


def einops_function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Call a function, or make a layer; None for any other path."""
    root, _, name = path.rpartition(".")
    if path.startswith(_LAYERS) and name in ("Rearrange", "Reduce"):
        asked = args.get(1, "reduction", Const("sum"))
        kind = _LIKE.get(str(asked.value), "MaxPool2d") if isinstance(asked, Const) else "ChannelShuffle"
        return [(state, state.new(LayerObj("ChannelShuffle" if name == "Rearrange" else kind, {})))]
    if root not in ("einops", "einops.einops"):
        return None
    given, spans = args.get(0, "tensor"), args.spans[:1]
    if isinstance(held := state.get(given), ListObj) and name != "unpack":
        known = iteration.known_items(machine, state, given, span)
        row = "cat" if name == "pack" else "stack"
        given = operate(machine, state, row, known, span) if known and not held.open else objects.fresh(state, span)
        spans = ()
    match name:
        case "rearrange" | "repeat":
            return [(state, operate(machine, state, "repeat", (given,), span, spans=spans))]
        case "reduce" if isinstance(asked := args.get(2, "reduction"), Const) and asked.value in _REDUCTIONS:
            return [(state, operate(machine, state, _REDUCTIONS[str(asked.value)], (given,), span, spans=spans))]
        case "einsum":
            return [(state, _product(machine, state, args, span))]
        case "pack":
            return [(state, Tuple((given, objects.fresh(state, span, plain=True))))]
        case "unpack":
            return machine.call(state, External("torch.split"), Args((given,), spans=spans), span)
    return None


def _product(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """`einsum(tensor, ..., pattern)`."""
    tensors = tuple(value for value in args.pos if not isinstance(value, Const))
    return operate(machine, state, "bmm" if len(tensors) > 1 else "sum", tensors, span, spans=args.spans)


def outputs_function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make what a model of transformers returns, which holds what it was made of; None for any other path."""
    if conventions.TRANSFORMERS_OUTPUT.takes(path) and args.named and not args.pos and not args.open:
        fields = {name: value for name, value in args.named if value != NONE}
        items = {f"[{key!r}]": value for key, value in (*enumerate(fields.values()), *fields.items())}
        return [(state, state.new(UnknownObj(span, name="outputs", attrs={**items, **dict(args.named)})))]
    return None


def higher_function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """`higher.innerloop_ctx(model, optimizer)`; None for any other path."""
    if path not in ("higher.innerloop_ctx", "higher.patch.innerloop_ctx"):
        return None
    fast = _leaf(machine, state, span)
    tracks = FALSE if args.get(-1, "track_higher_grads") == FALSE else TRUE
    first = state.new(state.heap[fast.id])
    module = UnknownObj(span, hint="module", name="fmodel", notes=Notes(fast=fast, first=first))
    optimizer = UnknownObj(span, hint="trainer", name="diffopt", notes=Notes(fast=fast, tracks=tracks))
    return [(state, Tuple((state.new(module), state.new(optimizer))))]


def _leaf(machine: Machine, state: State, span: Span) -> Ref:
    """One weight stands for all."""
    return state.new(TensorObj(machine.graphs.leaf(state.moment(span)), ticket()))


def is_method(held: UnknownObj, name: str) -> bool:
    """Whether the module or the optimiser has such a method."""
    return held.notes.fast is not None and name == ("parameters" if held.notes.tracks is None else "step")


def method(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Results | None:
    """`diffopt.step(loss)`, `fmodel.parameters(time=...)`."""
    if name == "step" and held.notes.tracks is not None and args.pos:
        return _step(machine, state, held, args, span)
    if name == "parameters" and held.notes.first is not None and args.get(0, "time") in (NONE, Const(0)):
        asked = held.notes.first if args.has(0, "time") else held.notes.fast
        return [(state, state.new(ListObj((asked or NONE,))))]
    return None


def _step(machine: Machine, state: State, held: UnknownObj, args: Args, span: Span) -> Results:
    """The loss is walked to the weights; the new ones have a graph over them, if it is tracked."""
    fast, tracks = held.notes.fast, held.notes.tracks
    assert isinstance(fast, Ref)
    assert tracks is not None
    asked = Args((args.pos[0], Tuple((fast,))), (("create_graph", tracks),), span=span)
    edges = objects.edges_in(machine, state, (args.pos[0], fast))
    results = backward_calls.grad(machine, state, asked, span)
    for each, _ in results:
        if tracks == FALSE:
            each.set(fast, TensorObj(machine.graphs.leaf(each.moment(span)), ticket()))
        elif edges:
            assumed = "a differentiable optimiser saves what its step computes with"
            edge = machine.graphs.unseen(each, edges, each.birth(span), CONVENTIONAL, assumed)
            each.set(fast, TensorObj(edge, ticket()))
    return [(each, NONE) for each, _ in results]


def called(machine: Machine, state: State, held: UnknownObj, args: Args, span: Span) -> Results | None:
    """A call of the module with weights of its own; None for anything else."""
    if held.notes.fast is None or held.notes.tracks is not None:
        return None
    edges = objects.edges_in(machine, state, (*args.all, held.notes.fast))
    if not state.grad:
        return [(state, objects.fresh(state, span, plain=True))]
    assumed = "calling the patched module saves tensors for its backward"
    edge = machine.graphs.unseen(state, edges, state.birth(span), CONVENTIONAL, assumed)
    return [(state, state.new(UnknownObj(span, edge, "tensor")))]
