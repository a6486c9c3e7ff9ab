"""torch.nn.utils and the wrappers of modules: weights that are computed from others at each use, and modules that stand for others."""

from __future__ import annotations

from retainlint.startup.records import replace
from retainlint.symbolic.models.python import iteration, library
from retainlint.symbolic.models.torch import hooks, modules, submodules
from retainlint.symbolic.models.torch.in_place_changes import bump
from retainlint.symbolic.models.torch.new_tensors import operate
from retainlint.symbolic.models.unknown import call_results, objects, weights
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.shape import UNKNOWN, Shape
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    FALSE,
    NONE,
    Const,
    External,
    Instance,
    LayerObj,
    Partial,
    Ref,
    TensorObj,
    Tuple,
    Value,
)
from retainlint.text.source import Span

_RENEW = External("torch.nn.utils.(renew)")

_COMPUTE = External("torch.nn.utils.parametrizations.(compute)")

_NORMS = {"weight_norm", "spectral_norm", "orthogonal"}

_MASKS = {
    "identity", "random_unstructured", "l1_unstructured", "ln_structured", "random_structured", "custom_from_mask",
}  # fmt: skip


def parametrized_function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Have a weight computed anew, or no longer; None for any other path of torch.nn.utils."""
    name, module = path.rpartition(".")[2], args.get(0, "module")
    if path == _RENEW.path:
        return _renew(machine, state, args, span)
    if path.startswith("torch.nn.utils.parametrize.") and name in (
        "register_parametrization",
        "remove_parametrizations",
    ):
        made = args.get(2, "parametrization") if name == "register_parametrization" else None
        return [(state, modules.parametrize(state, module, args.get(1, "tensor_name"), made))]
    if path == _COMPUTE.path:
        kind, owner, original = args.pos[:3]
        assert isinstance(kind, Const)
        return [(state, _compute(machine, state, str(kind.value), "", owner, (original,), span))]
    if path.startswith("torch.nn.utils.parametrizations.") and name in _NORMS:
        return [(state, _parametrized(machine, state, name, module, args.get(1, "name", Const("weight")), span))]
    if path in ("torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm"):
        return _begin(machine, state, name, module, args.get(1, "name", Const("weight")), span)
    if path in ("torch.nn.utils.remove_weight_norm", "torch.nn.utils.remove_spectral_norm"):
        return _end(machine, state, name.removeprefix("remove_"), module, args.get(1, "name", Const("weight")), span)
    if not path.startswith("torch.nn.utils.prune."):
        return None
    if name in _MASKS:
        return _begin(machine, state, "mask", module, args.get(1, "name"), span)
    if name == "global_unstructured":
        return _all_masked(machine, state, args, span)
    return _end(machine, state, "mask", module, args.get(1, "name"), span) if name == "remove" else None


def _parametrized(machine: Machine, state: State, kind: str, module: Value, name: Value, span: Span) -> Value:
    """A norm as a parametrization. That of a weight's length and direction starts from new parameters."""
    held = state.get(module)
    if kind == "weight_norm" and isinstance(held, LayerObj) and isinstance(module, Ref) and isinstance(name, Const):
        if isinstance(state.get(held.attrs.get(str(name.value), NONE)), TensorObj):
            submodules.put(state, module, str(name.value), parameter(machine, state, span))
    made = Partial(_COMPUTE, (Const(kind), module), ())
    return modules.parametrize(state, module, name, made)


def parameter(machine: Machine, state: State, span: Span, shape: Shape = UNKNOWN) -> Ref:
    return state.new(TensorObj(machine.graphs.leaf(state.moment(span)), ticket(), parameter=True, shape=shape))


def _begin(machine: Machine, state: State, kind: str, module: Value, name: Value, span: Span) -> Results:
    """Move a weight aside, and compute it from there before each forward. Spectral norm leaves a plain copy until then."""
    if not (isinstance(name, Const) and isinstance(state.get(module), LayerObj | Instance)):
        return [(state, module)]
    assert isinstance(module, Ref)
    hook, label = _hook(kind, name), str(name.value)
    found: Results = []
    for each, weight in machine.attribute(state, module, label, span):
        owner, held = each.heap[module.id], each.get(weight)
        assert isinstance(owner, LayerObj | Instance)
        if isinstance(held, TensorObj) and held.parameter and f"{label}_orig" not in owner.attrs:
            kept = {key: value for key, value in owner.attrs.items() if key != label}
            if kind == "weight_norm":
                kept |= {f"{label}_g": parameter(machine, each, span), f"{label}_v": parameter(machine, each, span)}
            else:
                kept |= {f"{label}_orig": weight}
            each.set(module, replace(owner, attrs=kept))
            hooks.add(each, module, hooks.BEFORE, hook)
            submodules.put(each, module, label, each.new(TensorObj(None, held.storage)))
            if kind != "spectral_norm":
                _renew(machine, each, Args((*hook.args, module)), span)
        found.append((each, module))
    return found


