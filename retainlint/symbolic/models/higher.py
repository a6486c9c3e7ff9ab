"""`higher`: a module with weights of its own, and an optimiser whose steps have a graph."""

from __future__ import annotations

from retainlint.source import Span
from retainlint.symbolic import walking
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import State, ticket
from retainlint.symbolic.values import (
    CONVENTIONAL,
    FALSE,
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

_FAST, _FIRST, _TRACKS = "(fast)", "(first)", "(tracks)"


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """`higher.innerloop_ctx(model, optimizer)`; None for any other path."""
    if path not in ("higher.innerloop_ctx", "higher.patch.innerloop_ctx"):
        return None
    fast = _leaf(machine, state, span)
    tracks = FALSE if args.get(-1, "track_higher_grads") == FALSE else TRUE
    first = state.new(state.heap[fast.id])
    module = UnknownObj(span, hint="module", name="fmodel", attrs={_FAST: fast, _FIRST: first})
    optimizer = UnknownObj(span, hint="trainer", name="diffopt", attrs={_FAST: fast, _TRACKS: tracks})
    return [(state, Tuple((state.new(module), state.new(optimizer))))]


def _leaf(machine: Machine, state: State, span: Span) -> Ref:
    """One weight stands for all."""
    return state.new(TensorObj(machine.graphs.leaf(state.moment(span)), ticket()))


def is_method(held: UnknownObj, name: str) -> bool:
    """Whether the module or the optimiser has such a method."""
    return _FAST in held.attrs and name == ("step" if _TRACKS in held.attrs else "parameters")


def method(machine: Machine, state: State, held: UnknownObj, name: str, args: Args, span: Span) -> Results | None:
    """`diffopt.step(loss)`, `fmodel.parameters(time=...)`."""
    if name == "step" and _TRACKS in held.attrs and args.pos:
        return _step(machine, state, held, args, span)
    if name == "parameters" and _FIRST in held.attrs and args.get(0, "time") in (NONE, Const(0)):
        asked = held.attrs[_FIRST if args.has(0, "time") else _FAST]
        return [(state, state.new(ListObj((asked,))))]
    return None


def _step(machine: Machine, state: State, held: UnknownObj, args: Args, span: Span) -> Results:
    """The loss is walked to the weights; the new ones have a graph over them, if it is tracked."""
    fast, tracks = held.attrs[_FAST], held.attrs[_TRACKS]
    assert isinstance(fast, Ref)
    asked = Args((args.pos[0], Tuple((fast,))), (("create_graph", tracks),), span=span)
    edges = unknown.edges_in(machine, state, (args.pos[0], fast))
    results = walking.grad(machine, state, asked, span)
    for each, _ in results:
        if tracks == FALSE:
            each.set(fast, TensorObj(machine.graphs.leaf(each.moment(span)), ticket()))
        elif edges:
            assumed = "a differentiable optimiser saves what its step computes with"
            edge = machine.graphs.unseen(each, edges, each.moment(span), CONVENTIONAL, assumed)
            each.set(fast, TensorObj(edge, ticket()))
    return [(each, NONE) for each, _ in results]


def called(machine: Machine, state: State, held: UnknownObj, args: Args, span: Span) -> Value | None:
    """A call of the module with weights of its own; None for anything else."""
    if _FAST not in held.attrs or _TRACKS in held.attrs:
        return None
    edges = unknown.edges_in(machine, state, (*args.all, held.attrs[_FAST]))
    if not state.grad:
        return unknown.fresh(state, span, plain=True)
    assumed = "calling the patched module saves tensors for its backward"
    edge = machine.graphs.unseen(state, edges, state.moment(span), CONVENTIONAL, assumed)
    return state.new(UnknownObj(span, edge, "tensor"))
