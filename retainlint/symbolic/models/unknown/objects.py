"""What nobody can see: values that may be anything, calls that return a fresh graph over what went in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from retainlint.autograd.graph import Edge
from retainlint.autograd.operations import by_name, rows
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import dict_views, options
from retainlint.symbolic.models.torch import submodules
from retainlint.symbolic.models.torch.names import FUNCTIONAL
from retainlint.symbolic.models.unknown import conventions, unseen_calls, weights
from retainlint.symbolic.solver import decisions
from retainlint.symbolic.state import events, gradient_events, known_libraries, limits
from retainlint.symbolic.state.classes import is_module, of_others, of_program
from retainlint.symbolic.state.graphs import PROJECTION
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    CUT,
    FALSE,
    GUESS,
    MODULES,
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
    Slice,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import INITIALISERS, Span


def fresh(
    state: State, span: Span, *, name: str = "", hint: str = "", plain: bool = False, returned: bool = False
) -> Ref:
    """A value that may be anything; with `plain`, surely one without a graph; with `returned`, one that a call made."""
    return state.new(UnknownObj(span, hint=hint, name=name, plain=plain, returned=returned))


def named(machine: Machine, state: State, value: Value, name: str) -> None:
    """An unknown takes the name of the first variable that holds it."""
    held = state.get(value)
    if not isinstance(held, UnknownObj) or not isinstance(value, Ref):
        return
    if (
        held.notes.recurrent is not None
        and held.edge is not None
        and held.edge.node.op == PROJECTION
        and conventions.RECURRENT_STATE.takes(name)
    ):
        notes = replace(held.notes, recurrent=None)
        held = replace(held, edge=_returned(machine, state, held.edge.node.next[0], held.made), notes=notes)
        state.set(value, held)
    if not held.name:
        state.set(value, replace(held, name=name))


def derived(machine: Machine, state: State, obj: Value, name: str, span: Span) -> Value:
    """An attribute or item of an unknown: a guess over its graph, the same each time it is asked for."""
    held = state.get(obj)
    if not isinstance(held, UnknownObj) or not isinstance(obj, Ref):
        return fresh(state, span, name=name)
    if name in held.attrs:
        return held.attrs[name]
    edge = None if conventions.PLAIN_ATTRIBUTE.takes(name) else _part(machine, state, held, span, name)
    notes = NO_NOTES
    if held.notes.recurrent is not None and held.edge is not None and name.startswith("["):
        machine.opened.add(held.edge.node)
        if name == "[0]":
            edge = _returned(machine, state, held.edge, span)
        else:
            notes = Notes(recurrent=TRUE)
    if held.notes.options is not None and (default := options.noted(state, held, name)) is not None:
        if machine.unrolls:
            return default
        notes = Notes(default=default)
    is_item = name.startswith(("['", '["'))  # what has names may hold tensors: `graph.data["feat"]`
    plain = held.plain and (not is_item or held.notes.options is not None)
    made = UnknownObj(span, edge, cut_hint(held, name), name, plain=plain, fed=held.fed, notes=notes)
    found = same(machine, state, obj, name, made) if edge is None else state.new(made)
    state.set(obj, replace(held, attrs={**held.attrs, name: found}))
    if unseen_calls.is_network(held) and not held.plain:
        weights.part(state, obj, found)
    return found


def cut_hint(held: UnknownObj, name: str = "") -> str:
    """The hint of what is taken from something, under a name: of what surely has no graph that has none either; an item of a
    module is one."""
    if held.hint in ("module", PART) and name.startswith("[") and not held.name.startswith("Parameter"):
        return held.hint
    return CUT if held.hint == CUT else ""


def same(machine: Machine, state: State, obj: Ref, name: str, made: UnknownObj) -> Ref:
    """An attribute that this path reads for the first time: the same one as on other paths, which may be merged with it
    and have asked the same of it."""
    known = machine.graphs.read.get((obj.id, name))
    if known is None:
        known = machine.graphs.read[obj.id, name] = state.new(made)
        return known
    machine.graphs.effort.add((len(state.choices) + len(state.truths)) // 4)
    if known.id in state.heap or _was_asked(state, known):
        return state.new(made)  # it has been read before, and was forgotten since
    state.set(known, made)
    return known


def _was_asked(state: State, known: Ref) -> bool:
    """Whether a path has chosen an answer that something unknown went into."""
    terms = [*[choice.term for choice in state.choices], *state.truths]
    return any(known.id in _asked(term) for term in terms)


_NOTHING = frozenset[int]()


def _asked(value: Value) -> frozenset[int]:
    """The records that a condition speaks of, by their numbers."""
    if type(value) is Term:
        if value.refs is None:
            value.refs = frozenset[int]().union(*map(_asked, value.args))
        return value.refs
    if type(value) is Ref:
        return frozenset((value.id,))
    return frozenset[int]().union(*map(_asked, value.items)) if type(value) is Tuple else _NOTHING


def is_part(held: UnknownObj, name: str) -> bool:
    """Whether what was taken out of what an unseen call returned holds, rather than does, what is asked for under this name."""
    return not (name in by_name() or name in FUNCTIONAL) and held.edge is not None and held.edge.node.op == PROJECTION


def _returned(machine: Machine, state: State, whole: Edge | None, span: Span) -> Edge | None:
    """The graph that an output or the state of a recurrent network has by convention."""
    words = conventions.RECURRENT_STATE.says
    return None if whole is None else machine.graphs.part(state, whole, state.birth(span), CONVENTIONAL, words)


def _part(machine: Machine, state: State, held: UnknownObj, span: Span, name: str) -> Edge | None:
    """The graph that a part of an unknown may have."""
    if held.edge is None:
        return None
    machine.opened.add(held.edge.node)
    edge = machine.graphs.part(state, held.edge, state.birth(span))
    machine.graphs.returned.portions[edge.node] = name
    if name.strip("[]-").isdecimal():
        machine.graphs.returned.apart.add(held.edge.node)
    return edge


def may_be_leaf(machine: Machine, state: State, value: Value) -> None:
    """Something is made to require gradients, or may be: whatever it was computed by, it may be a leaf from now on."""
    held = state.get(value)
    if not isinstance(held, UnknownObj) or not isinstance(value, Ref) or machine.graphs.exists(held.edge) < GUESS:
        return
    if held.called or held.plain or held.edge is not None or held.hint == CUT:
        leaf = None if held.hint in MODULES else machine.graphs.leaf(state.moment(held.made), GUESS)
        hint = "" if held.hint == CUT else held.hint
        state.set(value, replace(held, edge=leaf, called=False, plain=False, hint=hint))


def item(machine: Machine, state: State, obj: Value, span: Span, index: Value | None = None) -> Value:
    """An item of something that we can't look into."""
    held = state.get(obj)
    if isinstance(held, UnknownObj) and isinstance(obj, Ref):
        if isinstance(index, Const):
            return derived(machine, state, obj, f"[{index.value!r}]", span)
        rows = isinstance(index, Slice) or (isinstance(index, Tuple) and any(isinstance(i, Slice) for i in index.items))
        edge = None
        if held.edge is not None:
            machine.opened.add(held.edge.node)
            at = None if _may_move(state, index) else index
            edge = machine.graphs.item(state, held.edge, state.birth(span), at, "slice" if rows else "part")
        return state.new(UnknownObj(span, edge, cut_hint(held), plain=held.plain, fed=held.fed))
    if isinstance(held, ListObj) and held.items:
        return held.items[-1]
    return fresh(state, span)


