"""The calls that ask for a backward pass: `backward` and `grad`, with what their arguments ask for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from retainlint.autograd.errors import NoGradInputError, UnusedError
from retainlint.autograd.graph import Node
from retainlint.autograd.operations import rows
from retainlint.incident import BackwardPass, Iteration, Moment, Refused
from retainlint.ir import facts
from retainlint.symbolic.models.python import options
from retainlint.symbolic.models.torch import backward_callbacks, shapes
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver import decisions
from retainlint.symbolic.state import events
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import BackwardRecord, State, ticket
from retainlint.symbolic.state.values import (
    FALSE,
    NONE,
    PROVEN,
    TRUE,
    Const,
    ListObj,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.symbolic.tape.backward import HIDDEN, Mark, cut_of, execute
from retainlint.symbolic.tape.observer import Request
from retainlint.text.source import Span

# -- the calls ----------------------------------------------------------------------------------------------------


def backward(machine: Machine, state: State, root: Value, args: Args, span: Span) -> Results:
    """`root.backward(gradient, retain_graph, create_graph, inputs)`."""
    if state.frame.code.is_stub:
        return backward_for(machine, state, root, args, span)
    text = span.text.partition(".backward")[0].strip() or "loss"
    _announce(machine, state, "Tensor.backward", (root,), args, span, text)
    return [(s, NONE) for s, _ in _requested(machine, state, (root,), text, args, span, 1, 3)]


def _announce(
    machine: Machine, state: State, function: str, roots: Sequence[Value], args: Args, span: Span, text: str = ""
) -> None:
    backward_pass = BackwardPass(state.moment(span), text) if text else None
    names = tuple(name for name, _ in args.named)
    machine.events.emit(events.BackwardCalled(state, function, roots, names, args.places, span, backward_pass))


def backward_for(machine: Machine, state: State, root: Value, args: Args, span: Span) -> Results:
    """A trainer walks `root` for the program; only flags under their names count."""
    given = span.text.partition("(")[2].rpartition(")")[0].partition(",")[0]
    text = (span.text.removeprefix("return ") if span.text.startswith("return ") else given).strip() or "loss"
    named = Args((), args.named, args.open, (), args.span, args.places)
    return [(s, NONE) for s, _ in _requested(machine, state, (root,), text, named, span, 1, 3)]


def autograd_backward(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """`torch.autograd.backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)`."""
    roots = _tensors(state, args.get(0, "tensors"))
    text = _text(args, 0)
    _announce(machine, state, "torch.autograd.backward", roots, args, span, text)
    return [(s, NONE) for s, _ in _requested(machine, state, roots, text, args, span, 2, 5)]


def _requested(
    machine: Machine, state: State, roots: tuple[Value, ...], text: str, args: Args, span: Span, at: int, inputs: int
) -> Results:
    if any(is_bound_nowhere(machine, state, root) for root in roots):
        machine.gap(span, f"nothing here binds `{text}`")
        return [(state, NONE)]
    wanted = args.get(inputs, "inputs")
    targets = None
    if wanted != NONE:
        targets = tuple(e for value in _tensors(state, wanted) if (e := machine.graphs.edge(state, value)))
    given = args.get(0 if at == 1 else 1, "gradient" if at == 1 else "grad_tensors")
    seeds = tuple(machine.graphs.edge(state, value) for value in _tensors(state, given))
    found: Results = []
    for each, retain, create in flags(machine, state, args, at, span):
        written = _written(args, at)
        request = Request(roots, text, span, retain, create, targets, True, seeds, written, _asked(args, at))
        since = each.backward_passes, each.reported
        execute(machine, each, request)
        found += [(after, NONE) for after in _behind(machine, each, since, request)]
    return found


Since: TypeAlias = "tuple[tuple[BackwardRecord, ...], frozenset[object]]"
"""The backward passes of a path before another one, and what had been told of."""


def _behind(machine: Machine, state: State, since: Since, request: Request) -> list[State]:
    """Run what a backward pass calls, if it ran."""
    before, told = since
    if state.backward_passes is before or state.flow is not None:
        return [state]
    return backward_callbacks.behind(machine, state, request, failed=state.reported is not told)


def is_bound_nowhere(machine: Machine, state: State, value: Value) -> bool:
    """Whether this is what a name stands for that nothing binds: that it has a graph can't be told from its use."""
    held = state.get(value)
    return isinstance(held, UnknownObj) and held.made in machine.missing_reads and held.made.text == held.name


