"""Optimisers: which parameters they own, what their step changes; and schedulers, which change no tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from retainlint.autograd.errors import NonLeafError
from retainlint.autograd.graph import Node
from retainlint.incident import Iteration, Moment, Refused
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import iteration
from retainlint.symbolic.models.torch import hooks, modules
from retainlint.symbolic.models.torch.in_place_changes import bump
from retainlint.symbolic.models.unknown import call_results, conventions, graphless, objects, weights
from retainlint.symbolic.state import classes, events, gradient_events, limits
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import BackwardRecord, State, Step
from retainlint.symbolic.state.values import (
    FALSE,
    GUESS,
    NONE,
    PROVEN,
    TRUE,
    Bound,
    Closure,
    Const,
    DictObj,
    External,
    Instance,
    IteratorObj,
    ListObj,
    Method,
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

REPEATS = {"LBFGS"}
"""Optimisers whose step calls its closure again and again."""


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make an optimiser."""
    if not path.startswith("torch.optim."):
        return None
    kind = path.removeprefix("torch.optim.")
    if kind in hooks.OF_ALL_STEPS:
        return [(state, hooks.watch_steps(state, kind, args, span))]
    if path == _OVERRIDDEN:
        return _overridden(machine, state, args, span)
    if kind.startswith(("lr_scheduler", "swa_utils")):
        return [(state, objects.fresh(state, span, hint="scheduler", plain=True))]
    params, open_ = gathered(machine, state, args.get(0, "params"), span)
    once = kind not in REPEATS or args.get(2, "max_iter") == Const(1)
    silent = args.get(-1, "fused", FALSE) not in (FALSE, NONE)
    if args.get(-1, "differentiable", FALSE) == FALSE and (
        refused := _refused(machine, state, params or (), args, span)
    ):
        return refused
    if args.get(-1, "differentiable", FALSE) == FALSE:
        _take_for_leaves(machine, state, args.get(0, "params"), span)
    return [(state, state.new(OptimizerObj(kind, params, 1 if once else 2, open_, silent)))]


def _refused(machine: Machine, state: State, params: Sequence[Value], args: Args, span: Span) -> Results:
    """What torch does with a tensor that was computed, and so would not be computed again of what is learnt."""
    for value in params:
        held = state.get(value)
        if isinstance(held, TensorObj) and held.edge is not None and not held.edge.node.is_leaf and not held.unsure:
            birth = machine.graphs.births[held.edge.node]
            if birth.exists == PROVEN:
                given = args.spans[0].text if args.spans and args.spans[0] is not None else ""
                incident = Refused(state.moment(span), given, birth.moment, "computed", conditions=())
                machine.withhold(state, NonLeafError, events.CallRefused(state.fork(), incident))
                return [(state, NONE)]
        elif isinstance(held, TensorObj) and held.has_no_graph and state.grad:
            machine.missing_reads.add(span)  # it is never trained
    return []


def _take_for_leaves(machine: Machine, state: State, params: Value, span: Span) -> None:
    """What an optimiser takes, and may have been computed as far as is known, was not."""
    for value in graphless.given(state, params):
        if graphless.may_be_computed(machine, state, value):
            graphless.tell(machine, state, value)
            held = state.heap[value.id]
            leaf = machine.graphs.leaf(state.moment(span), GUESS)
            if isinstance(held, UnknownObj):
                state.set(value, replace(held, edge=leaf, plain=False))
            elif isinstance(held, TensorObj):
                state.set(value, replace(held, edge=leaf))


def gathered(machine: Machine, state: State, value: Value, span: Span) -> tuple[tuple[Value, ...] | None, bool]:
    """The tensors of a parameter list, of groups too, or None if none is known; and whether there may be more."""
    found: dict[Value, bool] = {}
    sure = _gather(machine, state, value, span, found, 0)
    if not found and not sure:
        return None, True
    chosen = Counter(weights.network_of(state, value) for value, whole in found.items() if not whole)
    grouped = {network for network, lists in chosen.items() if lists > 1}  # by names, say: groups make a whole
    known = [v for v, whole in found.items() if whole or weights.network_of(state, v) in grouped]
    some = [weights.some(state, value) for value, whole in found.items() if not whole and value not in known]
    return weights.completed(machine, state, (*known, *some)), not sure