def _may_move(state: State, index: Value | None) -> bool:
    """Whether an index is a field of something that nobody sees: any of its methods may set another."""
    held = state.get(index) if index is not None else None
    return isinstance(held, UnknownObj) and held.made.text.endswith(f".{held.name}")


def cut(state: State, part: Ref) -> None:
    """`part.detach_()`; of each item in turn, it is all of what holds them that loses its graph."""
    held = state.heap[part.id]
    assert isinstance(held, UnknownObj)
    whole = held.edge.node.next[0] if held.edge is not None and held.edge.node.op == PROJECTION else None
    refs = [Ref(id) for id, each in state.heap.items() if isinstance(each, UnknownObj) and each.edge == whole]
    for ref in (part, *(refs if whole is not None else ())):
        each = state.heap[ref.id]
        if isinstance(each, UnknownObj) and (ref == part or part not in each.leading.values()):
            state.set(ref, UnknownObj(each.made, plain=True, name=each.name))


def set_item(machine: Machine, state: State, obj: Ref, index: Value, value: Value) -> None:
    """`obj[index] = value`: what had no graph has that of the value now, if it is a tensor; under an index that nobody knows it
    may be any of what was read before."""
    held, given = state.heap[obj.id], state.get(value)
    assert isinstance(held, UnknownObj)
    if held.plain and state.grad and isinstance(given, TensorObj | UnknownObj) and given.edge is not None:
        held = replace(held, plain=False)
        state.set(obj, held)
    if isinstance(index, Const):
        state.set(obj, replace(held, attrs={**held.attrs, f"[{index.value!r}]": value}))
    else:
        forget_items(machine, state, obj, numbered=True)


