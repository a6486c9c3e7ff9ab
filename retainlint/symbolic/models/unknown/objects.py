"""What nobody can see: values that may be anything, their attributes and items, and what is forgotten of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from retainlint.autograd.graph import Edge
from retainlint.autograd.operations import by_name
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import options
from retainlint.symbolic.models.torch.names import FUNCTIONAL
from retainlint.symbolic.models.unknown import conventions, unseen_calls, weights
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.classes import is_module, of_program
from retainlint.symbolic.state.graphs import PROJECTION
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    CUT,
    GUESS,
    MODULES,
    NO_NOTES,
    PART,
    TRUE,
    Closure,
    Const,
    DictObj,
    Instance,
    LayerObj,
    ListObj,
    Notes,
    Ref,
    Slice,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
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
        held = replace(held, edge=returned(machine, state, held.edge.node.next[0], held.made), notes=notes)
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
            edge = returned(machine, state, held.edge, span)
        else:
            notes = Notes(recurrent=TRUE)
    if held.notes.options is not None and (default := options.noted(state, held, name)) is not None:
        if machine.unrolls:
            return default
        notes = Notes(default=default)
    is_item = name.startswith(("['", '["'))  # what has names may hold tensors: `graph.data["feat"]`
    plain = held.plain and (not is_item or held.notes.options is not None or held.cut is not None)
    cut = held.cut if plain else None
    made = UnknownObj(span, edge, cut_hint(held, name), name, plain=plain, fed=held.fed, notes=notes, cut=cut)
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


def returned(machine: Machine, state: State, whole: Edge | None, span: Span) -> Edge | None:
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
    doubt(state, value)
    if held.called or held.plain or held.edge is not None or held.hint == CUT:
        leaf = None if held.hint in MODULES else machine.graphs.leaf(state.moment(held.made), GUESS)
        hint = "" if held.hint == CUT else held.hint
        state.set(value, replace(held, edge=leaf, called=False, plain=False, hint=hint))


def doubt(state: State, value: Value) -> None:
    """What surely had no graph may have one by now, and with it what was cut off at the same place: what it is an item of, and
    its own items."""
    held = state.get(value)
    if isinstance(held, UnknownObj) and held.cut is not None:
        for id, each in list(state.heap.items()):
            if isinstance(each, UnknownObj) and each.cut == held.cut:
                state.set(Ref(id), replace(each, cut=None))


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
        return state.new(UnknownObj(span, edge, cut_hint(held), plain=held.plain, fed=held.fed, cut=held.cut))
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
        doubt(state, obj)
        held = replace(held, plain=False, cut=None)
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


def shuffled(state: State, value: Value) -> None:
    """Of a list of numbers that was shuffled, and of which not all are known, nobody knows which is which."""
    held = state.get(value)
    if not isinstance(held, ListObj) or not isinstance(value, Ref) or not (held.open or held.sampled):
        return
    if held.items and all(isinstance(each, Const | Symbol | Term) for each in held.items):
        size = held.size or Term("len", (value,))
        state.set(value, ListObj((Symbol(ticket()),), True, held.kind, size=size))


def each_within(value: Value, depth: int, visit: Callable[[Value], Iterable[Value]]) -> None:
    """Visit a value and what lies in it, so many levels down, each once; a visit gives the parts to go on with."""
    level, known = [value], {value}
    for _ in range(depth + 1):
        parts = dict.fromkeys(part for each in level for part in visit(each))
        level = [part for part in parts if part not in known]
        known.update(level)


def holds_graphs(machine: Machine, state: State, value: Value) -> bool:
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
    each_within(obj, depth, partial(_without_cleared, machine, state))


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