def _gather(machine: Machine, state: State, value: Value, span: Span, found: dict[Value, bool], depth: int) -> bool:
    """Add what a list, a group, or a pair of a name and a parameter holds; whether that is surely all."""
    held = state.get(value)
    if _is_parameter(state, value):
        found[value] = not weights.is_chosen(state, value)
        return found[value]
    if isinstance(held, DictObj):
        return _gather(machine, state, held.items.get(Const("params"), NONE), span, found, depth + 1)
    parts: Sequence[Value] | None
    if isinstance(held, UnknownObj):
        parts = [each for each in (held.notes.filtered, held.notes.chosen) if each is not None]
    elif isinstance(value, Tuple) and len(value.items) == 2 and not _is_parameter(state, value.items[0]):
        return _gather(machine, state, value.items[1], span, found, depth + 1)
    elif isinstance(held, IteratorObj) and held.kind == "chain":
        parts = held.parts
    else:
        parts = held.items if isinstance(held, ListObj) else iteration.known_items(machine, state, value, span)
    sure = parts is not None and not isinstance(held, UnknownObj) and not (isinstance(held, ListObj) and held.open)
    if depth > limits.PARAMETER_LIST_DEPTH:
        return False
    before = len(found)
    known = [_gather(machine, state, part, span, found, depth + 1) for part in parts or ()]
    if isinstance(held, UnknownObj) and held.notes.chosen is not None:
        found.update(dict.fromkeys(list(found)[before:], False))
    return sure and all(known)


def _is_parameter(state: State, value: Value) -> bool:
    return isinstance(state.get(value), TensorObj) or weights.network_of(state, value) is not None


def method(machine: Machine, state: State, obj: Ref, name: str, args: Args, span: Span) -> Results:
    held = state.heap[obj.id]
    assert isinstance(held, OptimizerObj)
    match name:
        case "step":
            return _hooked(machine, state, obj, obj, args, span)
        case "zero_grad":
            networks = [n for value in held.params or () if (n := weights.network_of(state, value)) is not None]
            modules.clear(machine, state, held.params or (), args, 0, networks)
            gradient_events.zeroed(machine, state, obj, span, to_none=args.get(0, "set_to_none", TRUE) != FALSE)
            _note(state, held)
        case "add_param_group":
            group = args.get(0, "param_group")
            more, open_ = gathered(machine, state, state.new(ListObj((group,))), span)
            both = None if more is held.params is None else (held.params or ()) + (more or ())
            state.set(obj, replace(held, params=both, open=held.open or open_))
        case _ if name in hooks.OF_STEPS:
            return [(state, hooks.register(state, obj, name, args, span))]
        case _:
            return [(state, objects.fresh(state, span, plain=True))]
    return [(state, NONE)]


OF_HEIRS = frozenset(
    ("__init__", "step", "zero_grad", "add_param_group", "state_dict", "load_state_dict", *hooks.OF_STEPS)
)
"""What a class of the program that derives from an optimiser has from it."""
_OVERRIDDEN = "torch.optim.(step of the program's with its hooks)"
"""What the `step` of such a class is read as on an object that has hooks."""


def heir_method(machine: Machine, state: State, obj: Ref, held: Instance, name: str, args: Args, span: Span) -> Results:
    """What an object does as the optimiser from which its class derives."""
    if name == "__init__":
        return _heir(machine, state, obj, held, args, span)
    own = held.notes.content
    if not isinstance(own, Ref) or not isinstance(state.get(own), OptimizerObj):
        return [(state, call_results.called(machine, state, Method(obj, name), args, span))]
    overrides = classes.find(state, obj, "step") is not None
    if name == "step":
        return _step(machine, state, own, args, span) if overrides else _hooked(machine, state, own, obj, args, span)
    if name in hooks.OF_STEPS and overrides:
        state.set(obj, replace(held, attrs={**held.attrs, "step": Partial(External(_OVERRIDDEN), (obj,), ())}))
    return method(machine, state, own, name, args, span)


def note_own_step(state: State, func: Value, obj: Value, span: Span) -> None:
    """Where a method of the program's is an optimiser's own `step`, and calls no other: the weights are stepped with."""
    while isinstance(func, Wrapped):
        func = func.func
    if not isinstance(func, Closure) or func.code.name != "step" or classes.optimizer_of(state, obj) is None:
        return
    held = state.get(obj)
    own = held.notes.content if isinstance(held, Instance) else None
    if own is None or any(each.name == "step" for each in func.code.facts.calls):
        return
    if isinstance(state.get(own), OptimizerObj):
        gradient_events.steps_itself(state, own, span)