def forget_items(machine: Machine, state: State, obj: Value, *, numbered: bool = False) -> None:
    """Drop what was read from a container that nobody sees, by its names or also if `numbered`, where that has graphs: it may
    hold others by now. Networks stay."""
    held = state.get(obj)
    if not isinstance(held, UnknownObj) or not isinstance(obj, Ref) or held.hint == "tensor":
        return
    lost = {
        name
        for name, value in held.attrs.items()
        if name.startswith("[" if numbered else "['")
        and _has_graph(machine, state, value)
        and not _is_network(machine, state, value)
    }
    if lost:
        left = {name: value for name, value in held.attrs.items() if name not in lost}
        state.set(obj, replace(held, attrs=left, edge=None))


def edges_in(machine: Machine, state: State, values: Iterable[Value], *, lazy: bool = False) -> list[Edge]:
    """The graphs of the tensors among some values, those in containers too. With `lazy`, those that an object holds
    too, such as a distribution, and an unknown that was never asked for a graph gets one now."""
    found: dict[Edge, None] = {}
    stack, seen = list(values), 0
    while stack and seen < limits.GRAPH_SEARCH:
        value = stack.pop()
        seen += 1
        if type(value) is not Ref:
            if type(value) is Tuple:
                stack.extend(value.items)
            continue
        held = state.heap[value.id]
        if isinstance(held, (TensorObj, UnknownObj)):
            edge = held.edge
            if edge is None and lazy and isinstance(held, UnknownObj):
                edge = machine.graphs.edge(state, value)
            if edge is not None:
                found[edge] = None
        elif isinstance(held, ListObj):
            stack.extend(held.items)
        elif isinstance(held, DictObj):
            stack.extend(held.items.values())
        elif lazy and isinstance(held, Instance) and not is_module(state, value):
            found |= dict.fromkeys(edges_in(machine, state, held.leading.values()))
    return list(found)


def called(machine: Machine, state: State, func: Value, args: Args, span: Span, *, cuts: bool = False) -> Value:
    """What a call that we can't see returns; one that `cuts` may lead to nothing that it is given."""
    made = _called(machine, state, func, args, span, cuts=cuts)
    if isinstance(func, Method) and not args.all:
        dict_views.measure(state, func, made)
    return made


