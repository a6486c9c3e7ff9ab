"""The modules of torch.nn: what they own, and what calling them computes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from retainlint.autograd.operations import rows
from retainlint.startup.records import record, replace
from retainlint.symbolic.models.python import iteration
from retainlint.symbolic.models.torch import modules, parametrizations, shapes, submodules
from retainlint.symbolic.models.torch.in_place_changes import RENORMED, change, renorm
from retainlint.symbolic.models.torch.new_tensors import lost, operate, shaped
from retainlint.symbolic.models.torch.operations import pooled
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.shape import SCALAR, UNKNOWN, Shape, ending, of_rank, whole
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    FALSE,
    NONE,
    TRUE,
    Const,
    DictObj,
    External,
    LayerObj,
    ListObj,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_STACKS = {"TransformerEncoder": "encoder_layer", "TransformerDecoder": "decoder_layer"}

KINDS = {"MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer", *_STACKS}


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
    if not isinstance(count.value, int) or not 0 < count.value <= limits.STACKED_LAYERS:
        return {}
    layers = tuple(made(machine, state, held.kind, Args(), span) for _ in range(count.value))
    listed = LayerObj("ModuleList", {str(i): layer for i, layer in enumerate(layers)}, layers)
    return {"layers": state.new(listed)}


def call_attention(machine: Machine, state: State, layer: LayerObj, args: Args, span: Span) -> Results:
    """`layer(input, ...)`."""
    listed = state.get(layer.attrs.get("layers", NONE))
    if layer.kind in _STACKS and isinstance(listed, LayerObj):
        return _in_iteration(machine, state, layer, listed.children, args, span)
    if "encoder" in layer.attrs and "decoder" in layer.attrs:
        source = Args((args.get(0, "src"),), spans=args.spans[:1])
        return [
            done
            for each, memory in machine.call(state, layer.attrs["encoder"], source, span)
            for done in machine.call(each, layer.attrs["decoder"], Args((args.get(1, "tgt"), memory)), span)
        ]
    return [(state, _computed(machine, state, layer, args, span))]


def _in_iteration(
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
        cut = lost(machine, state, args.all, span)
        plain: Value = state.new(TensorObj(None, ticket(), cut=cut)) if cut else objects.fresh(state, span, plain=True)
        return Tuple((plain, objects.fresh(state, span, plain=True))) if layer.kind == "MultiheadAttention" else plain
    held, given = (
        [state.get(value) for value in values if isinstance(value, Ref)] for values in (layer.attrs.values(), args.all)
    )
    own = [(each.edge, CONVENTIONAL) for each in held if isinstance(each, TensorObj) and each.edge is not None]
    own = [(edge, level) for edge, level in own if edge.node.is_leaf]
    edges = objects.edges_in(machine, state, args.all)
    assumed = f"calling `nn.{layer.kind}` saves tensors for its backward"
    edge = None
    if edges or own:
        edge = machine.graphs.unseen(state, edges, state.birth(span), CONVENTIONAL, assumed, weights=own)
    elif not held or not all(isinstance(each, TensorObj) and each.has_no_graph for each in (*held, *given)):
        return objects.fresh(state, span)  # of frozen weights and data nothing with a graph is made
    result = state.new(TensorObj(edge, ticket()))
    if layer.kind != "MultiheadAttention":
        return result
    if args.get(4, "need_weights", TRUE) != TRUE:
        return Tuple((result, NONE))
    scores = edge and machine.graphs.part(state, edge, state.birth(span), CONVENTIONAL, assumed)
    return Tuple((result, state.new(TensorObj(scores, ticket()))))


_ALIKE = """
GELU Softplus Sigmoid LogSigmoid Tanh Softmax Softmin LogSoftmax MaxPool1d AdaptiveMaxPool2d PixelShuffle MSELoss
L1Loss SmoothL1Loss HuberLoss NLLLoss BCELoss CosineSimilarity TripletMarginLoss MarginRankingLoss CosineEmbeddingLoss
CTCLoss GaussianNLLLoss PoissonNLLLoss HingeEmbeddingLoss MultiMarginLoss SoftMarginLoss PairwiseDistance
TripletMarginWithDistanceLoss GLU Hardshrink Softshrink Softsign Tanhshrink ChannelShuffle PixelUnshuffle Fold
AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool3d AvgPool3d MaxPool3d FractionalMaxPool2d FractionalMaxPool3d
MaxUnpool1d MaxUnpool2d MaxUnpool3d LPPool1d LPPool2d LPPool3d LocalResponseNorm
"""
"""Layers that compute the row of the table of operations that is called as they are, `L1Loss` `l1_loss`, without parameters."""

_LAYERS = """
Linear = linear weight:out_features@1,in_features@0 bias:out_features@1 | bias@2
Bilinear = bilinear weight:3 bias | bias@3
Conv1d = convolution weight:3 bias | bias@7
Conv2d = convolution weight:4 bias | bias@7
Conv3d = convolution weight:5 bias | bias@7
ConvTranspose1d = convolution weight:3 bias | bias@8
ConvTranspose2d = convolution weight:4 bias | bias@8
ConvTranspose3d = convolution weight:5 bias | bias@8
Embedding = embedding weight:num_embeddings@0,embedding_dim@1
EmbeddingBag = embedding_bag weight:2
LayerNorm = layer_norm weight:? bias:? | bias@3 elementwise_affine@2
RMSNorm = rms_norm weight:? | elementwise_affine@2
GroupNorm = group_norm weight bias | affine@3
BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm = batch_norm weight bias | affine@3
InstanceNorm1d InstanceNorm2d InstanceNorm3d = instance_norm weight bias | affine@3=False
PReLU = prelu weight
RNN = rnn weight_ih_l0:2 weight_hh_l0:2 bias_ih_l0 bias_hh_l0 | bias@3
LSTM = lstm weight_ih_l0:2 weight_hh_l0:2 bias_ih_l0 bias_hh_l0 | bias@3
GRU = gru weight_ih_l0:2 weight_hh_l0:2 bias_ih_l0 bias_hh_l0 | bias@3
RNNCell = rnn weight_ih:2 weight_hh:2 bias_ih bias_hh | bias@2
LSTMCell = lstm weight_ih:2 weight_hh:2 bias_ih bias_hh | bias@2
GRUCell = gru weight_ih:2 weight_hh:2 bias_ih bias_hh | bias@2
ReLU = relu | inplace@0=False
ReLU6 = relu6 | inplace@0=False
LeakyReLU = leaky_relu | inplace@1=False
ELU = elu | inplace@1=False
SELU = selu | inplace@0=False
CELU = celu | inplace@1=False
SiLU = silu | inplace@0=False
Mish = mish | inplace@0=False
Hardtanh = hardtanh | inplace@2=False
Hardsigmoid = hardsigmoid | inplace@0=False
Hardswish = hardswish | inplace@0=False
Softmax2d = softmax
Flatten Unflatten = view
MaxPool2d = max_pool
AvgPool1d AvgPool2d = avg_pool
AdaptiveAvgPool1d AdaptiveAvgPool2d = adaptive_pool
ZeroPad2d ConstantPad2d ConstantPad1d ConstantPad3d ZeroPad1d ZeroPad3d = pad
ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad3d ReplicationPad2d = pad_reflect
Upsample UpsamplingNearest2d UpsamplingBilinear2d = interpolate
Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout = dropout | inplace@1=False
NLLLoss2d = nll_loss
CrossEntropyLoss = cross_entropy
BCEWithLogitsLoss = bce_logits_loss
KLDivLoss = kl_div
MultiLabelSoftMarginLoss = multilabel_soft_margin_loss
MultiLabelMarginLoss = multilabel_margin_loss
Threshold = threshold | inplace@2=False
RReLU = rrelu | inplace@2=False
CircularPad1d CircularPad2d CircularPad3d = pad_circular
Unfold = im2col
LazyLinear = linear weight:2 bias | bias@1
LazyConv1d LazyConvTranspose1d = convolution weight:3 bias
LazyConv2d LazyConvTranspose2d = convolution weight:4 bias
LazyConv3d LazyConvTranspose3d = convolution weight:5 bias
LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d = batch_norm weight bias
LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d = instance_norm weight bias | affine@2=False
"""
"""What calling each other computes, by a row of the table of operations, and its parameters, each with how many dimensions it has: one,
unless it says more, or `?`, which depends; or with the arguments that say how long these are, and their places. Behind the bar stand the options that leave them out, `bias` its own, another one all, or by which it overwrites its input: each with its place among the arguments
and what it is unless given, if not True."""


Sizes: TypeAlias = "tuple[tuple[str, int] | None, ...] | None"
"""For each dimension of a parameter the argument that says how long it is, and its place; None where none does."""


@record
class Layer:
    """A row of the table of operations, with parameters and the options that leave these out."""

    row: str
    parameters: Mapping[str, Sizes]
    options: tuple[tuple[str, int, Const], ...] = ()


def _table() -> dict[str, Layer]:
    found = {name: Layer(_WORD.sub("_", name).lower(), {}) for name in _ALIKE.split()}
    for line in _LAYERS.strip().splitlines():
        kinds, _, said = line.partition(" = ")
        made, _, options = said.partition(" | ")
        row, *parameters = made.split()
        layer = Layer(row, dict(map(_sized, parameters)), tuple(map(_option, options.split())))
        found |= dict.fromkeys(kinds.split(), layer)
    return found


def _sized(text: str) -> tuple[str, Sizes]:
    name, _, said = text.partition(":")
    if "@" in said:
        return name, tuple((each, int(place)) for each, _, place in (part.partition("@") for part in said.split(",")))
    return name, None if said == "?" else (None,) * int(said or 1)


def _option(text: str) -> tuple[str, int, Const]:
    name, _, rest = text.partition("@")
    place, _, default = rest.partition("=")
    return name, int(place), FALSE if default == "False" else TRUE


_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word begins within the name of a class."""

