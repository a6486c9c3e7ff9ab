"""Classes of the program that derive from autograd.Function: what `apply` runs, and puts into the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TypeAlias

from retainlint import ir
from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.startup.records import record, replace
from retainlint.symbolic.models.torch import in_place_changes, new_tensors
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.classes import class_of, find
from retainlint.symbolic.state.effort import OutOfSteps
from retainlint.symbolic.state.graphs import Birth, kept
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Context, State, ticket
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    CUT,
    NONE,
    PROVEN,
    ClassObj,
    Closure,
    Const,
    Instance,
    ListObj,
    Ref,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span

NOTES = {
    "save_for_backward": "to_save", "save_for_forward": "saved_for_forward", "mark_dirty": "dirty_tensors",
    "mark_non_differentiable": "non_differentiable", "set_materialize_grads": "materialize_grads",
}  # fmt: skip
"""Methods of a context, each with the attribute in which torch, too, keeps what it is given."""


@record
class Applied:
    """One call of `apply`: of which class, over what, and the context that forward is given."""

    cls: Ref
    ctx: Ref
    args: Args
    span: Span


def method(machine: Machine, state: State, obj: Ref, name: str, args: Args, span: Span) -> Results:
    """`Class.apply(...)`, or a method of a context."""
    if name == "apply":
        return _apply(machine, state, class_of(state, obj) or obj, args, span)
    if name.startswith("set"):
        value = args.get(0, "value")
    elif args.open:
        value = objects.fresh(state, span, plain=True)
    else:
        value = Tuple(args.pos, tuple(map(_name, args.spans)))
    _set(state, obj, NOTES[name], value)
    return [(state, NONE)]


SAVED = "saved_tensors"


def _name(place: Span | None) -> str:
    return place.text if place is not None and place.text.isidentifier() else SAVED


def _set(state: State, ctx: Ref, name: str, value: Value) -> None:
    held = state.heap[ctx.id]
    if isinstance(held, Instance):
        state.set(ctx, replace(held, attrs={**held.attrs, name: value}))


def noted(state: State, ctx: Ref, name: str) -> Value:
    """What a context holds under a name."""
    held = state.heap[ctx.id]
    return held.attrs.get(name, NONE) if isinstance(held, Instance) else NONE


def _apply(machine: Machine, state: State, cls: Ref, args: Args, span: Span) -> Results:
    """Forward runs without gradients, and one node over the tensors that go in gives its results."""
    needs = Tuple(tuple(_needs(machine, state, value) for value in args.all))
    ctx = state.new(Instance(cls, {} if args.open else {"needs_input_grad": needs}))
    call, recorded, unrun = Applied(cls, ctx, args, span), state.grad, state.fork()
    state.grad, begun = False, len(state.changes)
    results = _forward(machine, state, call)
    if results is None:
        return [(unrun, _unseen(machine, unrun, call))]
    found: Results = []
    for after, value in results:
        made, after.grad = after.get(value), recorded
        if recorded and len(after.changes) > begun:  # what it changes is part of what it computes
            changes = (replace(each, recorded=True) for each in after.changes[begun:])
            after.changes = (*after.changes[:begun], *changes)
        if after.flow is not None:
            found.append((after, NONE))
        elif isinstance(made, UnknownObj) and made.made == span:  # who runs it has left it
            found.append((after, _unseen(machine, after, call)))
        else:
            found.append((after, _returned(machine, after, call, value)))
    return found


def _needs(machine: Machine, state: State, value: Value) -> Value:
    """Whether an argument needs a gradient."""
    edge = machine.graphs.edge(state, value)
    known = edge is None or machine.graphs.exists(edge) <= CONVENTIONAL
    return Const(edge is not None) if known else Term("requires_grad", (value,))


def _forward(machine: Machine, state: State, call: Applied) -> Results | None:
    """Run forward, and what sets the context up; None if they can't be followed."""
    forward, setup = (find(state, call.cls, name) for name in ("forward", "setup_context"))
    if forward is None:
        return None
    if setup is None:
        return run(machine, state, forward, call.args.behind(call.ctx), call.span)
    found: Results = []
    for after, value in run(machine, state, forward, call.args, call.span) or ():
        inputs = Args((call.ctx, Tuple(call.args.all), value))
        ways = [(after, value)] if after.flow else run(machine, after, setup, inputs, call.span)
        if ways is None:
            return None
        found += [(each, value) for each, _ in ways]
    return found or None