def _heir(machine: Machine, state: State, obj: Ref, held: Instance, args: Args, span: Span) -> Results:
    """`super().__init__(params, defaults)`: the object has groups of parameters, and a state for each of them."""
    made = function(machine, state, f"torch.optim.{classes.optimizer_of(state, obj)}", args, span) or []
    for each, own in made:
        optimizer, defaults = each.get(own), each.get(args.get(1, "defaults"))
        assert isinstance(optimizer, OptimizerObj)
        options = dict(defaults.items) if isinstance(defaults, DictObj) else {}
        options |= {Const(name): value for name, value in args.named if name not in ("params", "defaults")}
        attrs = {
            **held.attrs,
            "param_groups": _groups_given(machine, each, args, span, options) or _groups(each, optimizer, options),
            "state": each.new(DictObj({}, default=External("builtins.dict"))),
            "defaults": args.get(1, "defaults"),
        }
        each.set(obj, replace(held, attrs=attrs, notes=replace(held.notes, content=own)))
    return [(each, NONE) for each, _ in made]


def _groups(state: State, held: OptimizerObj, options: Mapping[Value, Value]) -> Value:
    """`param_groups`, as one group."""
    listed = state.new(ListObj(held.params or (), held.params is None or held.open))
    return state.new(ListObj((state.new(DictObj({Const("params"): listed, **options}, True)),)))


def _groups_given(
    machine: Machine, state: State, args: Args, span: Span, options: Mapping[Value, Value]
) -> Value | None:
    """The same of a list of groups that is known, each with the options of its own; None where there is none."""
    given = state.get(args.get(0, "params"))
    dicts = [state.get(each) for each in given.items] if isinstance(given, ListObj) and not given.open else []
    groups = [each for each in dicts if isinstance(each, DictObj)]
    if not groups or len(groups) < len(dicts):
        return None
    made = []
    for group in groups:
        params, open_ = gathered(machine, state, group.items.get(Const("params"), NONE), span)
        listed = state.new(ListObj(params or (), open_))
        made.append(state.new(DictObj({**options, **group.items, Const("params"): listed}, True)))
    return state.new(ListObj(tuple(made)))


def _hooked(machine: Machine, state: State, own: Ref, named: Value, args: Args, span: Span) -> Results:
    """A step with its hooks, to which the optimiser is `named`."""
    return hooks.around_step(machine, state, own, named, args, span, lambda each: _step(machine, each, own, args, span))