def _end(machine: Machine, state: State, kind: str, module: Value, name: Value, span: Span) -> Results:
    """Make a weight a parameter again: a new one, but for a pruned one."""
    held = state.get(module)
    if isinstance(held, LayerObj | Instance) and isinstance(module, Ref) and isinstance(name, Const):
        hook, label = _hook(kind, name), str(name.value)
        if hook in hooks.registered(state, module, hooks.BEFORE):
            hooks.drop(state, module, hooks.BEFORE, hook)
            original = held.attrs.get(f"{label}_orig", NONE)
            made = original if kind == "mask" else parameter(machine, state, span)
            state.drop(module, (f"{label}_{part}" for part in ("orig", "g", "v", "u")))
            submodules.put(state, module, label, made)
    return [(state, module)]


def _all_masked(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """`global_unstructured([(module, name), ...], ...)`."""
    known = iteration.known_items(machine, state, args.get(0, "parameters"), span) or ()
    results: Results = [(state, NONE)]
    for pair in known:
        if isinstance(pair, Tuple) and len(pair.items) == 2:
            results = [done for each, _ in results for done in _begin(machine, each, "mask", *pair.items, span)]
    return [(each, NONE) for each, _ in results]


def _renew(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """Run the hook: `args` are its kind, the weight's name, and the module."""
    kind, name, module = args.pos[:3]
    held = state.get(module)
    assert isinstance(held, LayerObj | Instance) and isinstance(kind, Const) and isinstance(name, Const)
    assert isinstance(module, Ref)
    label = str(name.value)
    ends = ("_v", "_g") if kind.value == "weight_norm" else ("_orig",)
    sources = tuple(held.attrs.get(f"{label}{end}", NONE) for end in ends)
    submodules.put(state, module, label, _compute(machine, state, str(kind.value), label, module, sources, span))
    return [(state, NONE)]


def _compute(
    machine: Machine, state: State, kind: str, name: str, module: Value, sources: tuple[Value, ...], span: Span
) -> Value:
    """A weight from what it is made of; `name` is that of a weight whose vectors are the module's own buffers."""
    match kind:
        case "spectral_norm":
            u, v = _vectors(machine, state, name, module, span) if name else (NONE, NONE)
            image = operate(machine, state, "mv", (sources[0], v), span)
            length = operate(machine, state, "dot", (u, image), span)
            return operate(machine, state, "div", (sources[0], length), span)
        case "weight_norm":
            return operate(machine, state, "prelu", (*sources, *sources)[:2], span)
        case "mask":
            return operate(machine, state, "mul", (sources[0], objects.fresh(state, span, plain=True)), span)
    lower = operate(machine, state, "tril", sources, span)  # all is computed from this copy
    return operate(machine, state, "logdet", (lower,), span)


def _vectors(machine: Machine, state: State, name: str, module: Value, span: Span) -> tuple[Value, Value]:
    """The vectors of old-style spectral norm: in training they are changed in place, and copies of them are used."""
    held = state.get(module)
    assert isinstance(held, LayerObj | Instance) and isinstance(module, Ref)
    names = (f"{name}_u", f"{name}_v")
    training = held.training if isinstance(held, LayerObj) else held.attrs.get("training") != FALSE
    known = [held.attrs.get(each) for each in names]
    if training:
        for vector in known:
            if isinstance(own := state.get(vector) if vector is not None else None, TensorObj):
                bump(state, own.storage, span, text="the vectors of the norm", loads=True)
        state.drop(module, names)
        return NONE, NONE
    if state.grad and None in known:
        known = [state.new(TensorObj(None, ticket())) for _ in names]
        state.set(module, replace(held, attrs={**held.attrs, **dict(zip(names, known, strict=True))}))
    return known[0] or NONE, known[1] or NONE


def _hook(kind: str, name: Const) -> Partial:
    return Partial(_RENEW, (Const(kind), Const(name.value)), ())


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


def wrapping_function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Wrap a module, or join its parameters; None for any other path."""
    name = path.rpartition(".")[2]
    if path in _WRAPPERS:
        return [(state, args.get(0, "module"))]
    if path == f"torch.optim.swa_utils.{AVERAGED}":
        copied = library.copied(machine, state, args.get(0, "model"), span)
        return [(state, state.new(LayerObj(AVERAGED, {"module": copied}, (copied,))))]
    if path == "torch.jit.load":  # whether its weights were saved as learning ones nobody sees
        loaded = objects.fresh(state, span, hint="module")
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
            return [(state, call_results.called(machine, state, External(path), args, span))]
        views = [operate(machine, state, "view", (value,), span) for value in known]
        return [(state, operate(machine, state, "cat", views, span))]
    if path.startswith("torch.nn.utils.rnn.") and name in _PACKING:
        return [(state, _packing(machine, state, name, args, span))]
    if name in _SAME:
        return [(state, args.get(0, "module"))]
    return parametrized_function(machine, state, path, args, span)


def averaged(machine: Machine, state: State, obj: Ref, span: Span) -> Results:
    """`AveragedModel.update_parameters(model)`: an in-place change of each average."""
    for value in submodules.owned(state, obj)[0]:
        held = state.get(value)
        if isinstance(held, TensorObj):
            bump(state, held.storage, span, text="the averages", loads=True)
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
    return objects.fresh(state, span, plain=True)
