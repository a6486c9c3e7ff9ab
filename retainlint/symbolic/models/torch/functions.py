"""Functions of torch, torch.nn.functional and torch.autograd, by path."""

from __future__ import annotations

from typing import TypeAlias

from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.autograd.operations import by_name, rows
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import iteration, numbers, options, reflection
from retainlint.symbolic.models.torch import (
    backward_calls,
    in_place_changes,
    names,
    new_tensors,
    operations,
    shapes,
    submodules,
    tensors,
)
from retainlint.symbolic.models.torch.new_tensors import operate, shaped
from retainlint.symbolic.models.unknown import call_results, objects
from retainlint.symbolic.state import classes, events, shape
from retainlint.symbolic.state.graphs import Birth
from retainlint.symbolic.state.protocol import Args, Machine, Results, in_turn
from retainlint.symbolic.state.shape import UNKNOWN, Shape
from retainlint.symbolic.state.state import Flow, State, ticket
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    FALSE,
    GUESS,
    NONE,
    PROVEN,
    TRUE,
    Closure,
    Const,
    DictObj,
    External,
    Failure,
    GradMode,
    Instance,
    LayerObj,
    ListObj,
    Method,
    Partial,
    Ref,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

FACTORIES = {
    "zeros", "ones", "rand", "randn", "randint", "randperm", "arange", "linspace", "logspace", "eye", "full", "empty",
    "tensor", "from_numpy", "scalar_tensor", "tril_indices", "triu_indices", "hann_window", "bartlett_window",
    "Tensor", "FloatTensor", "LongTensor", "DoubleTensor", "ByteTensor", "BoolTensor", "IntTensor", "range",
    "zeros_like", "ones_like", "rand_like", "randn_like", "empty_like", "full_like", "randint_like", "hamming_window",
    "blackman_window", "kaiser_window", "empty_strided", "empty_permuted", "frombuffer", "from_dlpack", "from_file",
    "sparse_csr_tensor", "sparse_csc_tensor", "fftfreq", "rfftfreq", "HalfTensor",
}  # fmt: skip
_LEGACY = ("Tensor", "FloatTensor", "DoubleTensor", "HalfTensor")
"""What is given a tensor is that tensor, under another name, with its graph; given sizes or numbers, a new one."""
_BY_SIZES = ("zeros", "ones", "rand", "randn", "empty")
"""What is given its sizes one by one."""
_HEADS = ("torch.nn.functional", "torch.special", "torch.linalg", "torch.fft", "torch.cuda", "torch")
_NO_GRAPH = ("torch.cuda", "torch.backends", "torch.manual_seed", "torch.device", "torch.distributed.get_", "torch.distributed.is_", "torch.distributed.init", "torch.utils.data",
             "torch.save", "torch.set_", "torch.get_", "torch.version", "torch.random", "torch.onnx", "torch.profiler",
             "torch.multiprocessing", "torch.utils.tensorboard", "torch.are_", "torch.is_", "torch.mps")  # fmt: skip
_DROPOUTS = {"dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"}
_JOINING = ("stack", "cat", "concat", "concatenate", "hstack", "vstack", "dstack", "row_stack", "column_stack")
_STORED = {"is_sparse": "sparse_coo_tensor", "is_sparse_csr": "sparse_csr_tensor"}
_MODES = {"torch.no_grad": False, "torch.inference_mode": False, "torch.enable_grad": True}
_PACKING = frozenset(
    f"torch.autograd.graph.{name}" for name in ("allow_mutation_on_saved_tensors", "save_on_cpu", "saved_tensors_hooks")
)

