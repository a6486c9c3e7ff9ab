"""torch.nn.utils and the wrappers of modules: what comes back is the module, or a tensor of its parameters."""

from __future__ import annotations

from retainlint.source import Span
from retainlint.symbolic import iteration
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import hooks, library, modules, parts, renewing, unknown, weights
from retainlint.symbolic.models.operations import bump, operate
from retainlint.symbolic.state import State
from retainlint.symbolic.values import (
    FALSE,
    NONE,
    External,
    LayerObj,
    Ref,
    TensorObj,
    Tuple,
    Value,
)

AVERAGED = "AveragedModel"
_PACKING = {
    "pack_padded_sequence": "input", "pad_packed_sequence": "sequence",
    "pack_sequence": "sequences", "pad_sequence": "sequences",
}  # fmt: skip
"""What packs and pads sequences, and the name of its first parameter."""
_FIELDS = ("data", "batch_sizes", "sorted_indices", "unsorted_indices")
_SAME = {"convert_conv2d_weight_memory_format", "fuse_conv_bn_eval"}
_WRAPPERS = (
    "torch.distributed.fsdp.FullyShardedDataParallel", "torch.distributed.fsdp.fully_shard",
    "torch.distributed._composable.fsdp.fully_shard", "torch.nn.parallel.distributed.DistributedDataParallel",
    "torch.nn.parallel.data_parallel.DataParallel", "apex.parallel.DistributedDataParallel",
    "fairscale.nn.FullyShardedDataParallel", "fairscale.nn.data_parallel.ShardedDataParallel",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "torch.quantization.prepare_qat", "apex.parallel.convert_syncbn_model",
)  # fmt: skip


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Wrap a module, or join its parameters; None for any other path."""
    name = path.rpartition(".")[2]
    if path in _WRAPPERS:
        return [(state, args.get(0, "module"))]
    if path == f"torch.optim.swa_utils.{AVERAGED}":
        copied = library.copied(machine, state, args.get(0, "model"), span)
        return [(state, state.new(LayerObj(AVERAGED, {"module": copied}, (copied,))))]
    if path == "torch.jit.load":  # whether its weights were saved as learning ones nobody sees
        loaded = unknown.fresh(state, span, hint="module")
        weights.require(machine, state, loaded, FALSE)
        return [(state, loaded)]
    if path == hooks.REMOVE:
        hooks.removed(state, args)
        return [(state, NONE)]
    if not path.startswith("torch.nn.utils."):
        return None
    if name == "parameters_to_vector":
        known = iteration.known_items(machine, state, args.get(0, "parameters"), span)
        if known is None:
            return [(state, unknown.called(machine, state, External(path), args, span))]
        views = [operate(machine, state, "view", (value,), span) for value in known]
        return [(state, operate(machine, state, "cat", views, span))]
    if path.startswith("torch.nn.utils.rnn.") and name in _PACKING:
        return [(state, _packing(machine, state, name, args, span))]
    if name in _SAME:
        return [(state, args.get(0, "module"))]
    return renewing.function(machine, state, path, args, span)


def averaged(machine: Machine, state: State, obj: Ref, span: Span) -> Results:
    """`AveragedModel.update_parameters(model)`: an in-place change of each average."""
    for value in parts.owned(state, obj)[0]:
        held = state.get(value)
        if isinstance(held, TensorObj):
            bump(state, held.storage, span, text="the averages")
    return [(state, NONE)]


def _packing(machine: Machine, state: State, name: str, args: Args, span: Span) -> Value:
    """Sequences of unlike lengths, packed or padded: rows are chosen by indices, which the graph saves."""
    given = args.get(0, _PACKING[name])
    source = unpacked(given) or given
    if _PACKING[name] == "sequences" and (known := iteration.known_items(machine, state, given, span)) is not None:
        source = operate(machine, state, "cat", known, span)
    chosen = operate(machine, state, "index_select", (source, _plain(state, span)), span, spans=args.spans[:1])
    match name:
        case "pad_sequence":
            return chosen
        case "pad_packed_sequence":
            return Tuple((chosen, _plain(state, span)))
    return packed(state, chosen, span)


def packed(state: State, data: Value, span: Span) -> Tuple:
    """A `PackedSequence` over a tensor."""
    return Tuple((data, *(_plain(state, span) for _ in _FIELDS[1:])), _FIELDS)


def unpacked(value: Value) -> Value | None:
    """The tensor of a `PackedSequence`, None if it is none."""
    return value.items[0] if isinstance(value, Tuple) and value.names == _FIELDS else None


def _plain(state: State, span: Span) -> Value:
    return unknown.fresh(state, span, plain=True)


def weight(machine: Machine, state: State, obj: Value, held: LayerObj, name: str, span: Span) -> Value | None:
    """A parametrized weight that the program itself reads."""
    if f"{modules.PARAMETRIZED}{name}" in held.attrs and isinstance(obj, Ref):
        return modules.weight(machine, state, obj, name, span)
    return None