def _called(machine: Machine, state: State, func: Value, args: Args, span: Span, *, cuts: bool) -> Value:
    if isinstance(func, External) and known_libraries.known_for("arrays", func.path):
        return fresh(state, span, plain=True, name=func.path.rpartition(".")[2])
    if (option := _option(machine, state, func, args, span)) is not None:
        return option
    if not args.all and (view := dict_views.shown(machine, state, func, span)) is not None:
        return view
    if isinstance(func, Method) and conventions.CHANGES.takes(func.name):
        decisions.forget(state, func.obj)
        forget_items(machine, state, func.obj)
    if (owner := _object_of(machine, state, func, args)) is not None:
        forget_unset(machine, state, owner)
    level, assumed = unseen_calls.level(machine, state, func, args)
    if level > PROVEN and known_libraries.speaks_another(span.source):
        level = GUESS  # what this file calls a loss, or a network, is another library's
    machine.events.emit(events.Escaped(edges_in(machine, state, unseen_calls.captured(state, args.all))))
    if level == GUESS and not unseen_calls.keeps_nothing(state, func):
        gradient_events.hidden(machine, state, span, func.name if isinstance(func, Method) else "")
        machine.events.emit(events.Escaped(edges_in(machine, state, args.all)))
        if any(_may_backpropagate(value) for value in args.all):
            machine.events.emit(events.NotFollowed())
    edges = edges_in(machine, state, args.all, lazy=level <= CONVENTIONAL) if state.grad and not cuts else []
    fed_back = _fed_back(machine, state, func, args, span) if state.grad and level == CONVENTIONAL and not cuts else {}
    edges = [fed_back.get(edge, edge) for edge in edges]
    _hand_on(machine, state, func, args, span, level)
    receiver = state.get(func.obj) if isinstance(func, Method) else None
    if state.grad and level == GUESS and not edges and unseen_calls.gives_data(state, func):
        return state.new(UnknownObj(span, fed=True))
    if not state.grad or (isinstance(receiver, UnknownObj) and receiver.plain):
        return state.new(UnknownObj(span, hint="" if state.grad else CUT, plain=True, returned=True))
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
            shuffled(state, value)
        _expose(machine, state, value, func, level)
    if level == GUESS:
        unseen_calls.run_unseen(state, args.all, span)
        weights.handed(
            machine,
            state,
            unseen_calls.name_of(state, func),
            (*args.all, func.obj if isinstance(func, Method) else func),
        )