_METHODS = ("torch.detach", "torch.detach_", "torch.is_floating_point")
"""Methods as functions, beside `torch.Tensor.detach` and its like."""


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Call `path`; None if it is not known here."""
    match path:
        case "torch.autograd.backward":
            return backward_calls.autograd_backward(machine, state, args, span)
        case "torch.autograd.grad":
            return backward_calls.grad(machine, state, args, span)
        case "torch.no_grad" | "torch.inference_mode" | "torch.enable_grad":
            return _mode(machine, state, path, args, span)
        case _ if path in _PACKING:
            return [(state, GradMode(None, packs=True))]
        case "torch.set_grad_enabled" | "torch.autograd.set_grad_enabled":
            return _set_mode(machine, state, args, span)
        case "torch.is_grad_enabled" | "torch.is_inference_mode_enabled":
            is_on = state.grad if path == "torch.is_grad_enabled" else state.inference is not None
            return [(state, Const(is_on))]
        case "torch.autograd.Variable":
            return [(state, _variable(machine, state, args, span))]
        case "torch.nn.Parameter":
            return [(state, parameter(machine, state, args, span))]
        case "torch.as_tensor" | "torch.asarray":
            data = args.get(0, "data")
            held = state.get(data)
            is_bare = isinstance(data, Const | Tuple) or isinstance(held, ListObj)
            is_bare = is_bare or (isinstance(held, UnknownObj) and held.plain)
            return [(state, make(machine, state, "tensor", args, span) if is_bare else data)]
        case "torch.utils.checkpoint.checkpoint":
            return _checkpoint(machine, state, args, span)
        case "torch.utils.checkpoint.checkpoint_sequential":
            return _checkpoint_sequential(machine, state, args, span)
        case "torch.compile" | "torch.jit.script" | "torch.jit.trace":
            return [(state, args.get(0, "model", External("torch.compile")))]
        case "torch.func.functional_call" | "torch.nn.utils.stateless.functional_call":
            return _functional_call(machine, state, args, span)
        case "torch.func.stack_module_state":
            return [(state, _stacked_state(machine, state, args, span))]
        case "torch.cuda.is_available" | "torch.backends.mps.is_available":
            machine.gpu_asked += 1  # where it runs makes no difference to the graph
            return [(state, Term("available", (External(path),)) if machine.gpu_open else FALSE)]
        case "torch.is_tensor":
            return [(state, reflection.isinstance_(state, Args((args.get(0, "obj"), External("torch.Tensor")))))]
        case "torch.numel":
            return [(state, tensors.count(machine, state, args.get(0, "input"), "numel"))]
    if args.pos and (path in _METHODS or path.startswith("torch.Tensor.")):
        method = Method(args.pos[0], path.rpartition(".")[2])
        return machine.call(state, method, replace(args, pos=args.pos[1:], spans=args.spans[1:]), span)
    if path.endswith((".custom_fwd", ".custom_bwd")):
        return [(state, args.get(0, "fwd", External(path)))]
    if path == "torch.nn.utils.parametrize.cached":
        return [(state, Partial(External(path), (), ()))]
    if path.startswith("torch.nn.init."):
        return _init(machine, state, path, args, span)
    if path.startswith("torch.nn.utils.") or path.startswith(_NO_GRAPH):
        return [(state, objects.fresh(state, span, plain=True))]
    return _of_tensors(machine, state, path, args, span) if path.rpartition(".")[0] in _HEADS else None


def _of_tensors(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """What makes a tensor of tensors, or of numbers."""
    name = path.rpartition(".")[2]
    if name in _LEGACY and len(args.pos) == 1 and isinstance(state.get(args.pos[0]), TensorObj):
        return [(state, operate(machine, state, "alias", args.pos, span, spans=args.spans))]
    if name.startswith("sparse_") and "requires_grad" not in dict(args.named) and not _has_graph(machine, state, args):
        return [(state, _sparse(state, name, span))]
    if name in FACTORIES:
        return [(state, make(machine, state, name, args, span))]
    if name in names.CUTS or name in names.NUMBERS:
        known = shape.of_rank(names.DIMENSIONS.get(name) if len(args.all) == 1 else None)
        known = shapes.one_hot(state, args) if name == "one_hot" else known
        return [(state, new_tensors.cut_off(machine, state, name, args.all, args, known, span))]
    if name == "native_dropout":
        mask = objects.fresh(state, span, plain=True)
        return [(state, Tuple((operate(machine, state, name, args.pos[:1], span, spans=args.spans), mask)))]
    if path.endswith("functional.dropout") or name in _DROPOUTS:
        return [(state, _dropout(machine, state, args, span, FALSE if "alpha" in name else TRUE))]
    if path == "torch.nn.functional.unfold":
        pictures = args.get(0, "input")
        columns = operate(machine, state, "im2col", (pictures,), span, spans=args.spans)
        return [(state, shaped(state, columns, shapes.patches(shapes.of(state, pictures))))]
    if name == "einsum":
        return [(state, _einsum(machine, state, args, span))]
    if name in _JOINING:
        made = _joined(machine, state, by_name()[name], args, span)
        return [(state, shaped(state, made, shapes.called(state, name, rows()[by_name()[name]], args) or UNKNOWN))]
    if name == "sum" and len(args.pos) == 1 and isinstance(state.get(args.pos[0]), ListObj):
        return None
    if name.startswith(_FOR_EACH) and args.pos:
        return _for_each(machine, state, name.removeprefix(_FOR_EACH), args, span)
    if name in by_name():
        return _written(machine, operations.operation(machine, state, name, args, span), args, span)
    if name.endswith("_") and name[:-1] in by_name() and args.pos:
        operations.changed_by(machine, state, name, args, span)
        return [(state, args.pos[0])]
    return None


_FOR_EACH = "_foreach_"


def _for_each(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results:
    """`torch._foreach_mul_(tensors, others)`: a method of each of some tensors, given an item of each list beside them."""
    columns = [iteration.known_items(machine, state, each, span) for each in args.pos]
    if columns[0] is None:
        columns = [[iteration.any_item(machine, state, each, span)] for each in args.pos]

    def step(state: State, row: tuple[int, Value]) -> Results:
        at, item = row
        given = tuple(one if of is None else of[at] for one, of in zip(args.pos, columns) if of is None or at < len(of))
        return machine.call(state, Method(item, name), Args(given[1:], args.named, spans=args.spans[1:]), span)

    made = in_turn(state, enumerate(columns[0] or ()), step)
    return [(each, NONE if name.endswith("_") else each.new(ListObj(row))) for each, row in made]


def _written(machine: Machine, results: Results, args: Args, span: Span) -> Results:
    """What was computed; written to the tensor that is given as `out`, if one is."""
    out = dict(args.named).get("out", NONE)
    found: Results = []
    for each, value in results:
        if isinstance(each.get(out), TensorObj):
            in_place_changes.change(machine, each, out, None, (), span)
            value = out
        found.append((each, value))
    return found


def _mode(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results:
    is_inference = path == "torch.inference_mode"
    mode = GradMode(_MODES[path], inference=span if is_inference else None)
    if args.pos and not isinstance(args.pos[0], Const):  # used as a decorator without parentheses
        return machine.call(state, mode, args, span)
    if args.get(0, "mode", TRUE) == FALSE:
        mode = GradMode(True, inference=False if is_inference else None)
    return [(state, mode)]


def _set_mode(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """As a statement it stays; as a context it is undone. The context restores what was before the call."""
    found: Results = []
    for each, enabled in machine.branch(state, args.get(0, "mode", TRUE), args.place(0, "mode", span)):
        before = each.grad
        each.grad, each.switched = enabled, None if enabled else span
        found.append((each, GradMode(enabled, restores=before)))
    return found


def make(machine: Machine, state: State, name: str, args: Args, span: Span) -> Value:
    """A tensor from nothing; a leaf if it was asked to require grad."""
    edge = new_tensors.asked_leaf(machine, state, args, span)
    cut, given = None, state.get(args.pos[0]) if len(args.pos) == 1 else None
    machine.graphs.note_copied(edge, given)
    may_alias = name in _LEGACY and isinstance(given, UnknownObj) and not given.plain
    if name == "tensor" and args.pos and machine.graphs.edge(state, args.pos[0]) is not None:
        cut = ("copied", span)
    elif name == "tensor" and edge is None and _are_computed(machine, state, args.get(0, "data")):
        cut = ("wrapped", span)
        machine.graphs.rewrapped[span] = None
    return state.new(
        TensorObj(
            edge, ticket(), cut=cut, shape=_shape(state, name, args), unsure=may_alias,
            inference=new_tensors.of_inference(state, span),
        )
    )  # fmt: skip


def _sparse(state: State, name: str, span: Span) -> Value:
    """A tensor without a graph that isn't stored as most are."""
    kinds = {kind: Const(name == made) for kind, made in _STORED.items()}
    made = objects.fresh(state, span, plain=True)
    held = state.heap[made.id]
    assert isinstance(held, UnknownObj)
    state.set(made, replace(held, attrs=kinds))
    return made


