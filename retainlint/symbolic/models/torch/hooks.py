"""Hooks: what runs around a module's call, around an optimiser's step, and when a walk comes to a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from retainlint.startup.records import replace
from retainlint.symbolic.models.torch import submodules
from retainlint.symbolic.models.torch.new_tensors import operate
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    NONE,
    TRUE,
    Const,
    DictObj,
    External,
    Instance,
    LayerObj,
    OptimizerObj,
    Partial,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span

V = TypeVar("V", bound=Value)
Hooked: TypeAlias = Instance | LayerObj | OptimizerObj | UnknownObj
"""A module, or an optimiser, an unseen one too."""

BEFORE, BEHIND, FULL = "before", "behind", "full"
"""The fields of a module's notes, or an optimiser's, that hold its hooks."""
METHODS = {
    "register_forward_pre_hook": BEFORE, "register_forward_hook": BEHIND,
    "register_full_backward_pre_hook": FULL, "register_full_backward_hook": FULL,
}  # fmt: skip
OF_STEPS = {"register_step_pre_hook": BEFORE, "register_step_post_hook": BEHIND}
OF_ALL_STEPS = {"register_optimizer_step_pre_hook": BEFORE, "register_optimizer_step_post_hook": BEHIND}
"""Functions by which the step of each optimiser has something called."""
REMOVE = "torch.nn.(remove a hook)"
_ALL = External("torch.optim.Optimizer")
"""Whose the hooks of all optimisers are, among what a state's hooks are on."""
OF_TENSORS = ("register_hook", "register_post_accumulate_grad_hook")
"""Methods by which a tensor has something called when a walk comes to it: given the gradient, or the tensor."""


def register(state: State, obj: Ref, name: str, args: Args, span: Span) -> Value:
    """`module.register_forward_hook(hook)` and its twin; what it returns takes the hook away again."""
    where, hook = (METHODS | OF_STEPS)[name], args.get(0, "hook")
    if args.get(-1, "with_kwargs") == TRUE:
        hook = Wrapped(_WITH_KWARGS, hook)
    add(state, obj, where, hook)
    return _handle(state, span, Const(where), obj, hook)


def _handle(state: State, span: Span, *registered: Value) -> Value:
    """What takes a hook away again."""
    return state.new(UnknownObj(span, attrs={"remove": Partial(External(REMOVE), registered, ())}, plain=True))


def add(state: State, obj: Ref, where: str, hook: Value) -> None:
    """Have a hook run around each call of a module, or each step of an optimiser."""
    held = state.heap[obj.id]
    if isinstance(held, Hooked):
        state.set(obj, _with(held, where, (*registered(state, obj, where), hook)))


def drop(state: State, obj: Value, where: str, hook: Value) -> None:
    """Take a hook away."""
    held = state.get(obj)
    if isinstance(held, Hooked) and isinstance(obj, Ref):
        kept = tuple(each for each in registered(state, obj, where) if each != hook)
        state.set(obj, _with(held, where, kept))


def _with(held: Hooked, where: str, hooks: tuple[Value, ...]) -> Hooked:
    return replace(held, notes=replace(held.notes, **{where: Tuple(hooks)}))


def removed(state: State, args: Args) -> None:
    """`handle.remove()`."""
    where, obj, hook = args.pos
    assert isinstance(where, Const)
    if where == NONE:
        state.hooks = Tuple(tuple(each for each in state.hooks.items if each != hook))
    else:
        drop(state, obj, str(where.value), hook)


def around(
    machine: Machine,
    state: State,
    obj: Ref,
    args: Args,
    span: Span,
    inner: Callable[[Machine, State, V, Args, Span], Results],
    target: V,
) -> Results:
    """Run a module's call, `inner` of `target`, with the module's hooks. Where it has some of its backward passes, what goes in
    and what comes out are views, which torch lets nobody change in place."""
    is_viewed = bool(registered(state, obj, FULL))
    if is_viewed:
        args = replace(args, pos=tuple(_view(machine, state, each, span) for each in args.pos))
    found: Results = []
    for each, given in _before(machine, state, obj, args, span):
        if each.flow is not None:
            found.append((each, NONE))
        else:
            found += _behind(machine, inner(machine, each, target, given, span), obj, given, span)
    if not is_viewed:
        return found
    return [(each, value if each.flow is not None else _view(machine, each, value, span)) for each, value in found]


def _view(machine: Machine, state: State, value: Value, span: Span) -> Value:
    """What torch's function of such hooks gives for a tensor that has a graph, and for those in a tuple."""
    if isinstance(value, Tuple):
        return replace(value, items=tuple(_view(machine, state, each, span) for each in value.items))
    held = state.get(value)
    if not isinstance(held, TensorObj) or held.edge is None or not state.grad:
        return value
    return operate(machine, state, "backward_hook", (value,), span)


def of_parts(machine: Machine, state: State, obj: Value, span: Span) -> list[State]:
    """Run the hooks of a module's parts, whose forward isn't followed, on what nobody sees: what they set is set anew."""
    states = [state]
    for part in submodules.below(state, obj):
        hooked = [(BEFORE, hook) for hook in registered(state, part, BEFORE)]
        hooked += [(BEHIND, hook) for hook in registered(state, part, BEHIND)]
        for where, hook in hooked:
            states = [after for each in states for after in _guessed(machine, each, part, where, hook, span)]
    return states


