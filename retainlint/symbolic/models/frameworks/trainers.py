"""Gradient scalers and trainers: objects of frameworks, known by their names, that call backward and step for a program."""

from __future__ import annotations

from retainlint.startup.records import replace
from retainlint.symbolic.models.torch import backward_calls, hooks, optimizers
from retainlint.symbolic.models.torch.new_tensors import operate
from retainlint.symbolic.models.unknown import conventions, objects, unseen_calls, weights
from retainlint.symbolic.state import classes, gradient_events
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    FALSE,
    NONE,
    TRUE,
    OptimizerObj,
    Ref,
    TensorObj,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

INHERITED = {"manual_backward", "optimizers"}
METHODS = {"backward", "scale", "step", "zero_grad", "unscale_", "prepare"} | INHERITED


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make a scaler; None for any other path."""
    name = path.rpartition(".")[2]
    if path.startswith("torch.amp.") or name.endswith("GradScaler"):
        return [(state, objects.fresh(state, span, name="scaler", hint="trainer"))]
    if name.startswith("NativeScaler") or name == "ApexScaler":
        return [(state, objects.fresh(state, span, name="loss_scaler", hint="trainer"))]
    return None


def called(machine: Machine, state: State, held: UnknownObj, args: Args, span: Span) -> Results | None:
    """`loss_scaler(loss, optimizer, ...)`, as timm has it: it walks and steps."""
    if not conventions.LOSS_SCALER.takes(held.name) or len(args.pos) + len(args.named) < 2 or not args.pos:
        return None
    rest = Args((), args.named, args.open, (), args.span, args.places)
    results = backward_calls.backward_for(machine, state, args.pos[0], rest, span)
    optimizer = args.get(1, "optimizer")
    steps = {value for key, value in args.named if key in ("need_update", "update_grad")} <= {TRUE}
    if not steps:
        return results
    return [done for each, value in results for done in _stepped(machine, each, optimizer, span) or [(each, value)]]


def _stepped(machine: Machine, state: State, optimizer: Value, span: Span) -> Results:
    """The step of an optimiser that is known, or of an object whose class derives from one; nothing of any other."""
    known = isinstance(state.get(optimizer), OptimizerObj) or classes.optimizer_of(state, optimizer) is not None
    if not known or state.flow is not None:
        return []
    asked = machine.attribute(state, optimizer, "step", span)
    return [done for each, step in asked for done in machine.call(each, step, Args(span=span), span)]


def unknown_method(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Results | None:
    """`accelerator.backward(loss)`, `self.manual_backward(loss)`, `scaler.scale(loss)`, ..."""
    named = held.hint == "trainer" or conventions.TRAINER.takes(held.name)
    if name in ("backward", "manual_backward") and args.pos and (named or name == "manual_backward"):
        rest = Args(args.pos[1:], args.named, args.open, args.spans[1:], args.span)
        root = args.pos[0]
        return backward_calls.backward_for(machine, state, root, rest, span)
    if name == "scale" and len(args.pos) == 1 and named:
        return [(state, _scaled(machine, state, args, span))]
    if name == "zero_grad":
        if not unseen_calls.is_network(held):
            state.set(obj, replace(held, notes=replace(held.notes, zeroes=TRUE)))
        to_none = args.get(0, "set_to_none", TRUE) != FALSE
        gradient_events.zeroed(machine, state, obj, span, to_none=to_none)
        if to_none:
            weights.clear(machine, state, [obj] if held.notes.weights is not None else None)
        return [(state, NONE)]
    moved = args.get(0, "optimizer", obj)
    if name == "step" and named and (stepped := _stepped(machine, state, moved, span)):
        return stepped  # `scaler.step(optimizer)`
    if name in hooks.OF_STEPS:
        return [(state, hooks.register(state, obj, name, args, span))]
    if name == "step" and (not args.pos or named):
        if hooks.has_steps_hooked(state, moved):
            return _hooked(machine, state, moved, span)
        _unseen_step(machine, state, moved, span)
    if name in ("step", "unscale_", "update") and (named or held.hint == "optimizer"):
        return [(state, NONE)]
    return None


def _unseen_step(machine: Machine, state: State, optimizer: Value, span: Span) -> Results:
    gradient_events.stepped(machine, state, optimizer, span)
    optimizers.stepped(machine, state, optimizer, span)
    return [(state, NONE)]


def _hooked(machine: Machine, state: State, optimizer: Value, span: Span) -> Results:
    """The step of an unseen optimiser that has hooks."""
    assert isinstance(optimizer, Ref)
    return hooks.around_step(
        machine, state, optimizer, optimizer, Args(), span, lambda each: _unseen_step(machine, each, optimizer, span)
    )


def _scaled(machine: Machine, state: State, args: Args, span: Span) -> Value:
    if isinstance(state.get(args.pos[0]), TensorObj):
        assumed = conventions.TRAINER.says
        return operate(machine, state, "mul", args.pos, span, spans=args.spans, doubt=CONVENTIONAL, assumed=assumed)
    return args.pos[0]