def _has_graph(machine: Machine, state: State, args: Args) -> bool:
    return any(machine.graphs.edge(state, value) is not None for value in args.all)


def _are_computed(machine: Machine, state: State, value: Value) -> bool:
    """Whether it is a list, perhaps of lists, in which tensors with a graph stand."""
    return isinstance(state.get(value), ListObj | Tuple) and bool(objects.edges_in(machine, state, (value,)))


def _shape(state: State, name: str, args: Args) -> Shape:
    """The shape of a new tensor, as far as the call says it."""
    first = args.get(0, "size")
    given: tuple[Value, ...] = ()
    if name.endswith("_like"):
        return shapes.of(state, first) if isinstance(first, Ref) else UNKNOWN
    match name:
        case "tensor":
            return _of_items(state, args.get(0, "data"))
        case "randint":
            given = tuple(each for each in args.all if isinstance(each, Tuple))[:1]
        case "eye":
            rows = shapes.size(first)
            return shape.whole((rows, shapes.size(args.get(1, "m")) if args.has(1, "m") else rows))
        case "arange" | "linspace" | "randperm":
            is_counted = name != "linspace" and len(args.pos) == 1
            return shape.whole((shapes.size(first) if is_counted else None,))
        case "full":
            given = (first,)
        case _ if name in _BY_SIZES:
            given = args.pos or (first,)
        case _:
            return UNKNOWN
    sizes = shapes.sizes(state, given)
    return UNKNOWN if sizes is None else shape.whole(sizes)