def grad(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """`torch.autograd.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, ...)`: the gradients."""
    roots = _tensors(state, args.get(0, "outputs"))
    _announce(machine, state, "torch.autograd.grad", roots, args, span)
    wanted = _tensors(state, args.get(1, "inputs"))
    edges = [machine.graphs.edge(state, value) for value in wanted]
    if any(edge is None and isinstance(state.get(value), TensorObj) for value, edge in zip(wanted, edges, strict=True)):
        machine.missing_reads.add(span)
    seeds = tuple(machine.graphs.edge(state, value) for value in _tensors(state, args.get(2, "grad_outputs")))
    found: Results = []
    for each, retain, create in flags(machine, state, args, 3, span):
        targets = tuple(edge for edge in edges if edge is not None)
        written = _written(args, 3)
        request = Request(roots, _text(args, 0), span, retain, create, targets, False, seeds, written)
        since = each.backward_passes, each.reported
        bare = _without_grad(each, wanted)
        if bare is not None and all(machine.graphs.edge(each, root) is not None for root in roots):
            _refused(machine, each, request, wanted, [bare], args)
            found += [(each, NONE)] if each.flow is not None else []
            continue
        grads = dict(zip(targets, execute(machine, each, request), strict=False))
        unused = _unused(machine, each, request, wanted) if grads and since[1] is each.reported else []
        may_be = args.get(5, "allow_unused", FALSE)
        zeros = args.get(7, "materialize_grads", FALSE)
        if unused and may_be in (FALSE, NONE) and zeros == FALSE and not args.open:
            _refused(machine, each, request, wanted, unused, args)
        values = tuple(
            NONE
            if value in unused and (may_be, zeros) == (TRUE, FALSE)
            else _gradient(each, value, grads.get(edge) if edge else None, create, span)
            for value, edge in zip(wanted, edges, strict=True)
        )
        open_ = not values or isinstance(args.get(1, "inputs"), Const)
        result: Value = each.new(ListObj(values, True)) if open_ else Tuple(values)
        found += [(after, result) for after in _behind(machine, each, since, request)]
    return found


def _without_grad(state: State, wanted: Sequence[Value]) -> Value | None:
    """An input that surely requires no gradient: torch refuses it before it begins."""
    for value in wanted:
        held = state.get(value)
        if isinstance(held, TensorObj) and held.edge is None and not held.unsure:
            return value
    return None


def _is_one_of_many(made: Moment) -> bool:
    """Whether something was made in a loop of which nobody knows how many iterations it makes."""
    return not all(each.sure for each in made.iterations)


def _is_of_some(made: Moment, around: Sequence[Iteration]) -> bool:
    """Whether something was made in a loop, not one of those around, of which nobody knows how many iterations it makes."""
    loops = {each.loop for each in around}
    return any(not each.sure and each.loop not in loops for each in made.iterations)


def _unused(machine: Machine, state: State, request: Request, wanted: Sequence[Value]) -> list[Value]:
    """The inputs that surely aren't in the graph of the roots: all of it that was made since they were is seen, and nothing has
    changed them; a leaf is the same one behind a step."""
    graphs = machine.graphs
    roots = (edge for root in request.roots if (edge := graphs.edge(state, root)))
    reach = graphs.reach(roots)
    leaves = {node.variable for node in reach if node.is_leaf}
    changed = {change.storage: change.created for change in state.changes}
    found: dict[Node, Value] = {}
    if any(_is_of_some(graphs.births[node].moment, state.iterations) for node in reach):
        return []  # another iteration may lead there
    like = {moment.span for node in reach if node.is_leaf and _is_one_of_many(moment := graphs.births[node].moment)}
    for value in wanted if reach else ():
        held = state.get(value)
        if isinstance(held, TensorObj) and held.edge is not None and not (held.unsure or held.moved):
            node = held.edge.node
            birth = graphs.births[node]
            is_seen = birth.exists == PROVEN and (node.is_leaf or changed.get(held.storage, -1) < node.order)
            is_seen &= (
                birth.moment.span not in like
            )  # of as many as are made there, those of another iteration are used
            if is_seen and node not in reach and not (node.is_leaf and node.variable in leaves):
                found[node] = value
    unsure = (node for node, level in reach.items() if level > PROVEN or graphs.births[node].operation == HIDDEN)
    # A leaf, and what a row of the table tells of, leads to nothing else than is seen.
    hidden = [node for node in unsure if not (node.is_leaf or graphs.births[node].operation in rows())]
    if hidden and len(found) < len(wanted):
        return []
    if hidden:  # what was there before an input doesn't lead to it
        latest = max(graphs.births[node].of or math.inf for node in hidden)
        return [value for value in found.values() if isinstance(value, Ref) and value.id > latest]
    return list(found.values())


def _refused(
    machine: Machine, state: State, request: Request, wanted: Sequence[Value], refused: Sequence[Value], args: Args
) -> None:
    """A gradient is asked for of what isn't in the graph, or requires none."""
    unused = refused[0]
    graphs = machine.graphs
    edge = graphs.edge(state, unused)
    moment = state.moment(request.span)
    given = args.spans[1] if len(args.spans) > 1 else dict(args.places).get("inputs")
    text = given.text if given is not None else ""
    number = wanted.index(unused) if len(wanted) > 1 else None
    if edge is None:
        held = state.get(unused)
        assert isinstance(held, TensorObj)
        cut, reason = cut_of(machine, state, held)
        incident = Refused(moment, text, cut or moment, reason, request.text, None, number, conditions=())
        machine.refuse(state, NoGradInputError, lambda told: events.CallRefused(told, incident))
        return
    reach = graphs.reach(root for each in request.roots if (root := graphs.edge(state, each)))
    below = (node for node in graphs.reach([edge]) if node in reach and node is not edge.node)
    kin = next((graphs.births[node].moment for node in below), None)
    made = graphs.births[edge.node].moment
    bare = [each for each in reversed(state.backward_passes) if not (each.accumulate or each.creates)]
    if len(refused) < len(wanted):
        bare = []  # the root reaches some: of the others it may make nothing
    gradient = next(
        (
            each.backward_pass.moment
            for each in bare
            if each.backward_pass.moment != moment and edge.node in graphs.reach(each.roots)
        ),
        None,
    )
    others = (graphs.births[node].moment for node in reach if node.is_leaf)
    apart = next((each for each in others if "detach" in facts.of_span(each.span).names), None)
    copy = graphs.copy_of(edge.node, reach)
    copied = None if copy is None else graphs.births[copy].moment
    incident = Refused(moment, text, made, "unused", request.text, kin, number, gradient, apart, copied, conditions=())
    machine.refuse(state, UnusedError, lambda told: events.CallRefused(told, incident))


def _gradient(state: State, of: Value, mark: Mark | None, create: bool, span: Span) -> Value:
    """What grad returns for one input, of its shape. With create_graph, one whose graph we can't see may have one all the same."""
    edge = mark.edge if mark is not None else None
    if edge is None and create and (mark is None or mark.hidden):
        return objects.fresh(state, span, hint="tensor")  # None only of a function that doesn't depend on the input
    cut = None if edge is not None else ("constant" if create else "create_graph", span)
    return state.new(TensorObj(edge, ticket(), cut=cut, shape=shapes.of(state, of)))


def flags(machine: Machine, state: State, args: Args, at: int, span: Span) -> list[tuple[State, bool, bool]]:
    """`retain_graph` and `create_graph`, forking where they aren't known; retaining defaults to creating."""
    found: list[tuple[State, bool, bool]] = []
    retain = args.get(at, "retain_graph", args.get(-1, "retain_variables"))
    create = args.get(at + 1, "create_graph", FALSE)
    retain_said, create_said = (_said(state, each) or span for each in (retain, create))
    retain, create = (_meant(state, each) for each in (retain, create))
    for s, creates in machine.branch(state, create, args.place(at + 1, "create_graph", create_said)):
        if retain == NONE:
            found.append((s, creates, creates))
        else:
            place = args.place(at, "retain_graph", retain_said)
            found += [(t, keeps, creates) for t, keeps in machine.branch(s, retain, place)]
    return found


def _said(state: State, flag: Value) -> Span | None:
    """Where a flag has its name that a call gives as one of several, by `*args` or `**kwargs`."""
    held = state.get(flag)
    if not isinstance(held, UnknownObj) or held.made.source.is_stub:
        return None
    return held.made if held.made.text.replace(".", "").replace("_", "").isalnum() else None


def _meant(state: State, flag: Value) -> Value:
    """A flag; of an option that is on unless somebody turns it off, that it is on."""
    default = options.default(state, flag)
    return flag if default is None or not default.value else Const(default.value, decisions.loops_of(flag))


def _asked(args: Args, at: int) -> Value | None:
    """What the program asks for whether to keep the graph; None where it just says so, or nothing."""
    place = dict(args.places).get("retain_graph") or (args.spans[at] if at < len(args.spans) else None)
    flag = args.get(at, "retain_graph")
    is_said = isinstance(flag, Const) if place is None else place.text in ("True", "False", "None")
    return None if is_said else flag


def _written(args: Args, at: int) -> events.Flags:
    """The flags as they stand in the text of the call."""
    places = dict(args.places)
    retain = places.get("retain_graph") or (args.spans[at] if at < len(args.spans) else None)
    create = places.get("create_graph") or (args.spans[at + 1] if at + 1 < len(args.spans) else None)
    is_true = retain is not None and retain.text == "True"
    return events.Flags(retain if is_true else None, create is not None and create.text != "False")


def _tensors(state: State, value: Value) -> tuple[Value, ...]:
    if isinstance(value, Tuple):
        return value.items
    held = state.get(value)
    if isinstance(held, ListObj):
        return held.items
    return () if isinstance(value, Const) else (value,)


def _text(args: Args, index: int) -> str:
    span = args.spans[index] if index < len(args.spans) else None
    return span.text if span is not None else "the loss"
