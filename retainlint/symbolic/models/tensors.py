"""Methods and attributes of tensors, of those that we saw being made and of those that may be."""

from __future__ import annotations

from dataclasses import replace

from retainlint.source import Span
from retainlint.symbolic import walking
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import operations, unknown
from retainlint.symbolic.models.operations import operate
from retainlint.symbolic.state import State, ticket
from retainlint.symbolic.values import (
    GUESS,
    NONE,
    PROVEN,
    TRUE,
    Const,
    External,
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

_ONE = """
neg negative=neg reciprocal floor ceil round trunc sign sum mean cumsum trace max min amax amin median prod var std
norm logsumexp nansum cumprod exp expm1 log log2 log10 log1p sqrt rsqrt square sin cos tan abs absolute=abs clamp
clip=clamp clamp_min=clamp clamp_max=clamp relu leaky_relu elu selu gelu silu softplus sigmoid log_sigmoid
logsigmoid=log_sigmoid tanh hardtanh erf softmax log_softmax relu6=hardtanh softsign=abs hardsigmoid=hardtanh mish=silu
celu=elu glu=sigmoid logit=log nan_to_num=where sinh cosh asin acos atan normalize=norm cosine=norm
view reshape t transpose permute expand repeat squeeze unsqueeze flatten narrow unbind split diag diagonal=select flip roll triu tril
clone alias swapaxes=transpose movedim=permute view_as=view expand_as=expand reshape_as=reshape tile=repeat
unflatten=view ravel=view broadcast_to=expand repeat_interleave=index unfold=slice moveaxis=permute
adaptive_avg_pool2d=adaptive_pool adaptive_avg_pool1d=adaptive_pool avg_pool2d=avg_pool avg_pool1d=avg_pool
max_pool2d=max_pool max_pool1d=max_pool adaptive_max_pool2d=max_pool interpolate pad pixel_shuffle upsample=interpolate
index_select gather masked_select select masked_fill index_fill=masked_fill take=gather chunk=split logcumsumexp=logsumexp
renorm=norm inverse pinverse=exp det=prod logdet cholesky matrix_exp=exp fft=alias conj=alias real=alias
"""
_TWO = """
add sub subtract=sub mul multiply=mul div divide=div true_divide=div pow remainder fmod maximum minimum fmax=maximum
fmin=minimum atan2 matmul mm mv dot bmm inner=dot outer=mul ger=mul cross cdist where masked_scatter=where
hypot=atan2 mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy=bce_loss
binary_cross_entropy_with_logits=bce_logits_loss nll_loss cross_entropy=nll_loss bce_loss
bce_with_logits=bce_logits_loss gaussian_nll_loss=mse_loss poisson_nll_loss=mse_loss cosine_similarity=norm
pairwise_distance=norm soft_margin_loss=mse_loss hinge_embedding_loss=where multi_margin_loss=nll_loss
margin_ranking_loss=clamp cosine_embedding_loss=norm ctc_loss=nll_loss kron=mul floor_divide=floor
"""
_MORE = """
addmm addmv=addmm addbmm=addmm baddbmm=addmm addcmul addcdiv lerp lerp_tensor linear bilinear prelu einsum=bmm
conv1d=convolution conv2d=convolution conv3d=convolution conv_transpose1d=convolution conv_transpose2d=convolution
triplet_margin_loss=norm scatter scatter_add index_put index_add=scatter index_copy=scatter
layer_norm group_norm batch_norm instance_norm=batch_norm scaled_dot_product_attention=bmm tensordot=bmm
multi_head_attention_forward=bmm embedding embedding_bag=embedding cat stack concat=cat concatenate=cat hstack=cat
vstack=cat dstack=cat column_stack=cat block_diag=cat meshgrid=expand broadcast_tensors=expand chain_matmul=bmm
grid_sample affine_grid local_response_norm=norm
"""


def _table(text: str) -> dict[str, str]:
    return {name: row or name for name, _, row in (word.partition("=") for word in text.split())}


ONE, TWO, MORE = _table(_ONE), _table(_TWO), _table(_MORE)
OPERATIONS = ONE | TWO | MORE
"""Names of functions and methods, and the row of the saves table that each is (or behaves like)."""

_REDUCTIONS = {"sum", "mean", "max", "min", "norm", "prod", "std", "var", "median", "nansum", "trace", "amax", "amin"}
SEVERAL = {"max", "min", "median", "sort", "topk", "kthvalue", "mode", "cummax", "cummin"}
LISTS = {"split", "chunk", "unbind", "broadcast_tensors", "meshgrid", "tensor_split"}
CUTS = {
    "argmax", "argmin", "argsort", "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "all", "any",
    "nonzero", "long", "int", "bool", "byte", "short", "char", "numpy", "tolist", "multinomial", "bernoulli",
    "count_nonzero", "allclose", "equal", "isclose", "logical_not", "logical_and", "logical_or", "searchsorted",
    "bincount", "unique", "histc", "new_tensor", "new_zeros", "new_ones", "new_full", "new_empty", "is_tensor",
    "zeros_like", "ones_like", "rand_like", "randn_like", "empty_like", "full_like", "randint_like", "get_device",
    "greater", "less", "one_hot", "logical_xor", "cov", "corrcoef", "new",
}  # fmt: skip
NUMBERS = {
    "item", "size", "dim", "numel", "nelement", "ndimension", "element_size", "stride", "data_ptr", "is_floating_point",
    "is_cuda", "type", "__len__", "storage_offset", "is_contiguous", "__format__", "__float__", "__int__",
}  # fmt: skip
KEEPS = {
    "to", "cuda", "cpu", "float", "double", "half", "bfloat16", "contiguous", "type_as", "requires_grad_", "pin_memory",
    "share_memory_", "coalesce", "refine_names", "rename", "align_to", "to_dense", "as_subclass", "positive", "npu",
}  # fmt: skip
SPECIAL = {
    "backward", "detach", "detach_", "register_hook", "retain_grad", "apply_", "map_", "set_", "resize_", "type",
    "is_leaf", "record_stream", "register_post_accumulate_grad_hook", "dropout", "feature_dropout",
}  # fmt: skip
_DTYPES = {"torch.float64", "torch.double", "torch.half", "torch.float16", "torch.bfloat16"}
OVERWRITES = {"zero_", "fill_", "copy_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "data_"}
ATTRIBUTES = {"data", "grad", "shape", "T", "mT", "H", "grad_fn", "requires_grad", "is_leaf", "device", "dtype", "ndim"}
_NO_TENSOR = {"format", "split", "index", "pop", "add", "remove", "round", "select", "size", "new", "flip", "repeat"}


def is_method(name: str) -> bool:
    """Whether tensors have such a method."""
    return name in OPERATIONS or name in CUTS or name in NUMBERS or name in KEEPS or name in SPECIAL or _in_place(name)


def _in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__") and (name in OVERWRITES or name[:-1] in OPERATIONS)


def is_attribute(name: str) -> bool:
    return name in ATTRIBUTES


def operands(machine: Machine, state: State, args: Args) -> tuple[tuple[Value, ...], tuple[Span | None, ...]]:
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


def operation(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results:
    """A function or method named in OPERATIONS; `args` begin with the tensor itself."""
    values, spans = operands(machine, state, args)
    row = OPERATIONS[name]
    if name == "where":
        values, spans = values[1:], spans[1:]
    elif name in ONE or name in ("gather", "masked_fill"):
        values, spans = values[:1], spans[:1]
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
    if name in ("max", "min") and len(args.pos) > 1 and isinstance(state.get(args.pos[1]), TensorObj):
        row, values = f"{name}imum", args.pos[:2]
    elif name in SEVERAL and (args.has(1, "dim") or name not in ("max", "min", "median")):
        row = row if row not in ("max", "min", "median") else "max_dim"
        result = operate(machine, state, row, values[:1], span, spans=spans)
        return [(state, Tuple((result, unknown.fresh(state, span, plain=True)), ("values", "indices")))]
    if name in LISTS:
        return [(state, _pieces(machine, state, name, row, values, args, span, spans))]
    if all(not isinstance(state.get(value), TensorObj) for value in values):
        return [(state, _uncertain(machine, state, row, values, span, spans))]
    result = operate(machine, state, row, values, span, spans=spans)
    held = state.get(result)
    if isinstance(held, TensorObj) and _reduces(name, args):
        state.set(result, replace(held, ndim=0))
    return [(state, result)]


def _reduces(name: str, args: Args) -> bool:
    """Whether an operation surely gives a scalar."""
    if name in _REDUCTIONS:
        return len(args.pos) == 1 and not {"dim", "axis"} & set(dict(args.named))
    return name.endswith(("_loss", "entropy")) and not args.has(-1, "reduction")


def _uncertain(
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


def method(machine: Machine, state: State, obj: Value, name: str, args: Args, span: Span) -> Results:
    """A method of a tensor that we saw being made."""
    held = state.get(obj)
    assert isinstance(held, TensorObj) and isinstance(obj, Ref)
    everything = args.behind(obj, _receiver(span))
    if name == "backward":
        return walking.backward(machine, state, obj, args, span)
    if name in ("detach", "detach_"):
        return [(state, detach(machine, state, obj, held, span, in_place=name.endswith("_")))]
    if name in OPERATIONS:
        return operation(machine, state, name, everything, span)
    if name == "requires_grad_":
        require_grad(machine, state, obj, args.get(0, "requires_grad", TRUE), span)
        return [(state, obj)]
    if name in ("double", "half", "bfloat16") or (name == "to" and _is_dtype(args)):
        return [(state, operate(machine, state, "to", (obj,), span, spans=(_receiver(span),)))]
    if name in KEEPS or name in ("retain_grad", "register_hook"):
        return [(state, obj if name in KEEPS else NONE)]
    if name in ("dropout", "feature_dropout"):
        return [(state, operate(machine, state, "dropout", (obj,), span))]
    if name == "item":
        return [(state, Term("positive" if held.positive else "item", (obj, Symbol(ticket()))))]
    if name in NUMBERS:
        return [(state, Term(name, (obj, *args.pos)))]
    if name in CUTS:
        return [(state, state.new(TensorObj(None, ticket(), cut=(name, span))))]
    if name.endswith("_") and not name.endswith("__"):
        values, spans = operands(machine, state, args)
        row = None if name in OVERWRITES else OPERATIONS.get(name[:-1])
        operations.change(
            machine, state, obj, row, values if row else values[:1], span, spans=(_receiver(span), *spans)
        )
        return [(state, obj)]
    return [(state, unknown.called(machine, state, Method(obj, name), args, span))]


def _is_dtype(args: Args) -> bool:
    """Whether `to(...)` is asked for another type than the usual one."""
    return any(isinstance(value, External) and value.path in _DTYPES for value in args.all)


def _receiver(span: Span) -> Span | None:
    """Where the receiver of a method call stands, if the call begins with it."""
    text = span.text
    depth = 0
    for at in range(len(text) - 1, 0, -1):
        depth += (text[at] in ")]}") - (text[at] in "([{")
        if text[at] == "." and depth == 0:
            return Span(span.source, span.start, span.start + len(text[:at].rstrip()))
    return None


def detach(machine: Machine, state: State, ref: Ref, held: TensorObj, span: Span, *, in_place: bool = False) -> Value:
    """A tensor without the graph, on the same memory."""
    cut = replace(held, edge=None, base=None, cut=("detach", span), parameter=False)
    if in_place:
        state.set(ref, cut)
        return ref
    return state.new(cut)


def require_grad(machine: Machine, state: State, ref: Ref, wanted: Value, span: Span) -> None:
    """`requires_grad_()`: makes a leaf of a tensor without a graph, or frees a leaf of its need."""
    held = state.heap[ref.id]
    assert isinstance(held, TensorObj)
    if wanted == Const(False):
        if held.edge is None or held.edge.node.is_leaf:
            state.set(ref, replace(held, edge=None, cut=("leaf", span)))
    elif held.edge is None:
        sure = PROVEN if wanted == TRUE else GUESS
        state.set(ref, replace(held, edge=machine.graphs.leaf(state.moment(span), sure), cut=None))


def attribute(machine: Machine, state: State, obj: Value, name: str, span: Span) -> Value:
    held = state.get(obj)
    assert isinstance(held, TensorObj) and isinstance(obj, Ref)
    match name:
        case "data":
            return state.new(TensorObj(None, ticket(), cut=("data", span)))
        case "grad":
            graded = held.edge is not None and held.edge.node.variable in state.ledger.graded
            if graded or held.edge is None or not held.edge.node.is_leaf:
                return state.new(TensorObj(None, ticket()))
            return state.new(UnknownObj(span, plain=True))
        case "T" | "mT" | "H":
            return operate(machine, state, "t", (obj,), span, spans=(_receiver(span),))
        case "requires_grad":
            known = held.edge is None or machine.graphs.exists(held.edge) == PROVEN
            return Const(held.edge is not None) if known else Term(name, (obj,))
        case "is_leaf":
            return Const(held.edge is None or held.edge.node.is_leaf)
        case "shape" | "device" | "dtype" | "ndim" | "grad_fn" | "is_cuda" | "name" | "itemsize":
            return Term(name, (obj,))
    return Method(obj, name)


def set_attribute(machine: Machine, state: State, obj: Value, name: str, value: Value, span: Span) -> None:
    held = state.get(obj)
    assert isinstance(held, TensorObj) and isinstance(obj, Ref)
    if name == "requires_grad":
        require_grad(machine, state, obj, value, span)
    elif name == "data":
        state.set(obj, replace(held, storage=ticket()))
    elif name == "grad" and held.edge is not None and held.edge.node.is_leaf:
        variable = held.edge.node.variable
        (state.ledger.graded.discard if value == NONE else state.ledger.graded.add)(variable)


# -- what may be a tensor -----------------------------------------------------------------------------------------


def unknown_method(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Results | None:
    """A method of something unknown, if it is one that tensors have."""
    if held.plain:
        return [(state, unknown.fresh(state, span, plain=True))]
    if name == "backward":
        return _unknown_backward(machine, state, obj, held, args, span)
    if name == "item":
        return [(state, Term("item", (obj, Symbol(ticket()))))]
    if name == "detach" or name in CUTS or name in NUMBERS:
        return [(state, state.new(UnknownObj(span, plain=True, name=name)))]
    if name in KEEPS:
        return [(state, obj)]
    if name in _NO_TENSOR and held.hint != "tensor":
        return None
    if name in OPERATIONS and (held.edge is not None or held.hint == "tensor"):
        return operation(machine, state, name, args.behind(obj, _receiver(span)), span)
    if name == "detach_":
        state.set(obj, UnknownObj(held.made, plain=True, name=held.name))
        return [(state, obj)]
    if _in_place(name):
        return [(state, obj)]
    return None


def _unknown_backward(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, args: Args, span: Span
) -> Results | None:
    """`x.backward()` on something unknown is a walk, unless it is given what a layer of one's own is given."""
    if args.pos and held.hint != "tensor":
        machine.gap(span, f"`{span.text.partition('(')[0]}` may be a method that is not torch's")
        return [(state, unknown.fresh(state, span))]
    return walking.backward(machine, state, obj, args, span)


def unknown_attribute(machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, span: Span) -> Value:
    if name in ("T", "mT", "H") and held.edge is not None:
        return _uncertain(machine, state, "t", (obj,), span, (_receiver(span),))
    if name in ("data", "grad", "shape", "device", "dtype", "ndim", "requires_grad", "is_leaf", "grad_fn"):
        return unknown.derived(state, obj, name, span) if name != "data" else unknown.fresh(state, span, plain=True)
    return unknown.derived(state, obj, name, span)
