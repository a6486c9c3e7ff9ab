"""Contexts: `with` blocks, of torch, of the program, and of others."""

from __future__ import annotations

from retainlint import ir
from retainlint.symbolic.interpreter.generators import with_generator
from retainlint.symbolic.merging.merge_states import settled
from retainlint.symbolic.models.python import contexts
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import Flow, State
from retainlint.symbolic.state.values import (
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    Failure,
    GeneratorObj,
    GradMode,
    Instance,
    ListObj,
    Partial,
    Ref,
    UnknownObj,
    Value,
)

_NOT_CALLED = frozenset(External(f"torch.{name}") for name in ("no_grad", "enable_grad", "inference_mode"))
"""What makes a context once it is called, and is none itself; nor is a function."""

CACHED = External("torch.nn.utils.parametrize.cached")


def run_with(machine: Machine, instr: ir.With, state: State) -> list[State]:
    context = state.read(instr.context)
    obj = state.get(context)
    if isinstance(context, GradMode):
        return _with_mode(machine, instr, state, context)
    if isinstance(context, Partial) and context.func == CACHED:
        return _with_cache(machine, instr, state)
    if context in _NOT_CALLED or isinstance(context, Closure):
        state.flow = Flow("raise", Failure("TypeError"))  # `with torch.no_grad:`
        return [state]
    if isinstance(obj, GeneratorObj):
        return with_generator(machine, instr, state, obj)
    if isinstance(obj, Instance):
        for enter, leave in (("__enter__", "__exit__"), ("__aenter__", "__aexit__")):
            if _defines(state, obj, enter):
                return _with_instance(machine, instr, state, context, enter, leave)
    if isinstance(context, Ref) and isinstance(obj, ListObj) and obj.kind == contexts.STACK:
        return _with_stack(machine, instr, state, context)
    entered: Value = context
    if isinstance(context, Partial) and context.func == contexts.SHOWS_IT:
        entered = next(iter(context.args), Const(None))
    elif isinstance(obj, UnknownObj) and obj.notes.opened is None:
        entered = objects.derived(machine, state, context, "__enter__", instr.span)
    state.write(instr.dst, entered, instr.span)
    return settled(machine, machine.run(instr.body, [state]), instr.live)


def _with_mode(machine: Machine, instr: ir.With, state: State, mode: GradMode) -> list[State]:
    before = state.enter(mode)
    if mode.restores is not None:
        state.switched = None  # it is this block's
    guards = state.guards
    expects = contexts.takes_errors(mode)
    state.guards += expects
    state.expects += mode.expects and expects
    state.write(instr.dst, mode, instr.span)
    after = machine.run(instr.body, [state])
    for each in after:
        each.enter(before)
        each.guards = guards
        each.expects -= mode.expects and expects
        contexts.let_go(each, mode)
    return settled(machine, after, instr.live)


def _with_cache(machine: Machine, instr: ir.With, state: State) -> list[State]:
    """`parametrize.cached()`: a parametrized weight is computed once inside."""
    before = state.cache
    state.cache = state.new(DictObj({}))
    state.write(instr.dst, Const(None), instr.span)
    after = machine.run(instr.body, [state])
    for each in after:
        each.cache = before
    return settled(machine, after, instr.live)


def _with_stack(machine: Machine, instr: ir.With, state: State, stack: Ref) -> list[State]:
    guards = state.guards
    state.write(instr.dst, stack, instr.span)
    left: list[State] = []
    for each in machine.run(instr.body, [state]):
        each.guards = guards
        left += contexts.unwind(machine, each, stack, instr.span)
    return settled(machine, left, instr.live)


def _with_instance(
    machine: Machine, instr: ir.With, state: State, context: Value, enter: str, leave: str
) -> list[State]:
    after: list[State] = []
    guards = state.guards
    for found, method in machine.attribute(state, context, enter, instr.span):
        for entered, value in machine.call(found, method, Args(), instr.span):
            if entered.flow is None:
                entered.write(instr.dst, value, instr.span)
                entered.guards += contexts.may_dismiss(entered, context, leave)
                after += machine.run(instr.body, [entered])
            else:
                after.append(entered)
    left: list[State] = []
    for each in after:
        each.guards = guards
        flow, each.flow = each.flow, None
        for found, method in machine.attribute(each, context, leave, instr.span):
            left += contexts.leave(machine, found, method, flow, instr.span)
    return settled(machine, left, instr.live)


def _defines(state: State, obj: Instance, name: str) -> bool:
    cls = state.get(obj.cls)
    return isinstance(cls, ClassObj) and (name in cls.attrs or (bool(cls.bases) and "__aenter__" not in cls.attrs))
