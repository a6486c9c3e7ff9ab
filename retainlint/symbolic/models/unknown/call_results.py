"""What a call that nobody sees returns, a fresh graph over what went in, and what it may do with that."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from retainlint.autograd.graph import Edge
from retainlint.autograd.operations import by_name, rows
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import dict_views
from retainlint.symbolic.models.torch import submodules
from retainlint.symbolic.models.unknown import conventions, objects, unseen_calls, weights
from retainlint.symbolic.solver import decisions
from retainlint.symbolic.state import events, gradient_events, known_libraries, limits
from retainlint.symbolic.state.classes import is_module, of_others, of_program
from retainlint.symbolic.state.graphs import PROJECTION
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    CUT,
    FALSE,
    GUESS,
    NO_NOTES,
    PART,
    PROVEN,
    TRUE,
    Bound,
    Closure,
    Const,
    DictObj,
    External,
    HeapObj,
    Instance,
    LayerObj,
    ListObj,
    Method,
    Notes,
    Partial,
    Ref,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span


def called(machine: Machine, state: State, func: Value, args: Args, span: Span, *, cuts: bool = False) -> Value:
    """What a call that we can't see returns; one that `cuts` may lead to nothing that it is given."""
    made = _called(machine, state, func, args, span, cuts=cuts)
    if isinstance(func, Method) and not args.all:
        dict_views.measure(state, func, made)
    return made


def _called(machine: Machine, state: State, func: Value, args: Args, span: Span, *, cuts: bool) -> Value:
    if isinstance(func, External) and known_libraries.known_for("arrays", func.path):
        return objects.fresh(state, span, plain=True, name=func.path.rpartition(".")[2])
    if (option := _option(machine, state, func, args, span)) is not None:
        return option
    if not args.all and (view := dict_views.shown(machine, state, func, span)) is not None:
        return view
    if isinstance(func, Method) and conventions.CHANGES.takes(func.name):
        decisions.forget(state, func.obj)
        objects.forget_items(machine, state, func.obj)
        objects.doubt(state, func.obj)
    if (owner := _object_of(machine, state, func, args)) is not None:
        objects.forget_unset(machine, state, owner)
    level, assumed = unseen_calls.level(machine, state, func, args)
    if level > PROVEN and known_libraries.speaks_another(span.source):
        level = GUESS  # what this file calls a loss, or a network, is another library's
    machine.events.emit(events.Escaped(objects.edges_in(machine, state, unseen_calls.captured(state, args.all))))
    if level == GUESS and not unseen_calls.keeps_nothing(state, func):
        gradient_events.hidden(machine, state, span, func.name if isinstance(func, Method) else "")
        machine.events.emit(events.Escaped(objects.edges_in(machine, state, args.all)))
        if any(_may_backpropagate(value) for value in args.all):
            machine.events.emit(events.NotFollowed())
    edges = objects.edges_in(machine, state, args.all, lazy=level <= CONVENTIONAL) if state.grad and not cuts else []
    fed_back = _fed_back(machine, state, func, args, span) if state.grad and level == CONVENTIONAL and not cuts else {}
    edges = [fed_back.get(edge, edge) for edge in edges]
    _hand_on(machine, state, func, args, span, level)
    receiver = state.get(func.obj) if isinstance(func, Method) else None
    if state.grad and level == GUESS and not edges and unseen_calls.gives_data(state, func):
        return state.new(UnknownObj(span, fed=True))
    if not state.grad or (isinstance(receiver, UnknownObj) and receiver.plain):
        cut = ("no_grad", span) if not state.grad and level <= CONVENTIONAL else None
        return state.new(UnknownObj(span, hint="" if state.grad else CUT, plain=True, returned=True, cut=cut))
    if isinstance(receiver, TensorObj | UnknownObj) and receiver.edge is not None:
        edges.append(receiver.edge)
    if level == CONVENTIONAL and (
        unseen_calls.is_operation(func)
        or _is_frozen(state, func)
        or _judges_numbers(state, func, args)
        or not _has_weights(state, func)
    ):
        level = max(level, min((machine.graphs.exists(edge) for edge in edges), default=GUESS))
    own = _weights(machine, state, func, args, level, edges)
    if not edges and not own and (level == GUESS or unseen_calls.is_operation(func)) and not _may_learn(state, func):
        return state.new(UnknownObj(span, hint=_kind(func), called=_computes(func, args), returned=True))
    edge = machine.graphs.unseen(state, edges, state.birth(span), level, assumed, weights=own)
    if level == GUESS and own and _is_of_network(machine, state, func, args):
        machine.graphs.returned.wrapped.add(edge.node)
    asked = state.get(func)
    if isinstance(asked, UnknownObj | Instance) or (isinstance(func, Method) and isinstance(func.obj, Ref)):
        machine.graphs.returned.callees[edge.node] = func
        judges = isinstance(asked, UnknownObj) and level == CONVENTIONAL and unseen_calls.is_criterion(asked)
        if judges and not _is_given_network(machine, state, args):
            machine.graphs.returned.criteria.add(edge.node)
    carries = level == CONVENTIONAL and isinstance(asked, UnknownObj) and (bool(fed_back) or _carries(args))
    notes = Notes(recurrent=TRUE) if carries else NO_NOTES
    result = state.new(UnknownObj(span, edge, "tensor" if level <= CONVENTIONAL else "", returned=True, notes=notes))
    if isinstance(asked, UnknownObj) and asked.hint in ("module", "submodule"):
        machine.events.emit(events.ModuleCalled(state, result, span))
    return result


