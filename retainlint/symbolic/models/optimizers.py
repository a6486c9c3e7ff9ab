"""Optimisers: which parameters they own, what their step changes; and schedulers, which change no tensor."""

from __future__ import annotations

from retainlint.incident import Turn
from retainlint.source import Span
from retainlint.symbolic import deeds, iteration
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import modules, unknown
from retainlint.symbolic.models.operations import bump
from retainlint.symbolic.state import State, Step
from retainlint.symbolic.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    DictObj,
    ListObj,
    Method,
    OptimizerObj,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)

REPEATS = {"LBFGS"}
"""Optimisers whose step calls its closure again and again."""


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make an optimiser."""
    if not path.startswith("torch.optim."):
        return None
    kind = path.removeprefix("torch.optim.")
    if kind.startswith(("lr_scheduler", "swa_utils")):
        return [(state, unknown.fresh(state, span, hint="scheduler", plain=True))]
    params = gathered(machine, state, args.get(0, "params"), span)
    once = kind not in REPEATS or args.get(2, "max_iter") == Const(1)
    return [(state, state.new(OptimizerObj(kind, params, 1 if once else 2)))]


def gathered(machine: Machine, state: State, value: Value, span: Span) -> tuple[Value, ...] | None:
    """The tensors of a parameter list, of groups too; None if some can't be known."""
    if isinstance(state.get(value), TensorObj):
        return (value,)
    if isinstance(state.get(value), UnknownObj):
        return None
    if isinstance(held := state.get(value), ListObj) and held.open:
        return None
    items = iteration.known_items(machine, state, value, span)
    if items is None:
        return None
    found: list[Value] = []
    for item in items:
        held_item = state.get(item)
        if isinstance(held_item, DictObj):
            group = gathered(machine, state, held_item.items.get(Const("params"), NONE), span)
            if group is None:
                return None
            found += group
        elif isinstance(held_item, TensorObj):
            found.append(item)
        elif isinstance(item, Tuple) and len(item.items) == 2:
            found.append(item.items[1])
        else:
            return None
    return tuple(found)


def method(machine: Machine, state: State, obj: Ref, name: str, args: Args, span: Span) -> Results:
    held = state.heap[obj.id]
    assert isinstance(held, OptimizerObj)
    match name:
        case "step":
            return _step(machine, state, obj, held, args, span)
        case "zero_grad":
            modules.clear(state, held.params or (), args, 0)
            deeds.zeroed(machine.waste, state, obj, span, to_none=args.get(0, "set_to_none", TRUE) != FALSE)
            _note(state, held)
        case "add_param_group":
            group = args.get(0, "param_group")
            more = gathered(machine, state, state.new(ListObj((group,))), span)
            both = None if more is None or held.params is None else held.params + more
            state.set(obj, OptimizerObj(held.kind, both, held.evaluations))
        case _:
            return [(state, unknown.fresh(state, span, plain=True))]
    return [(state, NONE)]


def _step(machine: Machine, state: State, obj: Ref, held: OptimizerObj, args: Args, span: Span) -> Results:
    closure = args.get(0, "closure")
    results: Results = [(state, NONE)]
    if closure == NONE:
        deeds.stepped(machine.waste, state, obj, span)
    else:
        deeds.hidden(machine.waste, state, span)
    if closure != NONE:
        results = _closure(machine, state, closure, span, held.evaluations, held)
    else:
        step(machine, state, held, span)
    return results


def _closure(machine: Machine, state: State, closure: Value, span: Span, times: int, held: OptimizerObj) -> Results:
    """Call the closure as often as the optimiser does, with gradients on and a step behind each call."""
    outer, grad = state.turns, state.grad
    results: Results = [(state, NONE)]
    for number in range(1, times + 1):
        following: Results = []
        for each, value in results:
            if each.flow is not None:
                following.append((each, value))
                continue
            each.turns = (*outer, Turn(span, number, is_call=True, depth=len(each.calls))) if times > 1 else outer
            each.grad = True
            following += machine.call(each, closure, Args(), span)
        results = following
        for each, _ in results:
            if each.flow is None:
                step(machine, each, held, span)
    for each, _ in results:
        each.turns, each.grad = outer, grad
    return results


def step(machine: Machine, state: State, held: OptimizerObj, span: Span) -> None:
    """Move each owned parameter that has a gradient."""
    for value in held.params or ():
        tensor = state.get(value)
        if isinstance(tensor, TensorObj) and tensor.edge is not None:
            if tensor.edge.node.variable in state.ledger.graded:
                machine.trained.add(tensor.edge.node)
                bump(machine, state, tensor.storage, span, by_step=True)
    _note(state, held)


def _note(state: State, held: OptimizerObj) -> None:
    leaves = frozenset(
        tensor.edge.node.variable
        for value in held.params or ()
        if isinstance(tensor := state.get(value), TensorObj) and tensor.edge is not None
    )
    state.steps += (Step(leaves, state.ledger.created),)


def attribute(machine: Machine, state: State, obj: Value, name: str, span: Span) -> Value:
    if name == "param_groups":
        held = state.get(obj)
        params = held.params if isinstance(held, OptimizerObj) else None
        listed = state.new(ListObj(params or (), params is None))
        group = state.new(DictObj({Const("params"): listed}, True))
        return state.new(ListObj((group,)))
    return Method(obj, name)
