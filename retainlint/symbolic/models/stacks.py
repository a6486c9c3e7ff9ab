"""`contextlib.ExitStack`: contexts that a program enters one by one, and leaves together, the last one first."""

from __future__ import annotations

from retainlint.source import Span
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import State
from retainlint.symbolic.values import NONE, GeneratorObj, GradMode, Instance, ListObj, Method, Partial, Ref, Value

KIND = "exitstack"


def made(state: State) -> Value:
    return state.new(ListObj((), kind=KIND))


def method(machine: Machine, state: State, stack: Ref, name: str, args: Args, span: Span) -> Results:
    held = state.get(stack)
    assert isinstance(held, ListObj)
    match name:
        case "enter_context" | "enter_async_context":
            return _enter(machine, state, stack, args.get(0, "cm"), span)
        case "callback" | "push_async_callback":
            _put(state, stack, Partial(args.get(0, "callback"), args.pos[1:], args.named))
            return [(state, args.get(0, "callback"))]
        case "push" | "push_async_exit":
            exits = args.get(0, "exit")
            if not isinstance(state.get(exits), Instance):
                return [(state, exits)]
            found = machine.attribute(state, exits, "__exit__", span)
            for each, method in found:
                _put(each, stack, _leaving(method))
            return [(each, exits) for each, _ in found]
        case "pop_all":
            state.set(stack, ListObj((), kind=KIND))
            return [(state, state.new(held))]
        case "close" | "aclose":
            return [(each, NONE) for each in left(machine, state, stack, span)]
    return [(state, unknown.fresh(state, span))]


def left(machine: Machine, state: State, stack: Ref, span: Span) -> list[State]:
    """Leave everything that was entered, whatever the flow."""
    held = state.get(stack)
    assert isinstance(held, ListObj)
    state.set(stack, ListObj((), kind=KIND))
    states = [state]
    for item in reversed(held.items):
        if isinstance(item, GradMode):
            for each in states:
                each.grad = item.enabled
        else:
            states = [after for each in states for after in _undone(machine, each, item, span)]
    return states


def _undone(machine: Machine, state: State, item: Value, span: Span) -> list[State]:
    flow, state.flow = state.flow, None
    after = [each for each, _ in machine.call(state, item, Args(), span)]
    for each in after:
        each.flow = each.flow or flow
    return after


def _enter(machine: Machine, state: State, stack: Ref, context: Value, span: Span) -> Results:
    if isinstance(context, GradMode) and not context.guards:
        before = state.grad if context.restores is None else context.restores
        _put(state, stack, GradMode(before))
        state.grad = context.enabled
        return [(state, context)]
    held = state.get(context)
    if isinstance(held, ListObj) and held.kind == KIND:
        _put(state, stack, Partial(Method(context, "close"), (), ()))
        return [(state, context)]
    if not isinstance(held, Instance):
        if isinstance(held, GeneratorObj):
            machine.gap(span, "a generator's context entered by an exit stack is not followed")
        return [(state, unknown.derived(machine, state, context, "__enter__", span))]
    results: Results = []
    for each, leave in machine.attribute(state, context, "__exit__", span):
        _put(each, stack, _leaving(leave))
        for found, enter in machine.attribute(each, context, "__enter__", span):
            results += machine.call(found, enter, Args(), span)
    return results


def _leaving(method: Value) -> Value:
    return Partial(method, (NONE, NONE, NONE), ())


def _put(state: State, stack: Ref, item: Value) -> None:
    held = state.get(stack)
    assert isinstance(held, ListObj)
    state.set(stack, ListObj((*held.items, item), kind=KIND))