def _of_items(state: State, data: Value) -> Shape:
    """The shape of what a list of lists of numbers is made into."""
    lengths: list[int | None] = []
    while isinstance(held := state.get(data), ListObj):
        lengths.append(len(held.items) if not (held.open or held.sampled) else None)
        if not held.items:
            break
        data = held.items[0]
    return Shape(tuple(lengths), isinstance(data, Const))


def parameter(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """`nn.Parameter(data, requires_grad=True)`: a fresh leaf."""
    wanted = args.get(1, "requires_grad", TRUE)
    edge = None
    if wanted != FALSE:
        is_known = TRUE in (wanted, options.default(state, wanted))
        edge = machine.graphs.leaf(state.moment(span), PROVEN if is_known else GUESS)
    source = machine.graphs.edge(state, args.get(0, "data"))
    if edge is not None and source is not None:
        machine.graphs.copied[edge.node] = source
    data = state.get(args.get(0, "data"))
    known = data.shape if isinstance(data, TensorObj) else UNKNOWN
    return state.new(TensorObj(edge, ticket(), parameter=True, shape=known))


def _variable(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """`Variable(x)`: the same memory, without the graph; a leaf if it is asked for."""
    data, wanted = args.get(0, "data"), args.get(1, "requires_grad", NONE)
    held, names = state.get(data), tuple(name for name, _ in args.named)
    is_bare = isinstance(held, UnknownObj) and (held.plain or held.fed)
    is_bare = is_bare or (isinstance(held, TensorObj) and held.edge is None and not held.unsure)
    machine.events.emit(events.VariableMade(state, args.spans[0] if args.spans else None, names, is_bare, span))
    if wanted in (NONE, FALSE):
        if isinstance(held, TensorObj):
            return state.new(replace(held, edge=None, base=None, cut=("detach", span), parameter=False))
        if isinstance(held, UnknownObj) and held.edge is not None:
            return state.new(UnknownObj(span, plain=True, name=held.name))
        return data
    return parameter(machine, state, Args((data, wanted)), span)


def _dropout(machine: Machine, state: State, args: Args, span: Span, usual: Value = TRUE) -> Value:
    """`usual` is whether it drops anything if it isn't told."""
    rate, training = args.get(1, "p", Const(0.5)), args.get(2, "training", usual)
    if rate in (Const(0), Const(0.0)) or training == FALSE:
        return args.get(0, "input")
    if args.get(3, "inplace") == TRUE and isinstance(state.get(args.get(0, "input")), TensorObj):
        if training == TRUE and isinstance(rate, Const):  # at a rate of 0 torch changes nothing
            in_place_changes.change(machine, state, args.get(0, "input"), "dropout", (), span, spans=args.spans[:1])
        return args.get(0, "input")
    doubt = PROVEN if training == TRUE and isinstance(rate, Const) else GUESS
    return operate(machine, state, "dropout", args.pos[:1], span, spans=args.spans, doubt=doubt)


def _einsum(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """The operands stand one by one, or in one list."""
    operands = args.pos[1:]
    if len(operands) == 1 and (isinstance(operands[0], Tuple) or isinstance(state.get(operands[0]), ListObj)):
        made = _joined(machine, state, "bmm", Args(operands, spans=args.spans[1:]), span)
    else:
        made = operate(machine, state, "bmm", operands, span, spans=args.spans[1:])
    return shaped(state, made, shapes.of_einsum(state, args.get(0, "equation"), operands))


def _joined(machine: Machine, state: State, row: str, args: Args, span: Span) -> Value:
    source = args.get(0, "tensors")
    known = iteration.known_items(machine, state, source, span)
    if known is not None and any(isinstance(each, Const) for each in known):  # "expected Tensor as element"
        state.flow = Flow("raise", Failure("TypeError"))
        return NONE
    if known is None:
        held = state.get(source)
        known = (
            [*held.items, iteration.any_item(machine, state, source, span)] if isinstance(held, ListObj) else [source]
        )
    if not known:  # "expected a non-empty list of Tensors"
        state.flow = Flow("raise", Failure("RuntimeError"))
        return NONE
    return operate(machine, state, row, known, span, spans=args.spans[:1] * len(known))


def _init(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results:
    """`nn.init.*_` runs under no_grad, and counts as an in-place change."""
    if path.endswith(".calculate_gain"):
        given = (args.get(0, "nonlinearity"), args.get(1, "param"))
        known = numbers.result(numbers.gain, given[: 1 + (given[1] != NONE)])
        return [(state, known or objects.fresh(state, span, plain=True))]
    tensor = args.get(0, "tensor")
    before, state.grad = state.grad, False
    in_place_changes.change(machine, state, tensor, None, (), span, spans=args.spans)
    state.grad = before
    return [(state, tensor)]


def _checkpoint(machine: Machine, state: State, args: Args, span: Span) -> Results:
    if not args.pos:
        return [(state, objects.fresh(state, span))]
    inner = Args(args.pos[1:], (), args.open, args.spans[1:], span)
    before = state.ledger.created
    results = machine.call(state, args.pos[0], inner, span)
    always = args.get(-1, "use_reentrant", TRUE) == TRUE  # what torch 2.13 takes if it is not told
    if always and _need_none(state, inner):
        return [(after, _without_graph(after, value, span)) for after, value in results]
    return [(after, _recomputed(machine, after, value, before, span, always)) for after, value in results]


def _need_none(state: State, args: Args) -> bool:
    """Whether surely nothing that a call is given requires a gradient: the reentrant kind then builds no graph."""
    held = [state.get(value) for value in args.pos]
    known = all(isinstance(obj, TensorObj) and obj.edge is None for obj in held if obj is not None)
    return known and any(held) and not args.open and not any(isinstance(value, Tuple) for value in args.pos)


def _without_graph(state: State, value: Value, span: Span) -> Value:
    if isinstance(value, Tuple):
        return replace(value, items=tuple(_without_graph(state, each, span) for each in value.items))
    if not isinstance(state.get(value), TensorObj):
        return value
    return state.new(TensorObj(None, ticket(), cut=("checkpoint", span)))


def _checkpoint_sequential(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """`checkpoint_sequential(functions, segments, input)`: taken as one segment a function, and the last one is run
    plainly, as in torch."""
    held = state.get(args.get(0, "functions"))
    parts = held.children if isinstance(held, LayerObj) else held.items if isinstance(held, ListObj) else ()
    if not parts or (isinstance(held, ListObj) and held.open):
        return [(state, call_results.called(machine, state, External("torch.utils.checkpoint.checkpoint"), args, span))]
    results: Results = [(state, args.get(2, "input"))]
    for part in parts[:-1]:
        done = [_checkpoint(machine, each, Args((part, value), args.named, span=span), span) for each, value in results]
        results = [way for ways in done for way in ways]
    return [way for each, value in results for way in machine.call(each, parts[-1], Args((value,)), span)]


def _recomputed(machine: Machine, state: State, value: Value, before: int, span: Span, always: bool) -> Value:
    """The result of a checkpointed call: one node that computes its inside again, with the weights of then. The
    reentrant kind saves what it is given `always`."""
    held = state.get(value)
    if not isinstance(held, TensorObj | UnknownObj) or held.edge is None or held.edge.node.order <= before:
        return value
    inside = [n for n in machine.graphs.reach([held.edge]) if before < n.order and not n.is_leaf]
    into = {e: None for n in inside for e in n.next if e is not None and (e.node.is_leaf or e.node.order <= before)}
    saved = (SavedTensor("inputs"),) if always or any(n.saved for n in inside) else ()
    node = Node("CheckpointFunctionBackward", saved, tuple(into), state.ledger.next_order())
    passes = tuple(machine.graphs.exists(edge) for edge in into)
    level = machine.graphs.exists(held.edge)
    born = Birth(state.birth(span), level, passes, (level,) * len(saved), (), "checkpoint")
    machine.graphs.births[node] = born
    return state.new(TensorObj(Edge(node), ticket()))


def _functional_call(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """`functional_call(module, params, args)`: a call of the module over the given weights."""
    module, given = args.get(0, "module"), args.pos[1:]
    swapped = _swapped(state, module, args.get(1, "parameter_and_buffer_dicts"))
    if swapped is not None:
        return _called_over(machine, state, module, swapped, args, span)
    forward = classes.find(state, module, "forward")
    if isinstance(forward, Closure):
        submodules.forget_set(state, module, forward.code)
    if not state.grad:
        return [(state, objects.fresh(state, span, plain=True))]
    edges = objects.edges_in(machine, state, given)
    params, _ = submodules.owned(state, module)
    edges += [
        e for value in params if (e := machine.graphs.edge(state, value)) is not None and not _replaced(state, given)
    ]
    assumed = "the functional call saves the weights that it is given"
    edge = machine.graphs.unseen(state, edges, state.birth(span), CONVENTIONAL, assumed)
    return [(state, state.new(UnknownObj(span, edge, "tensor")))]


def _stacked_state(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """`stack_module_state(models)`: leaves in place of the weights of several models, but of frozen ones, and their buffers, by
    name."""
    models = iteration.known_items(machine, state, args.get(0, "models"), span)
    if not models:
        return Tuple((objects.fresh(state, span), objects.fresh(state, span, plain=True)))
    named, sure = submodules.named_parameters(state, models[0])
    leaves: dict[Value, Value] = {}
    for name, of_first in named.items():
        held = state.get(of_first)
        is_frozen = isinstance(held, TensorObj) and held.has_no_graph
        edge = None if is_frozen else machine.graphs.leaf(state.moment(span))
        leaves[Const(name)] = state.new(TensorObj(edge, ticket(), parameter=not is_frozen))
    listed = state.get(submodules.buffers(state, models[0], "named_buffers"))
    items = listed.items if isinstance(listed, ListObj) else ()
    buffers = {each.items[0]: each.items[1] for each in items if isinstance(each, Tuple)}
    return Tuple((state.new(DictObj(leaves, not sure)), state.new(DictObj(buffers, not sure))))


Swapped: TypeAlias = "list[tuple[Ref, str, Value, Value]]"
"""Of modules: which, under which name, what it has there, and what takes its place."""


def _swapped(state: State, module: Value, given: Value) -> Swapped | None:
    """The weights of a module that a dict replaces; None where they aren't all seen."""
    known = [state.get(each) for each in (given.items if isinstance(given, Tuple) else (given,))]
    dicts = [each for each in known if isinstance(each, DictObj) and not each.rest]
    weights = {key: new for each in reversed(dicts) for key, new in each.items.items()}
    if len(dicts) < len(known) or not weights:
        return None
    if any(each.open for each in dicts):  # as a state dict is, which has all that is trained
        named, sure = submodules.named_parameters(state, module, deep=True)
        if not sure or any(Const(name) not in weights for name in named):
            return None
    found: Swapped = []
    for key, new in weights.items():
        path, _, name = str(key.value).rpartition(".") if isinstance(key, Const) else ("", "", "")
        owner = submodules.named(state, module, path)
        part = state.get(owner) if owner is not None else None
        if not isinstance(owner, Ref) or not isinstance(part, LayerObj | Instance) or name not in part.attrs:
            return None
        found.append((owner, name, part.attrs[name], new))
    return found


def _called_over(machine: Machine, state: State, module: Value, swapped: Swapped, args: Args, span: Span) -> Results:
    """Call a module with other weights in their places, which it has back afterwards."""
    given, named = args.get(2, "args", Tuple(())), state.get(args.get(3, "kwargs"))
    pos = given.items if isinstance(given, Tuple) else (given,)
    kwargs = named.items.items() if isinstance(named, DictObj) else ()
    for owner, name, _, new in swapped:
        submodules.put(state, owner, name, new)
    results = machine.call(
        state, module, Args(pos, tuple((str(k.value), v) for k, v in kwargs if isinstance(k, Const))), span
    )
    for after, _ in results:
        for owner, name, old, _ in swapped:
            submodules.put(after, owner, name, old)
    return results


def _replaced(state: State, given: tuple[Value, ...]) -> bool:
    return bool(given) and isinstance(state.get(given[0]), DictObj)
