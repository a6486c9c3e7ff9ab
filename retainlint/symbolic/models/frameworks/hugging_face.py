"""Hugging Face's trainers: the model that one was given, what it does by default, and the outputs of models."""

from __future__ import annotations

from retainlint.startup.records import replace
from retainlint.symbolic.models.unknown import conventions, objects
from retainlint.symbolic.state.classes import ancestry, class_of
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, TRUE, Const, External, Instance, Ref, Tuple, UnknownObj, Value
from retainlint.text.source import Span

NAME = "hf_trainer"
MODEL = "model"
METHODS = ("__init__", "train", "compute_loss", "training_step")
"""Methods of a trainer that a trainer of the program inherits."""


def function(state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make a trainer, or what a model returns; None for any other path."""
    if is_trainer(path):
        return [(state, state.new(UnknownObj(span, hint="trainer", name=NAME, attrs={MODEL: _model(args)})))]
    if conventions.TRANSFORMERS_OUTPUT.takes(path) and args.named and not args.pos and not args.open:
        fields = {name: value for name, value in args.named if value != NONE}
        items = {f"[{key!r}]": value for key, value in (*enumerate(fields.values()), *fields.items())}
        return [(state, state.new(UnknownObj(span, name="outputs", attrs={**items, **dict(args.named)})))]
    return None


def is_trainer(path: str) -> bool:
    """Whether a class walks what its `compute_loss` returns."""
    return path.startswith("transformers.") and path.endswith("Trainer")


def is_derived(state: State, value: Value) -> bool:
    """Whether a value is a trainer of the program's own."""
    cls = class_of(state, value)
    return cls is not None and any(isinstance(b, External) and is_trainer(b.path) for b in ancestry(state, cls))


def _model(args: Args) -> Value:
    return args.get(0, "model")


def method(machine: Machine, state: State, obj: Value, name: str, args: Args, span: Span) -> Results:
    """What a trainer of the program inherits."""
    held = state.get(obj)
    if name == "__init__":
        if isinstance(held, Instance) and isinstance(obj, Ref) and _model(args) != NONE:
            state.set(obj, replace(held, attrs={**held.attrs, MODEL: _model(args)}))
        return [(state, NONE)]
    if name == "compute_loss":
        return default_loss(machine, state, args.get(0, "model"), args, span)
    return [(state, objects.fresh(state, span, name="loss", plain=True))]


def model_of(state: State, trainer: Value) -> Value:
    """The model that a trainer was given, None if nobody saw it."""
    held = state.get(trainer)
    return held.attrs.get(MODEL, NONE) if isinstance(held, Instance | UnknownObj) else NONE


def default_loss(machine: Machine, state: State, model: Value, args: Args, span: Span) -> Results:
    """`trainer.compute_loss(model, inputs, return_outputs)`: the loss is what the model calls so."""
    results = machine.call(state, model, Args(open=True), span) if model != NONE else [(state, NONE)]
    found: Results = []
    for each, outputs in results:
        loss = loss_in(each, outputs)
        value = objects.derived(machine, each, outputs, "loss", span) if loss is None else loss
        found.append((each, Tuple((value, outputs)) if args.get(2, "return_outputs") == TRUE else value))
    return found


def loss_in(state: State, outputs: Value) -> Value | None:
    """The loss in what a model returned, if it can be seen."""
    held = state.get(outputs)
    if isinstance(outputs, Tuple) and outputs.items:
        return outputs.items[0]
    if isinstance(held, UnknownObj):
        return held.attrs.get("loss")
    items = getattr(held, "items", None)
    return items.get(Const("loss")) if isinstance(items, dict) else None
