"""Objects of frameworks that prepare, walk and step for the program: Accelerate, Fabric, DeepSpeed, apex, timm."""

from __future__ import annotations

from retainlint.symbolic.models.frameworks import hugging_face, libraries, lightning
from retainlint.symbolic.models.torch import backward_calls, optimizers
from retainlint.symbolic.models.torch.operations import operate
from retainlint.symbolic.models.unknown import conventions, objects
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    NO_NOTES,
    NONE,
    TRUE,
    Const,
    DictObj,
    HeapObj,
    Instance,
    LayerObj,
    ListObj,
    Notes,
    OptimizerObj,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_MODEL = "module"
_COPIES = ("fp16", "bf16", "amp", "zero_optimization", "pipeline", "optimizer")
"""What has DeepSpeed step on copies of the weights, or by an optimiser of its own."""
_KINDS = {
    "accelerate.Accelerator": "accelerator", "accelerate.accelerator.Accelerator": "accelerator",
    "lightning.Fabric": "fabric", "lightning.fabric.Fabric": "fabric", "lightning_fabric.Fabric": "fabric",
    "lightning.fabric.fabric.Fabric": "fabric", "timm.utils.NativeScaler": "loss_scaler",
    "timm.utils.cuda.NativeScaler": "loss_scaler", "timm.utils.ApexScaler": "loss_scaler",
    "lightning.Trainer": "trainer", "lightning.pytorch.Trainer": "trainer", "pytorch_lightning.Trainer": "trainer",
}  # fmt: skip
_METHODS = {
    "accelerator": {"prepare", "unwrap_model", "accumulate", "autocast", "prepare_model", "reduce"},
    "fabric": {"setup", "setup_module", "setup_optimizers", "setup_dataloaders"}, "trainer": {"fit"},
    hugging_face.NAME: {"train"},
}  # fmt: skip


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make such an object; None for any other path."""
    name = path.rpartition(".")[2]
    if path in _KINDS:
        listed = args.get(-1, "callbacks")
        notes = Notes(callbacks=listed) if listed != NONE else NO_NOTES
        return [(state, state.new(UnknownObj(span, hint="trainer", name=_KINDS[path], notes=notes)))]
    if name.startswith("NativeScaler") or name == "ApexScaler":
        return [(state, objects.fresh(state, span, name="loss_scaler", hint="trainer"))]
    if path == "deepspeed.initialize":
        return [(state, _deepspeed(state, args, span))]
    if path == "apex.amp.initialize":
        given = tuple(args.get(at, key) for at, key in enumerate(("models", "optimizers")))
        return [(state, given[0] if given[1] == NONE else Tuple(given))]
    if path == "apex.amp.scale_loss" and args.pos:
        return [(state, _scaled(machine, state, args, span))]
    return libraries.higher_function(machine, state, path, args, span) or hugging_face.function(state, path, args, span)


def _deepspeed(state: State, args: Args, span: Span) -> Value:
    """An engine: calling it calls the model. Its step is the optimiser's if the configuration says nothing else."""
    model, optimizer = args.get(1, "model"), args.get(2, "optimizer")
    known = isinstance(state.get(model), Instance | LayerObj | UnknownObj)
    moves = isinstance(state.get(optimizer), OptimizerObj) and _is_plain(state.get(args.get(-1, "config")))
    notes = Notes(moves=optimizer) if moves else NO_NOTES
    engine = UnknownObj(span, hint="module", name="engine", attrs={_MODEL: model} if known else {}, notes=notes)
    moved = optimizer if optimizer != NONE else objects.fresh(state, span, hint="optimizer")
    others = (objects.fresh(state, span, hint=hint) for hint in ("loader", "scheduler"))
    return Tuple((state.new(engine), moved, *others))


def _is_plain(config: HeapObj | None) -> bool:
    """Whether weights are what the optimiser was given, and each step of the engine moves them."""
    if not isinstance(config, DictObj) or config.open or config.rest:
        return False
    iterations = config.items.get(Const("gradient_accumulation_steps"), Const(1))
    return iterations == Const(1) and not any(key in config.items for key in map(Const, _COPIES))


def _scaled(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """A loss times a factor; losses in a list are taken as they are."""
    if isinstance(state.get(args.pos[0]), TensorObj):
        assumed = conventions.TRAINER.says
        return operate(machine, state, "mul", args.pos[:1], span, spans=args.spans, doubt=CONVENTIONAL, assumed=assumed)
    return args.pos[0]


def is_method(held: UnknownObj, name: str) -> bool:
    """Whether one of these objects has such a method."""
    return libraries.is_method(held, name) or (held.hint == "trainer" and name in _METHODS.get(held.name, ()))


def unknown_method(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Results | None:
    """What a prepared thing is: itself."""
    found = libraries.method(machine, state, held, name, args, span)
    if found is not None:
        return found
    if name == "step" and isinstance(moved := held.notes.moves, Ref):
        optimizers.method(machine, state, moved, "step", Args(span=span), span)
        return optimizers.method(machine, state, moved, "zero_grad", Args(span=span), span)
    if not is_method(held, name):
        return None
    if held.name == hugging_face.NAME:
        return lightning.train(machine, state, obj, span)
    if name == "reduce":
        return [(state, operate(machine, state, "clone", args.pos[:1], span, spans=args.spans[:1]))]
    if name == "fit":
        model = args.get(0, "model")
        fits = lightning.is_fitted(state, model)
        return lightning.fit(machine, state, model, span, _callbacks(state, held)) if fits else None
    if name in ("accumulate", "autocast"):
        return [(state, objects.fresh(state, span, plain=True))]
    return [(state, args.pos[0] if len(args.pos) == 1 else Tuple(args.pos))]


def _callbacks(state: State, held: UnknownObj) -> tuple[Value, ...]:
    """The callbacks of a trainer that are of the program."""
    given = held.notes.callbacks or NONE
    kept = state.get(given)
    items = kept.items if isinstance(kept, ListObj) else (given,)
    return tuple(value for value in items if isinstance(state.get(value), Instance))


def called(machine: Machine, state: State, held: UnknownObj, args: Args, span: Span) -> Results | None:
    """A DeepSpeed engine, a patched module, or `loss_scaler(loss, optimizer, ...)`, as timm has it: it walks and steps."""
    if held.name == "engine" and _MODEL in held.attrs:
        return machine.call(state, held.attrs[_MODEL], args, span)
    patched = libraries.called(machine, state, held, args, span)
    if patched is not None:
        return [(state, patched)]
    if not conventions.LOSS_SCALER.takes(held.name) or len(args.pos) + len(args.named) < 2 or not args.pos:
        return None
    rest = Args((), args.named, args.open, (), args.span, args.places)
    results = backward_calls.backward_for(machine, state, args.pos[0], rest, span)
    optimizer = args.get(1, "optimizer")
    steps = {value for key, value in args.named if key in ("need_update", "update_grad")} <= {TRUE}
    for each, _ in results:
        if steps and isinstance(optimizer, Ref) and isinstance(each.get(optimizer), OptimizerObj):
            optimizers.method(machine, each, optimizer, "step", Args(span=span), span)
    return results