def run(machine: Machine, state: State, func: Value, args: Args, span: Span) -> Results | None:
    """Call a method of a custom function; None if it takes too many steps."""
    code, budget = code_of(func), machine.budget
    if code is not None and not machine.follows(state, code):
        return None
    machine.budget = min(budget, machine.steps + limits.CUSTOM_FUNCTION_STEPS)
    try:
        return machine.call(state, func, args, span)
    except OutOfSteps:
        if code is None or machine.steps > budget or machine.graphs.effort.is_spent:
            raise
        machine.imports.endless.add(code)
        machine.gap(span, f"`{code.qualname}` was not followed: it takes too many steps", spoils=False)
        return None
    finally:
        machine.budget = budget


def code_of(func: Value | None) -> ir.Code | None:
    """The code of a function, under whatever decorators."""
    while isinstance(func, Wrapped):
        func = func.func
    return func.code if isinstance(func, Closure) else None


# -- what a forward that was run returned ---------------------------------------------------------------------------


def _returned(machine: Machine, state: State, call: Applied, value: Value) -> Value:
    """What `apply` makes of what forward returned: a tensor, or several."""
    held = state.get(value)
    outputs = (value,) if (several := state.items(value)) is None else several
    inputs = _inputs(machine, state, call.args)
    recorded = bool(inputs) and state.grad
    dirty = [each for each in _several(state, call.ctx, "dirty_tensors") if each in call.args.all]
    own = {each: _own(state, call, each, dirty if recorded else ()) for each in outputs}
    for each in dirty:
        _changed(machine, state, call, each, recorded=recorded)
    if recorded:
        node = _node(machine, state, call, _saved(state, call, own), inputs)
        tensors = tuple(isinstance(state.get(own[each]), TensorObj) for each in outputs)
        state.base.contexts[node] = Context(call.ctx, tensors)
        for number, each in enumerate(outputs):
            _root(machine, state, call, own[each], Edge(node, number), dirty)
    bare = TensorObj(None, None, cut=("plain" if recorded else "no_grad", call.span) if inputs else None)
    if not inputs:
        others = call.args.open or any(new_tensors.is_unsure(state, each) for each in call.args.all)
        bare = replace(bare, unsure=others)
    for each in _several(state, call.ctx, "non_differentiable") if recorded else outputs:
        _cut(state, own.get(each, each), bare)
    made = tuple(own[each] for each in outputs)
    if isinstance(held, ListObj) and isinstance(value, Ref):
        state.set(value, replace(held, items=made))
        return value
    return replace(value, items=made) if isinstance(value, Tuple) else made[0]


def _several(state: State, ctx: Ref, name: str) -> tuple[Value, ...]:
    found = noted(state, ctx, name)
    return found.items if isinstance(found, Tuple) else ()


Inputs: TypeAlias = "Sequence[tuple[Edge, Span | None]]"
"""The graphs that go in, and where their tensors stand."""


def _inputs(machine: Machine, state: State, args: Args) -> Inputs:
    places = zip_longest(args.all, args.spans[: len(args.all)])
    return [(edge, place) for value, place in places if (edge := machine.graphs.edge(state, value)) is not None]


def _own(state: State, call: Applied, value: Value, dirty: Sequence[Value]) -> Value:
    """A tensor of its own for what forward returned: an input that it returns as it was becomes a view of that."""
    held = state.get(value)
    if isinstance(held, UnknownObj) and held.hint in ("", "tensor", CUT):
        return state.new(TensorObj(None, ticket()))
    if isinstance(held, TensorObj) and value in call.args.all and value not in dirty:
        return state.new(replace(held, base=None, parameter=False))
    return value


def _changed(machine: Machine, state: State, call: Applied, tensor: Value, *, recorded: bool) -> None:
    """Forward has said that it changed an input in place."""
    held, place = state.get(tensor), dict(zip(call.args.pos, call.args.spans)).get(tensor)
    text = "" if place is None else place.text
    if isinstance(held, TensorObj):
        if not (recorded and in_place_changes.refuses(machine, state, held, (), call.span, name=text)):
            in_place_changes.bump(state, held.storage, call.span, text=text)