def _overridden(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """The same of a step that the program's own class defines."""
    obj, rest = args.pos[0], replace(args, pos=args.pos[1:], spans=args.spans[1:])
    held, step = state.get(obj), classes.find(state, obj, "step")
    own = held.notes.content if isinstance(held, Instance) else None
    assert isinstance(own, Ref) and step is not None
    return hooks.around_step(
        machine, state, own, obj, rest, span, lambda each: machine.call(each, Bound(step, obj), rest, span)
    )


def _step(machine: Machine, state: State, obj: Ref, args: Args, span: Span) -> Results:
    held, closure = state.heap[obj.id], args.get(0, "closure")
    assert isinstance(held, OptimizerObj)
    if closure == NONE:
        gradient_events.stepped(machine, state, obj, span)
        step(machine, state, held, span)
        return [(state, NONE)]
    if held.evaluations > 1:  # it moves the weights between them
        gradient_events.hidden(machine, state, span, "step")
        return _closure(machine, state, closure, span, held.evaluations, held)
    results = _closure(machine, state, closure, span, 1, held)
    for each, _ in results:
        gradient_events.hidden(machine, each, span, "step")
    return results


def _closure(machine: Machine, state: State, closure: Value, span: Span, times: int, held: OptimizerObj) -> Results:
    """Call the closure as often as the optimiser does, with gradients on and a step behind each call."""
    outer, grad = state.iterations, state.grad
    results: Results = [(state, NONE)]
    for number in range(1, times + 1):
        following: Results = []
        for each, value in results:
            if each.flow is not None:
                following.append((each, value))
                continue
            again = Iteration(span, number, is_call=True, depth=len(each.calls), by_optimizer=True)
            each.iterations = (*outer, again) if times > 1 else outer
            each.grad = True
            following += machine.call(each, closure, Args(), span)
        results = following
        for each, _ in results:
            if each.flow is None:
                step(machine, each, held, span)
    for each, _ in results:
        each.iterations, each.grad = outer, grad
    return results


def stepped(machine: Machine, state: State, owner: Value, span: Span) -> None:
    """A step that a scaler takes for an optimiser, or one that nobody sees."""
    held = state.get(owner)
    if isinstance(held, OptimizerObj):
        step(machine, state, held, span)
    elif isinstance(held, UnknownObj) and _is_optimizer(held):
        _own_step(machine, state, held, span)
        _unseen_step(machine, state, span)


def _own_step(machine: Machine, state: State, held: UnknownObj, span: Span) -> None:
    """What a network calls its optimiser moves its weights, as far as anybody knows."""
    network = held.notes.owner
    own = weights.of(machine, state, network) if network is not None else None
    for node, level in list(weights.moved(machine, state, (own,) if own is not None else ())):
        name = machine.graphs.networks[node][1]
        assumed = conventions.OPTIMIZER.says.format(name=held.name, network=f"`{name}`" if name else "the network")
        bump(state, node.variable, span, by_step=True, level=level, assumed=assumed)


def _is_optimizer(held: UnknownObj) -> bool:
    """Whether what steps is one, by its name, or since it zeroes gradients too."""
    return held.hint == "optimizer" or conventions.OPTIMIZER.takes(held.name) or held.notes.zeroes is not None


def _unseen_step(machine: Machine, state: State, span: Span, *, seen: bool = False) -> None:
    """Perhaps, some of the weights move that the last walk gave gradients to, and kept for another; with `seen`, none of
    another network than that whose weights these are."""
    record = state.backward_passes[-1] if state.backward_passes else None
    since = takewhile(lambda event: event.kind != "walk", reversed(state.gradient_events))
    if record is None or not record.backward_pass.retained or any(event.touches for event in since):
        return
    for node in record.reach:
        for saved in node.saved:
            leaf = saved.edge.node if saved.edge is not None else None
            is_weight = saved.name == "weights" or (leaf is not None and leaf.is_leaf)
            network = machine.graphs.networks.get(leaf) if leaf is not None else None
            other = seen and leaf is not None and (network is None or isinstance(state.get(network[0]), UnknownObj))
            if is_weight and not other and isinstance(saved.storage, int):
                bump(state, saved.storage, span, by_step=True, level=GUESS)


def _is_hidden(state: State, held: OptimizerObj) -> bool:
    """Whether nobody saw how a walk gets at the weights of an optimiser, though it may."""
    if held.params is None:
        return True
    if not held.open or any(weights.is_some(state, value) for value in held.params):
        return False
    leaves = list(weights.leaves(state, held.params))
    return not any(node in record.reach for record in state.backward_passes for node in leaves)


def step(machine: Machine, state: State, held: OptimizerObj, span: Span) -> None:
    """Move each owned parameter that has a gradient."""
    machine.graphs.effort.add(4 * len(state.backward_passes))
    used = _gradients_of(state, held)
    for value in held.params or ():
        tensor = state.get(value)
        if isinstance(tensor, TensorObj) and tensor.edge is not None:
            if tensor.edge.node.variable in state.ledger.graded:
                machine.trained.update(_trained(tensor.edge.node, used))
                if not held.silent:
                    bump(state, tensor.storage, span, by_step=True)
    for node, level in list(weights.moved(machine, state, held.params or ())):
        machine.trained.update(_trained(node, used))
        if not held.silent:
            bump(state, node.variable, span, by_step=True, level=level)
    if _is_hidden(state, held) and not held.silent:
        _unseen_step(machine, state, span, seen=held.params is not None)
    _note(state, held)


def _gradients_of(state: State, held: OptimizerObj) -> list[BackwardRecord]:
    """The backward passes whose gradients its step is for: those since it zeroed them, or since a step before them. One that
    steps behind others, without a backward pass of its own, takes what all have left."""
    since: set[Moment] = set()
    before = state.gradient_events
    if before and before[-1].kind == "step":
        before = before[:-1]  # its own
    last = next((event.kind for event in reversed(before) if event.kind in ("step", "walk")), "")
    for event in reversed(before):
        is_own = event.owner is not None and state.get(event.owner) is held
        if (event.kind == "zero" and is_own) or (event.kind == "step" and since and (is_own or last == "walk")):
            break
        if event.kind == "walk":
            since.add(event.moment)
    return [record for record in state.backward_passes if record.accumulate and record.backward_pass.moment in since]


def _trained(leaf: Node, used: list[BackwardRecord]) -> Iterator[tuple[Node, Moment]]:
    return ((leaf, record.backward_pass.moment) for record in used if leaf in record.reach)


def _note(state: State, held: OptimizerObj) -> None:
    leaves = frozenset(node.variable for node in weights.leaves(state, held.params or ()))
    state.steps += (Step(leaves, state.ledger.created),)


def attribute(state: State, obj: Value, name: str) -> Value:
    if name == "param_groups":
        held = state.get(obj)
        assert isinstance(held, OptimizerObj)
        return _groups(state, held, {})
    return Method(obj, name)
