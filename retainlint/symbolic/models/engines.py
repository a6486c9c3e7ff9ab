"""Objects of frameworks that prepare, walk and step for the program: Accelerate, Fabric, DeepSpeed, apex, Ignite, timm."""

from __future__ import annotations

from retainlint.incident import Turn
from retainlint.source import Span
from retainlint.symbolic import walking
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import optimizers, unknown
from retainlint.symbolic.models.operations import operate
from retainlint.symbolic.state import State, ticket
from retainlint.symbolic.values import (
    CONVENTIONAL,
    FALSE,
    NONE,
    External,
    OptimizerObj,
    Partial,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)

_UPDATE, _FAST = "(update)", "(fast)"
_SUPERVISED = "ignite.engine.supervised_update"
_KINDS = {
    "accelerate.Accelerator": "accelerator", "accelerate.accelerator.Accelerator": "accelerator",
    "lightning.Fabric": "fabric", "lightning.fabric.Fabric": "fabric", "lightning_fabric.Fabric": "fabric",
    "lightning.fabric.fabric.Fabric": "fabric", "timm.utils.NativeScaler": "loss_scaler",
    "timm.utils.cuda.NativeScaler": "loss_scaler", "timm.utils.ApexScaler": "loss_scaler",
}  # fmt: skip
_METHODS = {
    "ignite": {"run"}, "accelerator": {"prepare", "unwrap_model", "accumulate", "autocast", "prepare_model"},
    "fabric": {"setup", "setup_module", "setup_optimizers", "setup_dataloaders"},
}  # fmt: skip
SCALERS = ("loss_scaler", "NativeScaler")


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make such an object; None for any other path."""
    name = path.rpartition(".")[2]
    if path in _KINDS:
        return [(state, unknown.fresh(state, span, name=_KINDS[path], hint="trainer"))]
    if name.startswith("NativeScaler") or name == "ApexScaler":
        return [(state, unknown.fresh(state, span, name="loss_scaler", hint="trainer"))]
    if path == "deepspeed.initialize":
        engine = unknown.fresh(state, span, name="engine", hint="module")
        others = (unknown.fresh(state, span, hint=hint) for hint in ("optimizer", "loader", "scheduler"))
        return [(state, Tuple((engine, *others)))]
    if path == "apex.amp.initialize":
        given = tuple(args.get(at, key) for at, key in enumerate(("models", "optimizers")))
        return [(state, given[0] if given[1] == NONE else Tuple(given))]
    if path == "apex.amp.scale_loss" and args.pos:
        return [(state, _scaled(machine, state, args, span))]
    if path.startswith("ignite.engine.") and name == "Engine":
        return [(state, _engine(state, args.get(0, "process_function"), span))]
    if path.startswith("ignite.engine.") and name == "create_supervised_trainer":
        given = tuple(args.get(at, key) for at, key in enumerate(("model", "optimizer", "loss_fn")))
        return [(state, _engine(state, Partial(External(_SUPERVISED), given, ()), span))]
    if path == "higher.innerloop_ctx":
        return [(state, _inner_loop(machine, state, args, span))]
    if path == _SUPERVISED:
        return _supervised(machine, state, args, span)
    return None


def _scaled(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """A loss times a factor; losses in a list are taken as they are."""
    if isinstance(state.get(args.pos[0]), TensorObj):
        assumed = "the gradient scaler multiplies the loss"
        return operate(machine, state, "mul", args.pos[:1], span, spans=args.spans, doubt=CONVENTIONAL, assumed=assumed)
    return args.pos[0]


def _engine(state: State, update: Value, span: Span) -> Ref:
    return state.new(UnknownObj(span, hint="trainer", name="ignite", attrs={_UPDATE: update}))


def is_method(held: UnknownObj, name: str) -> bool:
    """Whether one of these objects has such a method."""
    return held.hint == "trainer" and name in _METHODS.get(held.name, ())


def unknown_method(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Results | None:
    """What a prepared thing is: itself."""
    if name == "step" and _FAST in held.attrs and args.pos:
        _stepped(machine, state, held, args, span)
        return [(state, NONE)]
    if not is_method(held, name):
        return None
    if name == "run":
        return _run(machine, state, held.attrs[_UPDATE], span)
    if name in ("accumulate", "autocast"):
        return [(state, unknown.fresh(state, span, plain=True))]
    return [(state, args.pos[0] if len(args.pos) == 1 else Tuple(args.pos))]


def _run(machine: Machine, state: State, update: Value, span: Span) -> Results:
    """Call an engine's update for a batch, and for the next."""
    outer = state.turns
    states = [state]
    for number in (1, 2):
        following: list[State] = []
        for each in states:
            if each.flow is not None:
                following.append(each)
                continue
            each.turns = (*outer, Turn(span, number, is_call=True, depth=len(each.calls)))
            given = Args((unknown.fresh(each, span, name="engine"), unknown.fresh(each, span, name="batch")))
            following += [after for after, _ in machine.call(each, update, given, span)]
        states = following
    for each in states:
        each.turns = outer
    return [(each, NONE) for each in states]