def _hand_on(machine: Machine, state: State, func: Value, args: Args, span: Span, level: int) -> None:
    """What an unseen callee may do with what it is given."""
    is_shuffle = unseen_calls.name_of(state, func) == "shuffle"
    for value in args.all:
        if is_shuffle:
            objects.shuffled(state, value)
        _expose(machine, state, value, func, level)
    if level == GUESS:
        unseen_calls.run_unseen(state, args.all, span)
        weights.handed(
            machine,
            state,
            unseen_calls.name_of(state, func),
            (*args.all, func.obj if isinstance(func, Method) else func),
        )


def _object_of(machine: Machine, state: State, func: Value, args: Args) -> Value | None:
    """The object of the program on which a method runs that nobody sees: one of a base, or of a class derived from its own,
    and neither a network nor a criterion that it holds."""
    if isinstance(func, Method):
        return None if unseen_calls.keeps_nothing(state, func) else func.obj
    held = state.get(func)
    if not isinstance(func, Ref) or not isinstance(held, UnknownObj) or func.id not in machine.unset:
        return None
    computes = bool(args.all) and (unseen_calls.is_network(held) or conventions.LOSS.takes(held.name))
    return None if computes or unseen_calls.keeps_nothing(state, func) else machine.unset[func.id]


def _is_given_network(machine: Machine, state: State, args: Args) -> bool:
    """Whether a call is given a network beside what that computed: then it has a graph by the network's weights alone."""
    return bool(weights.given(machine, state, args.all)) or any(
        is_module(state, each) or _may_be_network(machine, state.get(each)) for each in args.all
    )


def _may_be_network(machine: Machine, held: HeapObj | None) -> bool:
    """Whether something unknown is called a network, or was made of one alone: `prepare(model)`, `wrapped.cuda()`."""
    if not isinstance(held, UnknownObj):
        return False
    is_made_so = held.edge is not None and held.edge.node in machine.graphs.returned.wrapped
    return is_made_so or unseen_calls.is_network(held)


def _is_of_network(machine: Machine, state: State, func: Value, args: Args) -> bool:
    """Whether an unseen function is given a network and no data, or a network's method nothing: it may return another."""
    receiver = func.obj if isinstance(func, Method) else func
    held = state.get(receiver)
    if _may_be_network(machine, held) or (isinstance(held, UnknownObj) and held.notes.owner is not None):
        return not args.all
    given = [state.get(each) for each in args.all]
    has_data = any(isinstance(each, UnknownObj) and (each.fed or each.plain) for each in given)
    return not has_data and not any(isinstance(each, TensorObj) for each in given)


def _is_frozen(state: State, func: Value) -> bool:
    """Whether a network that is called needs no gradients of its own."""
    return weights.is_frozen(state, func) or (isinstance(func, Ref) and submodules.is_frozen(state, func))


