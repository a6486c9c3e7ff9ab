"""Contexts that are entered by name: those that let a failure go by, and stacks of contexts."""

from __future__ import annotations

from retainlint import ir
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver import decisions
from retainlint.symbolic.state import classes, exception_types
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Flow, State
from retainlint.symbolic.state.values import (
    NONE,
    Closure,
    External,
    Failure,
    GeneratorObj,
    GradMode,
    Instance,
    ListObj,
    Method,
    Partial,
    Ref,
    Value,
)
from retainlint.text.source import Span

STACK = "exitstack"
"""The kind of list that a stack of contexts is: what is to be done when it is left."""

SHOWS_IT = External("contextlib.closing")
"""A context that shows what it was given, and does nothing to it that matters here; so does `nullcontext`."""


# -- failures ------------------------------------------------------------------------------------------------------


def guard(state: State, named: Value, *, expects: bool = False) -> GradMode:
    """A context that catches exceptions of the named classes, or `expects` one."""
    names = classes.named_exceptions(state, named)
    return GradMode(None, guards=True, expects=expects, catches=None if names is None else tuple(names))


def takes_errors(context: GradMode) -> bool:
    """Whether a context catches a RuntimeError, or may."""
    return context.guards and exception_types.takes("RuntimeError", context.catches) is not False


def let_go(state: State, context: GradMode) -> None:
    """Go on behind a context that catches what was raised, or may."""
    if context.guards and state.flow is not None and state.flow.kind == "raise":
        names = None if context.catches is None else list(context.catches)
        state.flow = None if exception_types.is_taken(state, state.flow.value, names) is not False else state.flow


def may_dismiss(state: State, context: Value, name: str) -> bool:
    """Whether an object's `__exit__` may say of an error that it is dealt with."""
    method = classes.find(state, context, name)
    return isinstance(method, Closure) and _says_something(method.code)


def _says_something(code: ir.Code) -> bool:
    """Whether a function returns anything but what is known to be nothing."""
    known = {each.dst: each.value for each in ir.walk(code.body) if isinstance(each, ir.Const)}
    returned = (each.src for each in ir.walk(code.body) if isinstance(each, ir.Return))
    return any(known.get(src, True) for src in returned)


def error_of(state: State, flow: Flow | None, span: Span) -> tuple[Value, Value, Value]:
    """What `__exit__` is told: the class of what was raised, that itself, and where; or three times nothing."""
    if flow is None or flow.kind != "raise":
        return NONE, NONE, NONE
    raised = flow.value or Failure("")
    held = state.get(raised)
    if isinstance(held, Instance):
        cls: Value = held.cls
    elif isinstance(raised, Failure) and raised.type and not raised.open:
        cls = External(f"builtins.{raised.type}")
    else:
        cls = objects.fresh(state, span, plain=True)
    return cls, raised, objects.fresh(state, span, plain=True)


def leave(machine: Machine, state: State, method: Value, flow: Flow | None, span: Span) -> list[State]:
    """Call what leaves a context; where that says that what was raised is dealt with, the program goes on. What torch
    refuses is only dealt with where that is seen."""
    after: list[State] = []
    for each, told in machine.call(state, method, Args(error_of(state, flow, span)), span):
        if each.flow is not None or flow is None or flow.kind != "raise":
            each.flow = each.flow or flow
            after.append(each)
            continue
        is_refused = isinstance(flow.value, Failure) and flow.value.message is not None
        is_unseen = is_refused and decisions.decide(each, told) is None
        for way, is_dealt_with in [(each, False)] if is_unseen else machine.branch(each, told, span):
            way.flow = None if is_dealt_with else flow
            after.append(way)
    return after


# -- stacks --------------------------------------------------------------------------------------------------------


def stack_of(state: State) -> Value:
    return state.new(ListObj((), kind=STACK))


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
            for each, leaving in found:
                _put(each, stack, leaving)
            return [(each, exits) for each, _ in found]
        case "pop_all":
            state.set(stack, ListObj((), kind=STACK))
            return [(state, state.new(held))]
        case "close" | "aclose":
            return [(each, NONE) for each in unwind(machine, state, stack, span)]
    return [(state, objects.fresh(state, span))]


def unwind(machine: Machine, state: State, stack: Ref, span: Span) -> list[State]:
    """Leave everything that was entered, the last first, whatever the flow."""
    held = state.get(stack)
    assert isinstance(held, ListObj)
    state.set(stack, ListObj((), kind=STACK))
    states = [state]
    for item in reversed(held.items):
        states = [after for each in states for after in _undone(machine, each, item, span)]
    return states


def _undone(machine: Machine, state: State, item: Value, span: Span) -> list[State]:
    """Do what was put on a stack: set a mode back, let a failure go, call a callback, or leave a context."""
    if isinstance(item, GradMode):
        if item.guards:
            let_go(state, item)
        else:
            state.enter(item)
        return [state]
    flow, state.flow = state.flow, None
    if not isinstance(item, Partial):
        return leave(machine, state, item, flow, span)
    after = [each for each, _ in machine.call(state, item, Args(), span)]
    for each in after:
        each.flow = each.flow or flow
    return after


def _enter(machine: Machine, state: State, stack: Ref, context: Value, span: Span) -> Results:
    if isinstance(context, GradMode) and not context.guards:
        _put(state, stack, state.enter(context))
        return [(state, context)]
    if isinstance(context, GradMode):
        _put(state, stack, context)
        state.guards += takes_errors(context)
        return [(state, context)]
    held = state.get(context)
    if isinstance(held, ListObj) and held.kind == STACK:
        _put(state, stack, Partial(Method(context, "close"), (), ()))
        return [(state, context)]
    if not isinstance(held, Instance):
        if isinstance(held, GeneratorObj) and isinstance(context, Ref):
            entering = state.fork()
            _put(entering, stack, Partial(External("builtins.next"), (context, NONE), ()))
            if (entered := machine.following(entering, context, NONE, span)) is not None:
                return entered
            machine.gap(span, "a generator's context entered by an exit stack is not followed")
        return [(state, objects.derived(machine, state, context, "__enter__", span))]
    results: Results = []
    state.guards += may_dismiss(state, context, "__exit__")
    for each, leave in machine.attribute(state, context, "__exit__", span):
        _put(each, stack, leave)
        for found, enter in machine.attribute(each, context, "__enter__", span):
            results += machine.call(found, enter, Args(), span)
    return results


def _put(state: State, stack: Ref, item: Value) -> None:
    held = state.get(stack)
    assert isinstance(held, ListObj)
    state.set(stack, ListObj((*held.items, item), kind=STACK))