def _supervised(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """What `create_supervised_trainer` makes: forward, loss, walk, step."""
    model, optimizer, loss_fn = args.pos[:3]
    results: Results = []
    if isinstance(optimizer, Ref) and isinstance(state.get(optimizer), OptimizerObj):
        optimizers.method(machine, state, optimizer, "zero_grad", Args(), span)
    batch = unknown.fresh(state, span, name="x", plain=True)
    for each, out in machine.call(state, model, Args((batch,)), span):
        target = unknown.fresh(each, span, name="y", plain=True)
        for after, loss in machine.call(each, loss_fn, Args((out, target)), span):
            results += walking.walk_for(machine, after, loss, Args((), span=span), span)
    for each, _ in results:
        if isinstance(optimizer, Ref) and isinstance(each.get(optimizer), OptimizerObj):
            optimizers.method(machine, each, optimizer, "step", Args(), span)
    return results


def _inner_loop(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """`higher.innerloop_ctx(model, optimizer)`: a module with weights of its own, and an optimiser that tracks them."""
    tracks = args.get(-1, "track_higher_grads") != FALSE
    fast = state.new(TensorObj(machine.graphs.leaf(state.moment(span)), ticket()))
    module = UnknownObj(span, hint="module", name="fmodel", attrs={_FAST: fast})
    optimizer = UnknownObj(span, hint="trainer", name="diffopt", attrs={_FAST: fast} if tracks else {})
    return Tuple((state.new(module), state.new(optimizer)))


def _stepped(machine: Machine, state: State, held: UnknownObj, args: Args, span: Span) -> None:
    """`diffopt.step(loss)`: the new weights have a graph over the loss and the old ones."""
    fast = held.attrs[_FAST]
    edges = unknown.edges_in(machine, state, (args.pos[0], fast))
    if isinstance(fast, Ref) and edges:
        assumed = "a differentiable optimiser saves what its step computes with"
        edge = machine.graphs.unseen(state, edges, state.moment(span), CONVENTIONAL, assumed)
        state.set(fast, TensorObj(edge, ticket()))


def _fast(machine: Machine, state: State, held: UnknownObj, args: Args, span: Span) -> Value:
    """A call of the module with weights of its own."""
    edges = unknown.edges_in(machine, state, (*args.all, held.attrs[_FAST]))
    if not state.grad:
        return unknown.fresh(state, span, plain=True)
    assumed = "calling the patched module saves tensors for its backward"
    edge = machine.graphs.unseen(state, edges, state.moment(span), CONVENTIONAL, assumed)
    return state.new(UnknownObj(span, edge, "tensor"))


def called(machine: Machine, state: State, held: UnknownObj, args: Args, span: Span) -> Results | None:
    """`loss_scaler(loss, optimizer, ...)`, as timm has it: it walks, and steps; and modules of `higher`."""
    if _FAST in held.attrs:
        return [(state, _fast(machine, state, held, args, span))]
    if not held.name.endswith(SCALERS) or len(args.pos) + len(args.named) < 2 or not args.pos:
        return None
    rest = Args((), args.named, args.open, (), args.span, args.places)
    return walking.walk_for(machine, state, args.pos[0], rest, span)