_LISTING = ("parameters", "named_parameters")
"""Methods that nobody sees of an object, by whose reading it has parameters."""


def _has_weights(state: State, func: Value) -> bool:
    """Whether something says that a module that is called has parameters: what it computes of data then has a graph."""
    held = state.get(func)
    if isinstance(held, UnknownObj) and held.hint == PART:
        return unseen_calls.is_called_network(held)
    if not isinstance(held, Instance) or is_module(state, func) or not held.attrs.keys().isdisjoint(_LISTING):
        return True
    names = [*(each.name for each in of_program(state, held.cls)), *of_others(state, held.cls)]
    return bool(submodules.owned(state, func)[0]) or any(map(unseen_calls.makes_networks, names))


def _may_learn(state: State, func: Value) -> bool:
    """Whether a network is called of whose weights only some may need gradients: then a loss of it has its graph by these."""
    held = state.get(func)
    return isinstance(held, UnknownObj) and unseen_calls.is_network(held) and weights.is_frozen(state, func)


def _judges_numbers(state: State, func: Value, args: Args) -> bool:
    """Whether a criterion, which by convention has no weights, is given a prediction that surely has no graph."""
    asked, judged = state.get(func), state.get(args.all[0]) if args.all else None
    if not isinstance(asked, UnknownObj) or not unseen_calls.is_criterion(asked):
        return False
    return judged.plain if isinstance(judged, UnknownObj) else isinstance(judged, TensorObj) and judged.edge is None


_TESTS = frozenset(("startswith", "endswith"))


def _option(machine: Machine, state: State, func: Value, args: Args, span: Span) -> Value | None:
    """What an unknown that is no tensor's answers when it is asked for the same again, as `options.get("name")`."""
    held = state.get(func)
    if isinstance(func, Method) and func.name in _TESTS and all(isinstance(each, Const) for each in args.all):
        return Term(func.name, (func.obj, *args.pos))
    if (
        not isinstance(held, UnknownObj)
        or not conventions.OPTION.takes(held.name)
        or held.edge is not None
        or args.open
    ):
        return None
    if not args.pos or not all(isinstance(each, Const) for each in args.all):
        return None
    asked = args.pos if held.name in _TESTS else args.pos[:1]
    if held.name == "get" and _lacks(state, func, args.pos[0]):
        return args.get(1, "default")
    return objects.derived(
        machine, state, func, f"({', '.join(repr(each.value) for each in asked if isinstance(each, Const))})", span
    )


def _lacks(state: State, get: Value, key: Value) -> bool:
    """Whether a path has chosen that a key isn't in the mapping whose `get` this is."""
    for term, truth in state.truths.items():
        if not truth and isinstance(term, Term) and term.op == "in" and term.args[0] == key:
            owner = state.get(term.args[1])
            if isinstance(owner, UnknownObj) and owner.attrs.get("get") == get:
                return True
    return False


def _carries(args: Args) -> bool:
    """Whether a call is given a hidden state beside its input."""
    places = [place.text for place in args.spans[1:] if place is not None]
    return any(map(conventions.RECURRENT_STATE.takes, (*places, *(name for name, _ in args.named))))


def _fed_back(machine: Machine, state: State, func: Value, args: Args, span: Span) -> dict[Edge, Edge]:
    """The graphs of what a network is given, beside its input, of its own earlier result: as a recurrent one does it returns
    its state with the graph that led to it. What is called a memory it cuts itself, by convention."""
    found: dict[Edge, Edge] = {}
    given = zip(args.spans[1:], args.pos[1:], strict=False)
    parts = ((place, part) for place, each in given for part in (each.items if isinstance(each, Tuple) else (each,)))
    for place, value in parts:
        held = state.get(value)
        edge = held.edge if isinstance(held, UnknownObj) else None
        if edge is None or edge.node.op != PROJECTION or not isinstance(state.get(func), UnknownObj):
            continue
        whole: Edge | None = edge
        while whole is not None and whole.node.op == PROJECTION:  # an item of an item, perhaps
            whole = whole.node.next[0]
        own = whole is not None and machine.graphs.returned.callees.get(whole.node) == func
        if own and not (place is not None and conventions.MEMORY.takes(place.text)):
            made = objects.returned(machine, state, whole, span)
            if made is not None:
                machine.graphs.returned.states.add(made.node)
                found[edge] = made
    return found


