"""Attention and transformers of torch.nn: their layers, and the weights that each call saves."""

from __future__ import annotations

from retainlint.source import Span
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import State, ticket
from retainlint.symbolic.values import (
    CONVENTIONAL,
    NONE,
    TRUE,
    Const,
    LayerObj,
    Ref,
    TensorObj,
    Tuple,
    Value,
)

_STACKS = {"TransformerEncoder": "encoder_layer", "TransformerDecoder": "decoder_layer"}
KINDS = {"MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer", *_STACKS}
_MOST = 6
"""A stack of more layers is taken as a whole."""


def made(machine: Machine, state: State, kind: str, args: Args, span: Span) -> Value:
    """A layer with one weight that stands for all of its own, or a stack of layers."""
    parts: dict[str, Value] = {}
    if kind in _STACKS:
        parts = _layers(machine, state, args.get(0, _STACKS[kind]), args.get(1, "num_layers"), span)
        parts |= {"norm": args.get(2, "norm")} if parts else {}
    elif kind == "Transformer":
        for part, stack in (("encoder", "TransformerEncoder"), ("decoder", "TransformerDecoder")):
            layer = made(machine, state, f"{stack}Layer", Args(), span)
            count = args.get(2 + len(parts), f"num_{part}_layers", Const(6))
            given = args.get(-1, f"custom_{part}")
            parts[part] = made(machine, state, stack, Args((layer, count)), span) if given == NONE else given
    if not parts:
        edge = machine.graphs.leaf(state.moment(span))
        parts = {"weight": state.new(TensorObj(edge, edge.node.variable, parameter=True))}
    return state.new(LayerObj(kind, parts))


def _layers(machine: Machine, state: State, first: Value, count: Value, span: Span) -> dict[str, Value]:
    """The layers of a stack, all like the first; none where there are many, or that is nothing we know."""
    held = state.get(first)
    if not (isinstance(held, LayerObj) and held.kind in KINDS and isinstance(count, Const)):
        return {}
    if not isinstance(count.value, int) or not 0 < count.value <= _MOST:
        return {}
    layers = tuple(made(machine, state, held.kind, Args(), span) for _ in range(count.value))
    listed = LayerObj("ModuleList", {str(i): layer for i, layer in enumerate(layers)}, layers)
    return {"layers": state.new(listed)}


def call(machine: Machine, state: State, layer: LayerObj, args: Args, span: Span) -> Results:
    """`layer(input, ...)`."""
    listed = state.get(layer.attrs.get("layers", NONE))
    if layer.kind in _STACKS and isinstance(listed, LayerObj):
        return _in_turn(machine, state, layer, listed.children, args, span)
    if "encoder" in layer.attrs and "decoder" in layer.attrs:
        source = Args((args.get(0, "src"),), spans=args.spans[:1])
        return [
            done
            for each, memory in machine.call(state, layer.attrs["encoder"], source, span)
            for done in machine.call(each, layer.attrs["decoder"], Args((args.get(1, "tgt"), memory)), span)
        ]
    return [(state, _computed(machine, state, layer, args, span))]


def _in_turn(
    machine: Machine, state: State, layer: LayerObj, children: tuple[Value, ...], args: Args, span: Span
) -> Results:
    """Each layer works on what the one before it gave."""
    norm = layer.attrs.get("norm", NONE)
    first, *rest = args.pos or (args.get(0, "src" if "src" in dict(args.named) else "tgt"),)
    named = tuple((name, value) for name, value in args.named if name not in ("src", "tgt"))
    results: Results = [(state, first)]
    for child in children:
        results = [
            done for each, value in results for done in machine.call(each, child, Args((value, *rest), named), span)
        ]
    if norm != NONE:
        results = [done for each, value in results for done in machine.call(each, norm, Args((value,)), span)]
    return results


def _computed(machine: Machine, state: State, layer: LayerObj, args: Args, span: Span) -> Value:
    """What one layer gives: it saves what goes in and its weights, for each has several in a row."""
    if not state.grad:
        plain: Value = unknown.fresh(state, span, plain=True)
        return Tuple((plain, unknown.fresh(state, span, plain=True))) if layer.kind == "MultiheadAttention" else plain
    held = [state.get(value) for value in layer.attrs.values() if isinstance(value, Ref)]
    own = [(each.edge, CONVENTIONAL) for each in held if isinstance(each, TensorObj) and each.edge is not None]
    own = [(edge, level) for edge, level in own if edge.node.is_leaf]
    edges = unknown.edges_in(machine, state, args.all)
    if not edges and not own:
        return unknown.fresh(state, span)
    assumed = f"calling `nn.{layer.kind}` saves tensors for its backward"
    edge = machine.graphs.unseen(state, edges, state.moment(span), CONVENTIONAL, assumed, weights=own)
    result = state.new(TensorObj(edge, ticket()))
    if layer.kind != "MultiheadAttention":
        return result
    if args.get(4, "need_weights", TRUE) != TRUE:
        return Tuple((result, NONE))
    scores = machine.graphs.part(state, edge, state.moment(span), CONVENTIONAL, assumed)
    return Tuple((result, state.new(TensorObj(scores, ticket()))))
