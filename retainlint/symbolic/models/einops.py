"""einops: its functions and layers are views, copies, sums and products of torch."""

from __future__ import annotations

from retainlint.source import Span
from retainlint.symbolic import iteration
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import unknown
from retainlint.symbolic.models.operations import operate
from retainlint.symbolic.state import State
from retainlint.symbolic.values import Const, External, LayerObj, ListObj, Tuple, Value

_LAYERS = "einops.layers.torch."
_REDUCTIONS = {"mean": "mean", "sum": "sum", "max": "amax", "min": "amin", "prod": "prod"}
_LIKE = {"mean": "ChannelShuffle", "sum": "ChannelShuffle"}
"""The layer of torch that treats a graph as a reduction does, where it isn't pooling by the largest."""


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
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
        given = operate(machine, state, row, known, span) if known and not held.open else unknown.fresh(state, span)
        spans = ()
    match name:
        case "rearrange" | "repeat":
            return [(state, operate(machine, state, "repeat", (given,), span, spans=spans))]
        case "reduce" if isinstance(asked := args.get(2, "reduction"), Const) and asked.value in _REDUCTIONS:
            return [(state, operate(machine, state, _REDUCTIONS[str(asked.value)], (given,), span, spans=spans))]
        case "einsum":
            return [(state, _product(machine, state, args, span))]
        case "pack":
            return [(state, Tuple((given, unknown.fresh(state, span, plain=True))))]
        case "unpack":
            return machine.call(state, External("torch.split"), Args((given,), spans=spans), span)
    return None


def _product(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """`einsum(tensor, ..., pattern)`."""
    tensors = tuple(value for value in args.pos if not isinstance(value, Const))
    return operate(machine, state, "bmm" if len(tensors) > 1 else "sum", tensors, span, spans=args.spans)