def shuffled(state: State, value: Value) -> None:
    """Of a list of numbers that was shuffled, and of which not all are known, nobody knows which is which."""
    held = state.get(value)
    if not isinstance(held, ListObj) or not isinstance(value, Ref) or not (held.open or held.sampled):
        return
    if held.items and all(isinstance(each, Const | Symbol | Term) for each in held.items):
        size = held.size or Term("len", (value,))
        state.set(value, ListObj((Symbol(ticket()),), True, held.kind, size=size))


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
    return derived(
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
            made = _returned(machine, state, whole, span)
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
        forget_items(machine, state, value)
    if isinstance(held, DictObj) and held.of is not None and level == GUESS:
        submodules.forget(state, held.of, state.frame.code.span)
    if isinstance(held, Instance | LayerObj) and isinstance(value, Ref):
        if level == GUESS:
            forget(machine, state, value)
            forget_cleared(machine, state, value, limits.HANDED_DEPTH)
        if not unseen_calls.keeps_nothing(state, func):
            _each_within(value, limits.HANDED_DEPTH, partial(_doubt, state))
    elif isinstance(held, UnknownObj) and level == GUESS and held.edge is None and not held.plain:
        may_be_leaf(machine, state, value)
    elif isinstance(held, TensorObj) and isinstance(value, Ref) and level == GUESS and held.edge is None:
        if not (held.unsure or unseen_calls.keeps_nothing(state, func)):
            state.set(value, replace(held, unsure=True))  # it may be made to require gradients
    elif isinstance(held, ListObj | DictObj) and isinstance(value, Ref) and _holds_graphs(machine, state, value):
        state.set(value, UnknownObj(state.frame.code.span, name="items"))
    elif isinstance(held, ListObj | DictObj) and isinstance(value, Ref) and level == GUESS and not held.items:
        state.set(value, replace(held, open=True))  # it is given to be filled


def _doubt(state: State, value: Value) -> Iterable[Value]:
    """What lies in an object without a graph may be something else by now, which has one; what the object holds."""
    state.doubt(value)
    held = state.get(value)
    inner = () if isinstance(value, Tuple) else state.parts(value)
    return held.attrs.values() if isinstance(held, Instance | LayerObj) else inner


def _each_within(value: Value, depth: int, visit: Callable[[Value], Iterable[Value]]) -> None:
    """Visit a value and what lies in it, so many levels down, each once; a visit gives the parts to go on with."""
    level, known = [value], {value}
    for _ in range(depth + 1):
        parts = dict.fromkeys(part for each in level for part in visit(each))
        level = [part for part in parts if part not in known]
        known.update(level)


def _holds_graphs(machine: Machine, state: State, value: Value) -> bool:
    """Whether a container holds graphs; a list of data holds none that anything rests on, and few callees put others into it."""
    level = GUESS if isinstance(state.get(value), ListObj) else GUESS + 1
    return any(machine.graphs.exists(edge) < level for edge in edges_in(machine, state, [value]))


def keep(state: State, made: Value, given: tuple[Value, ...]) -> None:
    """An object whose `__init__` nobody followed keeps what that was given, as far as it is no network."""
    held = state.get(made)
    if isinstance(held, Instance) and isinstance(made, Ref) and not is_module(state, made):
        state.set(made, replace(held, notes=replace(held.notes, given=Tuple(given))))


def forget(machine: Machine, state: State, ref: Ref) -> None:
    """Drop the attributes of an object that hold graphs: somebody may have rebound them. So may a weight that was computed be
    another one by now."""
    held = state.heap[ref.id]
    if isinstance(held, LayerObj):
        span = state.frame.code.span
        lost = [
            name
            for name, value in held.attrs.items()
            if isinstance(state.get(value), TensorObj) and _has_graph(machine, state, value)
        ]
        if lost:
            state.set(
                ref,
                replace(held, attrs={**held.attrs, **{name: state.new(UnknownObj(span, name=name)) for name in lost}}),
            )
    if not isinstance(held, Instance):
        return
    kept = {name: value for name, value in held.attrs.items() if not _has_graph(machine, state, value)}
    own = held.notes.weights
    notes = held.notes.only(lambda value: value is own or not _has_graph(machine, state, value))
    if len(kept) < len(held.attrs) or notes is not held.notes:
        state.set(ref, Instance(held.cls, kept, notes))


def forget_cleared(machine: Machine, state: State, obj: Value, depth: int) -> None:
    """Drop the graphs that lie in an object, or in what it holds, where a method of theirs clears the attribute that nobody
    is seen to call: somebody unseen may have."""
    _each_within(obj, depth, partial(_without_cleared, machine, state))


def _without_cleared(machine: Machine, state: State, obj: Value) -> Iterator[Value]:
    """Drop them of one object; the objects that it holds."""
    held = state.get(obj)
    if not isinstance(held, Instance) or not isinstance(obj, Ref):
        return
    methods = (each.attrs.items() for each in of_program(state, held.cls))
    codes = [each.code for of in methods for name, each in of if isinstance(each, Closure) and name not in INITIALISERS]
    cleared = {name for each in codes if each not in machine.entered for name in each.facts.cleared}
    state.drop(obj, [n for n in cleared.intersection(held.attrs) if _has_graph(machine, state, held.attrs[n])])
    yield from (part for part in held.attrs.values() if isinstance(state.get(part), Instance))


def forget_unset(machine: Machine, state: State, obj: Value) -> None:
    """Drop the attributes of an object that nothing seen has set, where they may hold graphs: whoever sets them may have
    done so again. Networks stay the same."""
    held = state.get(obj)
    if not isinstance(held, Instance) or not isinstance(obj, Ref):
        return
    unset = [
        (name, value) for name, value in held.attrs.items() if isinstance(value, Ref) and value.id in machine.unset
    ]
    lost = {
        name for name, value in unset if _has_graph(machine, state, value) and not _is_network(machine, state, value)
    }
    state.drop(obj, lost)


def _is_network(machine: Machine, state: State, value: Value) -> bool:
    held = state.get(value)
    if not isinstance(held, UnknownObj):
        return False
    is_stand_in = held.edge is not None and held.edge.node in machine.graphs.networks
    return is_stand_in or held.hint in MODULES


def _has_graph(machine: Machine, state: State, value: Value) -> bool:
    """Whether a graph that was built is in a value."""
    held = state.get(value)
    if held is None and not isinstance(value, Tuple):
        return False
    parameter = isinstance(held, TensorObj) and held.edge is not None and held.edge.node.is_leaf
    return not parameter and bool(edges_in(machine, state, [value]))