def _weights(
    machine: Machine, state: State, func: Value, args: Args, level: int, inputs: list[Edge]
) -> list[tuple[Edge, int]]:
    """The weights that a call saves: of the network that is called; at a guess, of that whose method it is, and of those
    that it is given."""
    found: dict[Edge, int] = {}
    if not unseen_calls.keeps_nothing(state, func):
        receiver = (func.obj,) if isinstance(func, Method) else (func,)
        asked = (*receiver, *args.all) if level == GUESS else receiver
        found = dict.fromkeys(weights.given(machine, state, asked), GUESS)
    if isinstance(func, Ref) and level == CONVENTIONAL:
        found |= dict.fromkeys(weights.saved_by(machine, state, func, inputs), CONVENTIONAL)
    return list(found.items())


def _computes(func: Value, args: Args) -> bool:
    """Whether a tensor that a call returns was surely computed, and is no leaf, nor a copy that can be walked again."""
    if isinstance(func, Method) and func.name in by_name():
        row = rows().get(by_name()[func.name])
        return row is None or bool(row.saved([each == 0 for each in range(len(row.inputs))]))
    if dict(args.named).get("requires_grad", FALSE) != FALSE:
        return False  # it may make a leaf of what it is given
    return any(not isinstance(value, Const) for value in args.all) and not isinstance(func, External)


def _kind(func: Value) -> str:
    """What a constructor's name tells of its result."""
    return "instance" if isinstance(func, External) and conventions.CONSTRUCTOR.takes(func.path) else ""


def _may_backpropagate(value: Value) -> bool:
    """Whether a value is a function of the program, with a walk in it."""
    while isinstance(value, Bound | Wrapped | Partial):
        value = value.func
    return isinstance(value, Closure) and value.code.backward_passes


def _expose(machine: Machine, state: State, value: Value, func: Value, level: int) -> None:
    """An unseen callee may change what it is given: attributes and items that hold graphs are forgotten. A network, by
    convention, only reads the attributes."""
    if unseen_calls.is_library(func):
        return
    held = state.get(value)
    if level == GUESS and not unseen_calls.keeps_nothing(state, func):
        objects.forget_items(machine, state, value)
    if isinstance(held, DictObj) and held.of is not None and level == GUESS:
        submodules.forget(state, held.of, state.frame.code.span)
    if isinstance(held, Instance | LayerObj) and isinstance(value, Ref):
        if level == GUESS:
            objects.forget(machine, state, value)
            objects.forget_cleared(machine, state, value, limits.HANDED_DEPTH)
        if not unseen_calls.keeps_nothing(state, func):
            objects.each_within(value, limits.HANDED_DEPTH, partial(_doubt, state))
    elif isinstance(held, UnknownObj) and level == GUESS and held.edge is None and not held.plain:
        objects.may_be_leaf(machine, state, value)
    elif isinstance(held, UnknownObj) and level == GUESS and not unseen_calls.keeps_nothing(state, func):
        objects.doubt(state, value)
    elif isinstance(held, TensorObj) and isinstance(value, Ref) and level == GUESS and held.edge is None:
        if not (held.unsure or unseen_calls.keeps_nothing(state, func)):
            state.set(value, replace(held, unsure=True))  # it may be made to require gradients
    elif isinstance(held, ListObj | DictObj) and isinstance(value, Ref) and objects.holds_graphs(machine, state, value):
        state.set(value, UnknownObj(state.frame.code.span, name="items"))
    elif isinstance(held, ListObj | DictObj) and isinstance(value, Ref) and level == GUESS and not held.items:
        state.set(value, replace(held, open=True))  # it is given to be filled


def _doubt(state: State, value: Value) -> Iterable[Value]:
    """What lies in an object without a graph may be something else by now, which has one; what the object holds."""
    state.doubt(value)
    held = state.get(value)
    inner = () if isinstance(value, Tuple) else state.parts(value)
    return held.attrs.values() if isinstance(held, Instance | LayerObj) else inner