def _saved(state: State, call: Applied, own: Mapping[Value, Value]) -> tuple[SavedTensor, ...]:
    """What `save_for_backward` was given, as it is now; backward is given results as those of the node."""
    given = noted(state, call.ctx, "to_save")
    if not isinstance(given, Tuple):
        return () if given == NONE else (SavedTensor(SAVED),)
    inputs = [each for each in call.args.all if own.get(each) != each]
    values = tuple(each if each in inputs else own.get(each, each) for each in given.items)
    _set(state, call.ctx, SAVED, Tuple(values))
    found: list[SavedTensor] = []
    for name, value in zip(given.names, values, strict=False):
        held, is_result = state.get(value), value in own.values()
        if isinstance(held, TensorObj):
            edge = held.edge if value in inputs else None
            found.append(SavedTensor(name, held.storage, state.ledger.version(held.storage), edge, is_result))
        else:
            found.append(SavedTensor(name))
    return kept(state, found)


def _root(machine: Machine, state: State, call: Applied, value: Value, edge: Edge, dirty: Sequence[Value]) -> None:
    """A result has the graph of the node, whatever it had."""
    held = state.get(value)
    if value in dirty and isinstance(value, Ref):
        in_place_changes.rebase(machine, state, value, edge, call.span)
    elif isinstance(held, TensorObj) and isinstance(value, Ref):
        state.set(value, replace(held, edge=edge, base=None, cut=None, unsure=False))


def _cut(state: State, value: Value, bare: TensorObj) -> None:
    """A result is without a graph, as `bare` is, whatever forward did; a view of what has one keeps that."""
    held = state.get(value)
    if isinstance(value, Ref) and isinstance(held, TensorObj) and held.base is None:
        state.set(value, replace(held, edge=None, cut=bare.cut, unsure=bare.unsure))


def _node(machine: Machine, state: State, call: Applied, saved: tuple[SavedTensor, ...], inputs: Inputs) -> Node:
    """The node of a custom function. What it saves is checked, and freed, where backward asks for it, as its text says."""
    cls, backward = state.heap[call.cls.id], code_of(find(state, call.cls, "backward"))
    assert isinstance(cls, ClassObj)
    slots = saved if backward is None or _asks(backward) else ()
    edges = tuple(edge for edge, _ in inputs)
    node = Node(f"{cls.name}Backward", slots, edges, state.ledger.next_order())
    passes, operands = tuple(map(machine.graphs.exists, edges)), tuple(place for _, place in inputs)
    born = Birth(state.birth(call.span), min(passes), passes, (PROVEN,) * len(slots), operands, "apply")
    machine.graphs.births[node] = born
    return node


def _asks(backward: ir.Code) -> bool:
    """Whether backward asks its context for what was saved, or hands that on to somebody who may."""
    first = next(iter(backward.params), None)
    if SAVED in backward.facts.names or first is None or first.kind == "star":
        return True
    instrs = list(ir.walk(backward.body))
    contexts = {each.dst for each in instrs if isinstance(each, ir.Load) and each.name == first.name}
    return any(arg.value in contexts for each in instrs if isinstance(each, ir.Call) for arg in each.args)


# -- what a forward that nobody can follow returns ------------------------------------------------------------------


def _unseen(machine: Machine, state: State, call: Applied) -> Value:
    """As many results as its text returns; it saves if that says save_for_backward, or what sets its context up."""
    forward, setup = (code_of(find(state, call.cls, name)) for name in ("forward", "setup_context"))
    saves = any(code is not None and "save_for_backward" in code.facts.names for code in (forward, setup))
    inputs, count = _inputs(machine, state, call.args), 1 if forward is None else _results(forward.body)
    saved = (SavedTensor(SAVED),) if saves else ()
    node = _node(machine, state, call, saved, inputs) if inputs and state.grad else None
    edges = [None if node is None else Edge(node, number) for number in range(count)]
    made = tuple(state.new(TensorObj(each, ticket(), unsure=call.args.open and not inputs)) for each in edges)
    return made[0] if count == 1 else Tuple(made)


def _results(block: ir.Block) -> int:
    """How many values a function returns, if it returns a display of several."""
    built = {i.dst: len(i.items) for i in ir.walk(block) if isinstance(i, ir.Build) and i.kind is ir.Kind.TUPLE}
    returned = [built.get(i.src, 1) for i in ir.walk(block) if isinstance(i, ir.Return)]
    return max(returned, default=1)