def _guessed(machine: Machine, state: State, part: Value, where: str, hook: Value, span: Span) -> list[State]:
    if state.flow is not None:
        return [state]
    given = Tuple((objects.fresh(state, span),))
    made = () if where == BEFORE else (objects.fresh(state, span),)
    return [after for after, _ in machine.call(state, hook, Args((part, given, *made)), span)]


def watch(state: State, obj: Ref, name: str, args: Args, span: Span) -> Value:
    """`tensor.register_hook(hook)` and its twin; what it returns takes the hook away again."""
    return _kept(state, Tuple((obj, NONE if name == OF_TENSORS[0] else obj, args.get(0, "hook"))), span)


def watch_steps(state: State, name: str, args: Args, span: Span) -> Value:
    """`torch.optim.optimizer.register_optimizer_step_post_hook(hook)` and its twin."""
    return _kept(state, Tuple((_ALL, Const(OF_ALL_STEPS[name]), args.get(0, "hook"))), span)


def _kept(state: State, hook: Tuple, span: Span) -> Value:
    others = tuple(each for each in state.hooks.items if each != hook)
    state.hooks = Tuple((*others[1 - limits.STATE_HOOKS :], hook))
    return _handle(state, span, NONE, NONE, hook)


def around_step(
    machine: Machine, state: State, obj: Ref, named: Value, args: Args, span: Span, inner: Callable[[State], Results]
) -> Results:
    """Run an optimiser's step with its hooks, and those of all optimisers; `named` is what they are given as the optimiser."""
    if not has_steps_hooked(state, obj):
        return inner(state)
    given = Args((named, Tuple((named, *args.pos)), state.new(DictObj({Const(k): v for k, v in args.named}))))
    states = _of_step(machine, [state], obj, BEFORE, given, span)
    found = [done for each in states for done in ([(each, NONE)] if each.flow is not None else inner(each))]
    return [(after, value) for each, value in found for after in _of_step(machine, [each], obj, BEHIND, given, span)]


def _of_step(machine: Machine, states: list[State], obj: Ref, where: str, given: Args, span: Span) -> list[State]:
    """Run the hooks before a step, or behind it, on the ways that came there."""
    for hook in of_step(states[0], obj, where):
        states = [after for each in states for after in _told(machine, each, hook, given, span)]
    return states


def _told(machine: Machine, state: State, hook: Value, given: Args, span: Span) -> list[State]:
    return [state] if state.flow is not None else [after for after, _ in machine.call(state, hook, given, span)]


def has_steps_hooked(state: State, obj: Value) -> bool:
    """Whether anything runs around an optimiser's steps."""
    return bool(of_step(state, obj, BEFORE) or of_step(state, obj, BEHIND))


def of_step(state: State, obj: Value, where: str) -> tuple[Value, ...]:
    """The hooks of an optimiser, and those of all, in their order."""
    hooks = (each.items for each in state.hooks.items if isinstance(each, Tuple))
    for_all = [hook for whose, when, hook in hooks if (whose, when) == (_ALL, Const(where))]
    own = registered(state, obj, where)
    return (*for_all, *own) if where == BEFORE else (*own, *for_all)


def registered(state: State, obj: Value, where: str) -> tuple[Value, ...]:
    """The hooks of a module, or an optimiser."""
    held = state.get(obj)
    hooks = getattr(held.notes, where) if isinstance(held, Hooked) else None
    return hooks.items if isinstance(hooks, Tuple) else ()


_WITH_KWARGS = "with_kwargs"


def _given(state: State, hook: Value, obj: Value, args: Args, *made: Value) -> Args:
    """What a hook is called with."""
    asks = isinstance(hook, Wrapped) and hook.kind == _WITH_KWARGS
    named = (state.new(DictObj({Const(name): value for name, value in args.named})),) if asks else ()
    return Args((obj, Tuple(args.pos), *named, *made))


def _before(machine: Machine, state: State, obj: Ref, args: Args, span: Span) -> list[tuple[State, Args]]:
    """Run the hooks before a forward; what one returns replaces its arguments."""
    ways = [(state, args)]
    for hook in registered(state, obj, BEFORE):
        ways = [
            (after, _replaced(after, hook, given, value))
            for each, given in ways
            for after, value in machine.call(each, hook, _given(each, hook, obj, given), span)
        ]
    return ways


def _replaced(state: State, hook: Value, args: Args, value: Value) -> Args:
    if value == NONE:
        return args
    if isinstance(hook, Wrapped) and isinstance(value, Tuple) and len(value.items) == 2:
        pos, named = value.items[0], state.get(value.items[1])
        if not isinstance(pos, Tuple) or not isinstance(named, DictObj):
            return replace(args, open=True)
        given = tuple((str(key.value), each) for key, each in named.items.items() if isinstance(key, Const))
        return replace(args, pos=pos.items, named=given, spans=())
    return replace(args, pos=value.items if isinstance(value, Tuple) else (value,), spans=())


def _behind(machine: Machine, results: Results, obj: Value, args: Args, span: Span) -> Results:
    """Run the hooks behind a forward on what it gave; what one returns replaces it."""
    found: Results = []
    for state, value in results:
        hooks = registered(state, obj, BEHIND)
        if not hooks or state.flow is not None:
            found.append((state, value))
            continue
        ways: Results = [(state, value)]
        for hook in hooks:
            ways = [
                (after, value_ if given == NONE else given)
                for each, value_ in ways
                for after, given in machine.call(each, hook, _given(each, hook, obj, args, value_), span)
            ]
        found += ways
    return found