LAYERS = _table()

CONTAINERS = {"Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Module", "Identity"}

_PRETRAINED = {"Embedding.from_pretrained", "EmbeddingBag.from_pretrained"}

_WRAPPERS = {"DataParallel", "parallel.DistributedDataParallel", "parallel.DataParallel"}


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make a layer."""
    if not path.startswith("torch.nn."):
        return None
    kind = path.removeprefix("torch.nn.")
    if kind in _WRAPPERS:
        return [(state, args.get(0, "module"))]
    if kind in CONTAINERS:
        return [(state, _container(machine, state, kind, args, span))]
    layer = LAYERS.get(kind)
    if layer is not None:
        attrs: dict[str, Value] = {
            name: _parameter(machine, state, layer, name, args, span) for name in layer.parameters
        }
        settings = (each for each in layer.options if each[0] == "inplace")
        attrs |= {option: args.get(place, option, default) for option, place, default in settings}
        attrs |= {f"_{name}": value for name, value in args.named}
        attrs |= {f"_{index}": value for index, value in enumerate(args.pos)}
        return [(state, state.new(LayerObj(kind, attrs)))]
    if kind in _PRETRAINED:
        return _from_pretrained(machine, state, kind, args, span)
    if kind in KINDS:
        return [(state, made(machine, state, kind, args, span))]
    if kind[:1].isupper() and "." not in kind:  # a layer that we have no row for: it owns some weight
        return [(state, state.new(LayerObj(kind, {"weight": parametrizations.parameter(machine, state, span)})))]
    return None


def _parameter(machine: Machine, state: State, layer: Layer, name: str, args: Args, span: Span) -> Value:
    """One parameter of a layer; None where it was made without; where nobody knows, it may be either."""
    for option, place, default in layer.options:
        if option != "bias" or name.startswith("bias"):
            asked = args.get(place, option, default)
            if asked == FALSE:
                return NONE
            if asked != TRUE and default == FALSE:
                return state.new(TensorObj(None, ticket(), parameter=True, unsure=True))
    said = layer.parameters[name]
    if said is None:
        return parametrizations.parameter(machine, state, span)
    sizes = [None if each is None else shapes.size(args.get(each[1], each[0])) for each in said]
    return parametrizations.parameter(machine, state, span, whole(sizes))


def _from_pretrained(machine: Machine, state: State, kind: str, args: Args, span: Span) -> Results:
    """A table of given rows, frozen unless it is told otherwise."""
    found: Results = []
    for each, freezes in machine.branch(state, args.get(1, "freeze", TRUE), args.place(1, "freeze", span)):
        weight = parametrizations.parameter(machine, each, span)
        if freezes:
            each.set(weight, TensorObj(None, ticket(), cut=("leaf", span), parameter=True))
        attrs = {f"_{name}": value for name, value in (*zip(map(str, range(4)), args.pos), *args.named)}
        layer = LayerObj(kind.partition(".")[0], {**attrs, "weight": weight})
        found.append((each, each.new(layer)))
    return found


def inherited(machine: Machine, state: State, bases: Iterable[Value], name: str, span: Span) -> Ref | None:
    """A weight that a class of the program has from the layer of torch that it is derived from."""
    for base in bases:
        layer = LAYERS.get(base.path.removeprefix("torch.nn.")) if isinstance(base, External) else None
        if layer is not None and name in layer.parameters:
            edge = machine.graphs.leaf(state.moment(span), CONVENTIONAL)
            return state.new(TensorObj(edge, ticket(), parameter=True))
    return None


def _container(machine: Machine, state: State, kind: str, args: Args, span: Span) -> Value:
    """Sequential(a, b), Sequential(OrderedDict(...)), ModuleList([...]), ModuleDict({...}), and their kin."""
    entries: dict[str, Value] = {}
    open_ = args.open
    for number, value in enumerate(args.pos):
        held = state.get(value)
        if isinstance(held, DictObj):
            texts = ((key.value if isinstance(key, Const) else f"?{n}") for n, key in enumerate(held.items))
            entries |= {str(text): item for text, item in zip(texts, held.items.values(), strict=True)}
            open_ |= held.open or bool(held.rest)
        elif kind in ("ModuleList", "ParameterList"):
            known = iteration.known_items(machine, state, value, span)
            open_ |= known is None
            if known is None and isinstance(held, ListObj) and held.items:
                known = list(held.items)
            elif known is None:
                known = [iteration.any_item(machine, state, value, span)]
            entries |= {str(i): item for i, item in enumerate(known)}
        else:
            entries[str(number)] = value
    if open_ and (not entries or kind == "Sequential"):  # what isn't known of it computes as well
        return objects.fresh(state, span, hint="module", name=kind)
    entries = {name: submodules.as_parameter(machine, state, kind, each, span) for name, each in entries.items()}
    if not kind.startswith("Parameter"):
        for value in entries.values():
            modules.adopt(state, value)
    return state.new(LayerObj(kind, entries, tuple(entries.values())))


# -- calling ------------------------------------------------------------------------------------------------------


def call(machine: Machine, state: State, ref: Ref, args: Args, span: Span) -> Results:
    """`layer(input, ...)`."""
    layer = state.heap[ref.id]
    assert isinstance(layer, LayerObj)
    inputs = _inputs(args)
    if not inputs and (layer.kind in LAYERS or layer.kind == "Identity"):
        return [(state, objects.fresh(state, span))]  # torch refuses it, or it isn't this layer that is called
    match layer.kind:
        case "Sequential" | parametrizations.AVERAGED:
            return _sequential(machine, state, layer, args, span)
        case "Identity":
            return [(state, args.get(0, "input"))]
        case "RNN" | "GRU" | "LSTM" | "RNNCell" | "GRUCell" | "LSTMCell":
            return [(state, _recurrent(machine, state, layer, args, span))]
        case "Dropout" | "Dropout1d" | "Dropout2d" | "Dropout3d" | "AlphaDropout" | "FeatureAlphaDropout":
            rate = layer.attrs.get("_p", layer.attrs.get("_0", Const(0.5)))
            if not layer.training or rate in (Const(0), Const(0.0)):
                return [(state, args.get(0, "input"))]
            if _in_place(layer) and args.pos:  # at a rate of 0 torch changes nothing
                told = isinstance(rate, Const)
                return [(state, _changed(machine, state, "dropout", args, span) if told else args.pos[0])]
        case "CrossEntropyLoss":
            scores = operate(machine, state, "log_softmax", inputs[:1], span, spans=args.spans)
            operands = (scores, *inputs[1:2])
            return [(state, _result(machine, state, layer, "nll_loss", operands, span, args.spans))]
    if layer.kind in KINDS:
        return call_attention(machine, state, layer, args, span)
    known = LAYERS.get(layer.kind)
    if known is None:
        return [(state, _unseen(machine, state, layer, args, span))]
    row = pooled(known.row, layer.attrs.get("_0", NONE))
    weights = {name: modules.weight(machine, state, ref, name, span) for name in known.parameters}
    if not weights and args.pos and _in_place(layer):
        return [(state, _changed(machine, state, row, args, span))]
    count = 3 if layer.kind in _OF_THREE else 2 if not weights or row == "bilinear" else 1
    operands = (*inputs[:count], *(weights.get(name, NONE) for name in rows()[row].inputs[count:]))
    if row in RENORMED:
        renorm(state, weights.get("weight", NONE), layer.attrs.get("_max_norm", layer.attrs.get("_3", NONE)), span)
    return [(state, _result(machine, state, layer, row, operands, span, args.spans[:count]))]


_INPUTS = (
    "input", "input1", "x1", "anchor", "log_probs", "input2", "x2", "positive", "target", "targets", "negative", "var",
)  # fmt: skip
"""What the inputs of layers and losses are called, in their order."""

_OF_THREE = frozenset(("TripletMarginLoss", "TripletMarginWithDistanceLoss", "GaussianNLLLoss"))


def _inputs(args: Args) -> tuple[Value, ...]:
    """What a layer computes from, given by place or by name."""
    named = dict(args.named)
    return (*args.pos, *(named[name] for name in _INPUTS if name in named))


def _in_place(layer: LayerObj) -> bool:
    return layer.attrs.get("inplace") == TRUE


def _changed(machine: Machine, state: State, row: str, args: Args, span: Span) -> Value:
    """The layer overwrites its input."""
    if isinstance(state.get(args.pos[0]), TensorObj):
        change(machine, state, args.pos[0], row, (), span, spans=args.spans[:1])
        return args.pos[0]
    return operate(machine, state, row, args.pos[:1], span, spans=args.spans[:1])


def _result(
    machine: Machine,
    state: State,
    layer: LayerObj,
    row: str,
    operands: tuple[Value, ...],
    span: Span,
    spans: tuple[Span | None, ...],
) -> Value:
    """What a layer computes; a loss is a scalar unless it was asked not to reduce."""
    result = operate(machine, state, row, operands, span, spans=spans)
    is_mean = layer.kind.endswith("Loss") and "_reduction" not in layer.attrs
    return shaped(state, result, SCALAR) if is_mean else result


def _sequential(machine: Machine, state: State, layer: LayerObj, args: Args, span: Span) -> Results:
    results: Results = [(state, args.get(0, "input"))]
    first = True
    for child in layer.children:
        spans = args.spans[:1] if first else (None,)
        results = [
            done for each, value in results for done in machine.call(each, child, Args((value,), spans=spans), span)
        ]
        first = False
    return results


_RECURRENT = {"hidden_size": 1, "num_layers": 2, "batch_first": 4, "bidirectional": 6, "proj_size": 7}
"""Where a recurrent layer is told what it is, if not by name; an RNN is told its activation fourth."""


def _told(layer: LayerObj, name: str, default: Value) -> Value:
    at = _RECURRENT[name]
    return layer.attrs.get(f"_{name}", layer.attrs.get(f"_{at + (layer.kind == 'RNN' and at > 2)}", default))


def _recurrent(machine: Machine, state: State, layer: LayerObj, args: Args, span: Span) -> Value:
    """One step of the recurrence stands for all: the output depends on the input, the state and the weights."""
    rows = parametrizations.unpacked(args.get(0, "input"))
    if rows is not None:
        packed = state.get(rows)
        flat = state.new(replace(packed, shape=UNKNOWN)) if isinstance(packed, TensorObj) else rows
        spread = replace(args, pos=(flat, *args.pos[1:]))
        done = _recurrent(machine, state, layer, spread, span)
        assert isinstance(done, Tuple)
        return Tuple((parametrizations.packed(state, done.items[0], span), *done.items[1:]))

    def copied(value: Value) -> Value:
        """What is put together of all steps, or of what none of them saves: in memory of its own."""
        held = state.get(value)
        return state.new(replace(held, storage=ticket())) if isinstance(held, TensorObj) else value

    names = LAYERS[layer.kind].parameters
    w_in, w_hidden, b_in, b_hidden = ((held,) if (held := layer.attrs.get(each)) else () for each in names)
    cell = layer.kind.startswith("LSTM")
    given = args.get(1, "hx")
    hidden: Value = given
    memory: Value = NONE
    if isinstance(given, Tuple) and len(given.items) == 2:
        hidden, memory = given.items
    elif cell and given != NONE:
        hidden = memory = objects.item(machine, state, given, span)
    spans = args.spans[1:2]
    steps, states = _of_steps(layer, shapes.of(state, args.get(0, "input")))
    batch_first = _told(layer, "batch_first", FALSE)
    taken = args.get(0, "input") if batch_first == FALSE else copied(args.get(0, "input"))  # in another order
    gates = operate(machine, state, "linear", (taken, *w_in, *b_in), span, spans=args.spans[:1])
    if hidden != NONE:
        past = operate(machine, state, "linear", (hidden, *w_hidden, *b_hidden), span, spans=spans)
        gates = operate(machine, state, "add", (gates, past), span)
    else:
        gates = operate(machine, state, "linear", (gates, *w_hidden, *b_hidden), span)
    out = operate(machine, state, "tanh", (gates,), span)
    if cell:
        kept = operate(machine, state, "mul", (memory, gates), span, spans=spans) if memory != NONE else gates
        cell_state = operate(machine, state, "add", (kept, out), span)
        out = operate(machine, state, "mul", (out, cell_state), span)
        pair = Tuple((out, copied(cell_state)))
        if layer.kind.endswith("Cell"):
            return pair
        last = Tuple(tuple(shaped(state, each, states) for each in (copied(out), pair.items[1])))
        return Tuple((shaped(state, out, steps), last))
    if layer.kind in ("GRU", "GRUCell") and hidden != NONE:
        out = operate(machine, state, "add", (operate(machine, state, "mul", (hidden, gates), span), out), span)
    if layer.kind == "RNNCell":
        return out  # which alone is what its own node has saved
    if layer.kind == "GRUCell":
        return copied(out)
    return Tuple((shaped(state, copied(out), steps), shaped(state, copied(out), states)))


def _of_steps(layer: LayerObj, given: Shape) -> tuple[Shape, Shape]:
    """The shapes of what a recurrent layer gives of each step, and of its last states, for an input of some shape."""
    both, first = (_told(layer, name, FALSE) for name in ("bidirectional", "batch_first"))
    if both not in (FALSE, TRUE) or first not in (FALSE, TRUE) or _told(layer, "proj_size", Const(0)) != Const(0):
        return of_rank(given.ndim), of_rank(given.ndim)
    ways, width = 1 + (both == TRUE), shapes.size(_told(layer, "hidden_size", NONE))
    layers = shapes.size(_told(layer, "num_layers", Const(1)))
    batch = [given.at(int(first == FALSE))] if given.ndim == 3 else []
    steps = ending(given, width and width * ways)
    return steps, whole((layers and layers * ways, *batch, width)) if given.ndim in (2, 3) else UNKNOWN


def _unseen(machine: Machine, state: State, layer: LayerObj, args: Args, span: Span) -> Value:
    """A layer of torch.nn that has no row: it surely builds a graph, and almost surely saves."""
    if not state.grad:
        return objects.fresh(state, span, plain=True)
    weights = [value for value in layer.attrs.values() if isinstance(state.get(value), TensorObj)]
    edges = objects.edges_in(machine, state, (*args.all, *weights))
    assumed = f"calling `nn.{layer.kind}` saves tensors for its backward"
    edge = machine.graphs.unseen(state, edges, state.birth(span), CONVENTIONAL, assumed)
    return state.new(UnknownObj(span, edge, "tensor"))
