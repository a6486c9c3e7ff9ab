"""What of the program runs while a backward pass does: the hooks of tensors, and the backward of custom functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from retainlint.autograd import engine
from retainlint.autograd.graph import Edge, Node
from retainlint.symbolic.models.torch import autograd_function
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import BackwardRecord, Context, State, ticket
from retainlint.symbolic.state.values import CONVENTIONAL, FALSE, NONE, Instance, TensorObj, Tuple, Value
from retainlint.symbolic.tape.observer import BackwardObserver, Refused, Request
from retainlint.text.source import Span

Callback: TypeAlias = "Callable[[State], list[State]]"


def behind(machine: Machine, state: State, request: Request, *, failed: bool) -> list[State]:
    """Call what the last backward pass came to. Torch does so on its way, the node created last first: what it runs
    behind a node isn't freed yet when that is called. One that has failed came to hooks, and to no node for sure."""
    backward_pass, span = state.backward_passes[-1], request.span
    waiting = list(_hooks(machine, state, backward_pass, span))
    if state.base.contexts and not failed:
        waiting += _functions(machine, state, backward_pass, span)
    states = [state]
    for node, callback in sorted(waiting, key=lambda each: -each[0].order):
        later = [each for each in backward_pass.freed if each.order <= node.order and not node.is_leaf]
        following: list[State] = []
        for each in states:
            ran, changes = each.backward_passes, each.changes
            each.ledger.revive(later)
            for after in _called(each, callback, backward_pass.creates, span):
                spoilt = after.backward_passes is not ran or after.changes is not changes
                if spoilt and after.flow is None and not (failed or node.is_leaf):
                    _refuse(machine, after, node, backward_pass, request)
                after.ledger.freed |= set(later)
                following.append(after)
        states = following
    return states


def _called(state: State, callback: Callback, creates: bool, span: Span) -> list[State]:
    """Call one, with gradients off unless the backward pass creates a graph."""
    if state.flow is not None:
        return [state]
    recorded, switched = state.grad, state.switched
    state.grad, state.switched = creates, None if creates else span
    states = callback(state)
    for each in states:
        each.grad, each.switched = recorded, switched
    return states


def _refuse(machine: Machine, state: State, node: Node, backward_pass: BackwardRecord, request: Request) -> None:
    """Refuse a backward pass what a callback at a node has freed or changed of what is run behind that; of a leaf nobody
    knows when its hooks are called."""
    watch = BackwardObserver(machine, state, request, backward_pass.roots, backward_pass.backward_pass)
    reach = watch.reach if backward_pass.targets is None else backward_pass.freed
    try:
        for each in sorted((each for each in reach if each.order < node.order), key=lambda each: -each.order):
            engine.check(each, state.ledger, watch)
    except Refused as refused:
        machine.withhold(state, refused.error, refused.failure)


def _hooks(
    machine: Machine, state: State, backward_pass: BackwardRecord, span: Span
) -> Iterator[tuple[Node, Callback]]:
    """The hooks of tensors; those that no backward pass comes to again are forgotten."""
    for hook in state.hooks.items if backward_pass.targets is None else ():
        assert isinstance(hook, Tuple)
        tensor, given, func = hook.items
        edge = machine.graphs.edge(state, tensor)
        if edge is not None and edge.node in backward_pass.reach:
            yield edge.node, _told(machine, given, func, backward_pass.creates, span)
            if edge.node in backward_pass.freed:
                state.hooks = Tuple(tuple(each for each in state.hooks.items if each != hook))


def _told(machine: Machine, given: Value, func: Value, creates: bool, span: Span) -> Callback:
    """Calls a hook with the tensor, or with a gradient."""

    def callback(state: State) -> list[State]:
        told = _gradient(state, creates, span) if given == NONE else given
        return [after for after, _ in machine.call(state, func, Args((told,)), span)]

    return callback


def _gradient(state: State, creates: bool, span: Span) -> Value:
    """A gradient: it has no graph unless the backward pass builds one."""
    if creates:
        return objects.fresh(state, span, hint="tensor")
    return state.new(TensorObj(None, ticket(), cut=("create_graph", span)))


def _may_be_none(state: State, creates: bool, span: Span) -> Value:
    return objects.fresh(state, span, plain=not creates)


def _functions(
    machine: Machine, state: State, backward_pass: BackwardRecord, span: Span
) -> Iterator[tuple[Node, Callback]]:
    """The backward of each custom function that is surely come to: of its nodes the last, as the others are like it."""
    contexts, targets, seen = state.base.contexts, backward_pass.targets, set[Value]()
    for node in sorted(contexts.keys() & backward_pass.reach.keys(), key=lambda each: -each.order):
        held = state.get(contexts[node].of)
        if not isinstance(held, Instance) or held.cls in seen or backward_pass.reach[node] > CONVENTIONAL:
            continue
        if targets is None or any(machine.graphs.leads(Edge(node), target.node) for target in targets):
            seen.add(held.cls)
            yield node, _differentiated(machine, contexts[node], backward_pass.creates, span)


def _differentiated(machine: Machine, context: Context, creates: bool, span: Span) -> Callback:
    """Calls the backward of a custom function with a gradient for each result; with None for what is no tensor, and perhaps
    for what nobody uses, if it asks for that."""

    def callback(state: State) -> list[State]:
        backward = find(state, context.of, "backward")
        if backward is None:
            return [state]
        is_open = autograd_function.noted(state, context.of, "materialize_grads") == FALSE and sum(context.tensors) > 1
        makes = _may_be_none if is_open else _gradient
        grads = [makes(state, creates, span) if each else NONE for each in context.tensors]
        unrun = state.fork()
        ways = autograd_function.run(machine, state, backward, Args((context.of, *grads)), span)
        return [unrun] if ways is None else [after for after, _ in ways]

    return callback
