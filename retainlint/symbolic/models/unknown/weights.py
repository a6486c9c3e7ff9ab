"""Weights of networks that nobody sees: one stand-in for all of a network's, which its calls save and its optimiser moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from retainlint.autograd.graph import Edge, Node
from retainlint.ir.facts import NO_FACTS
from retainlint.startup.records import replace
from retainlint.symbolic.models.torch import submodules
from retainlint.symbolic.models.unknown import conventions, unseen_calls
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.classes import is_open
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.reachability import each_once
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    FALSE,
    GUESS,
    MODULES,
    NONE,
    PART,
    TRUE,
    ClassObj,
    Const,
    Instance,
    LayerObj,
    ListObj,
    Notes,
    Ref,
    TensorObj,
    UnknownObj,
    Value,
)

UNSEEN = "(weights)"
"""The name under which a list of named parameters holds the stand-in for those that nobody sees."""
_NONE_FROZEN = {True: (TRUE, NONE), False: (FALSE, NONE)}
"""What such an option is where nothing is frozen: by whether it says what learns."""
_SOME = Const(-1)
_HINTS = ("", "instance", *MODULES)


# -- the stand-ins ------------------------------------------------------------------------------------------------


def of(machine: Machine, state: State, network: Value) -> Ref | None:
    """The stand-in for the weights of a network, made when it is first asked for; None for what can be none."""
    held = state.get(network)
    if not isinstance(network, Ref) or not isinstance(held, UnknownObj | Instance):
        return None
    known = held.notes.weights
    if isinstance(known, Ref):
        return known
    if isinstance(held, UnknownObj) and (held.plain or held.edge is not None or held.hint not in _HINTS):
        return None
    name = held.name if isinstance(held, UnknownObj) else ""
    made = held.made if isinstance(held, UnknownObj) else state.frame.code.span
    edge = machine.graphs.weights(state.moment(made), network, name)
    ref = state.new(UnknownObj(made, edge, "tensor", notes=Notes(network=network)))
    state.set(network, replace(held, notes=replace(held.notes, weights=ref)))
    return ref


def listed(machine: Machine, state: State, network: Value) -> Ref | None:
    """What a list of a network's parameters holds: its stand-in, as one path has it."""
    own = of(machine, state, network)
    held = state.get(own) if own is not None else None
    if not isinstance(held, UnknownObj):
        return None
    kept = {name: value for name, value in held.attrs.items() if name == "requires_grad"}
    notes = Notes(network=held.notes.network, since=Const(len(state.choices)))
    return state.new(replace(held, attrs=kept, notes=notes))


def some(state: State, item: Value) -> Value:
    """A slice or an item of a list of a network's parameters: nobody knows which."""
    held = state.get(item)
    if not isinstance(held, UnknownObj):
        return item
    return state.new(replace(held, notes=replace(held.notes, since=_SOME)))


def is_some(state: State, value: Value) -> bool:
    """Whether a value stands for some of a network's weights."""
    held = state.get(value)
    return isinstance(held, UnknownObj) and held.notes.since == _SOME


def network_of(state: State, value: Value) -> Value | None:
    """The network for whose weights a value stands, if it does."""
    held = state.get(value)
    return held.notes.network if isinstance(held, UnknownObj) else None


def is_chosen(state: State, value: Value) -> bool:
    """Whether the path has taken something for granted since these weights were listed: it may be about some of them."""
    held = state.get(value)
    since = held.notes.since if isinstance(held, UnknownObj) else None
    return isinstance(since, Const) and len(state.choices) > (since.value if isinstance(since.value, int) else 0)


def family(state: State, value: Value) -> Iterator[Ref]:
    """The stand-ins for the weights of a network and of its parts."""
    for each in _parts(state, value):
        held = state.heap[each.id]
        if isinstance(held, (UnknownObj, Instance)) and isinstance(own := held.notes.weights, Ref):
            yield own


def _parts(state: State, value: Value) -> Iterator[Ref]:
    """A network, and what it holds, but for what was computed."""
    stack, seen = [value], set[int]()
    while stack:
        each = stack.pop()
        if type(each) is not Ref or each.id in seen:
            continue
        seen.add(each.id)
        held = state.heap[each.id]
        if isinstance(held, (ListObj, LayerObj)):
            stack.extend(held.items if isinstance(held, ListObj) else (*held.children, *held.attrs.values()))
        elif isinstance(held, (UnknownObj, Instance)):
            if isinstance(held, UnknownObj) and (held.notes.network is not None or held.edge is not None):
                continue
            yield each
            stack.extend(held.attrs.values())
            stack.extend(each for name, each in held.notes.named.items() if name != "(owner)")


def unseen(state: State, module: Value) -> list[Value]:
    """The parts of a module that are modules which nobody sees."""

    def inner(each: Value) -> Iterable[Value]:
        return held.attrs.values() if isinstance(held := state.get(each), Instance | LayerObj) else ()

    found = ((each, state.get(each)) for each in each_once([module], inner) if each != module)
    return [each for each, held in found if isinstance(held, UnknownObj) and held.hint in MODULES]


# -- what a call saves --------------------------------------------------------------------------------------------


def saved_by(machine: Machine, state: State, network: Value, inputs: Iterable[Edge]) -> list[Edge]:
    """The weights that a call of a network saves, as far as its name doesn't tell otherwise."""
    held = state.get(network)
    name = held.name if isinstance(held, UnknownObj) else ""
    if conventions.WEIGHTLESS.takes(name) or (isinstance(held, UnknownObj) and unseen_calls.is_of_losses(held)):
        return []
    if conventions.ONE_LAYER.takes(name) and all(machine.graphs.exists(edge) == GUESS for edge in inputs):
        return []
    ref = of(machine, state, network)
    own = state.get(ref) if ref is not None else None
    return [own.edge] if isinstance(own, UnknownObj) and own.edge is not None else []


def given(machine: Machine, state: State, values: Iterable[Value]) -> list[Edge]:
    """The weights that an unseen function may save: of the networks that it is given, or whose method it is."""
    found: list[Edge] = []
    for value in values:
        held = state.get(value)
        if isinstance(held, UnknownObj) and (held.notes.weights is not None or held.hint == "module"):
            found += saved_by(machine, state, value, ())
        elif isinstance(held, UnknownObj) and (whole := held.notes.owner) is not None:
            found += saved_by(machine, state, whole, ())
    return found


# -- optimisers ---------------------------------------------------------------------------------------------------


def note(machine: Machine, state: State, module: Ref, named: dict[str, Value], *, sure: bool) -> None:
    """Remember whose known parameters a list of them holds: who owns them all owns what nobody sees as well. Where none
    is known, or some surely aren't, a stand-in is put into the list."""
    if not isinstance(state.get(module), Instance | LayerObj):
        return
    machine.graphs.listed[module] = frozenset(named.values())
    if not named:
        _prove(state, module)
    if not (named and sure) and (item := listed(machine, state, module)) is not None:
        named[UNSEEN] = item


def _prove(state: State, module: Ref) -> None:
    """A module in which no parameter is seen has some, or torch would refuse to list them for an optimiser: the only part
    that it calls, and that nobody sees, is a module, and so are all where they are those of one Sequential."""
    parts: list[tuple[Ref, UnknownObj]] = []
    wholes = set[Value]()
    stack, seen = [module], set[Value]()
    while stack:
        whole = stack.pop()
        held = state.get(whole)
        if whole in seen or not isinstance(held, Instance | LayerObj):
            continue
        seen.add(whole)
        if isinstance(held, Instance) and is_open(state, held.cls):
            return  # a base that nobody sees may have some
        cls = state.get(held.cls) if isinstance(held, Instance) else None
        facts = cls.code.facts if isinstance(cls, ClassObj) else NO_FACTS
        for name, value in held.attrs.items():
            part = state.get(value)
            if isinstance(part, Instance | LayerObj) and isinstance(value, Ref):
                stack.append(value)
            elif (
                isinstance(part, UnknownObj) and isinstance(value, Ref) and (part.hint == PART or facts.calls_own(name))
            ):
                if not part.plain and part.edge is None and not conventions.WEIGHTLESS.takes(part.name or name):
                    parts.append((value, part))
                    wholes.add(whole)
    kinds = [held.kind for whole in wholes if isinstance(held := state.get(whole), LayerObj)]
    in_sequence = len(wholes) == 1 and kinds == ["Sequential"]
    for value, part in parts if in_sequence or len(parts) == 1 else ():
        if part.hint in ("", "instance", PART):
            state.set(value, replace(part, hint="submodule"))


def completed(machine: Machine, state: State, params: Iterable[Value]) -> tuple[Value, ...]:
    """Some parameters, with the stand-ins of the modules all of whose known ones are among them. Where no more is known of
    a module than of one of its parts, it is the part that was given."""
    params = tuple(dict.fromkeys(params))
    lists = machine.graphs.listed
    given = [m for m, known in lists.items() if known and known <= set(params)]
    whole = [
        m for m in given if not any(lists[m] == lists[each] for each in submodules.below(state, m) if each in given)
    ]
    return params + tuple(own for module in whole if (own := of(machine, state, module)) is not None)


def owned(state: State, params: Iterable[Value]) -> Iterator[Node]:
    """The leaves of the stand-ins among some parameters, and of those for parts of the same networks."""
    seen = set[Node]()
    for value in params:
        network = None if is_some(state, value) else network_of(state, value)
        for ref in family(state, network) if network is not None else ():
            held = state.get(ref)
            if isinstance(held, UnknownObj) and held.edge is not None and held.edge.node not in seen:
                seen.add(held.edge.node)
                yield held.edge.node


def moved(machine: Machine, state: State, params: Iterable[Value]) -> Iterator[tuple[Node, int]]:
    """The weights that a step of their optimiser moves, and how sure it is that they have a gradient."""
    for node in owned(state, params):
        if node.variable in state.ledger.graded and node not in machine.graphs.partly:
            sure = any(r.accumulate and r.reach.get(node, GUESS) <= CONVENTIONAL for r in state.backward_passes)
            yield node, CONVENTIONAL if sure else GUESS


def leaves(state: State, params: Iterable[Value]) -> Iterator[Node]:
    """The leaves of all that an optimiser owns, seen or not."""
    params = tuple(params)
    for value in params:
        held = state.get(value)
        if isinstance(held, TensorObj) and held.edge is not None:
            yield held.edge.node
    yield from owned(state, params)


# -- freezing and zeroing -----------------------------------------------------------------------------------------


def require(machine: Machine, state: State, network: Value, wanted: Value, item: Value | None = None) -> None:
    """`requires_grad_(wanted)` of a network, its parts too; of an `item` of its parameters perhaps only of some. What
    can't be told counts as frozen."""
    for each in (network, *unseen(state, network)):
        of(machine, state, each)
    some = item is not None and is_chosen(state, item)
    for ref in list(family(state, network)):
        held = state.get(ref)
        if not isinstance(held, UnknownObj):
            continue
        if some and held.edge is not None:
            machine.graphs.partly.add(held.edge.node)
        if wanted != TRUE:
            state.set(ref, replace(held, edge=None, plain=True, attrs={**held.attrs, "requires_grad": FALSE}))
        elif held.edge is None:
            kept = {name: value for name, value in held.attrs.items() if name != "requires_grad"}
            edge = machine.graphs.weights(state.moment(held.made), held.notes.network or ref, "")
            state.set(ref, replace(held, edge=edge, plain=False, attrs=kept))


def made(machine: Machine, state: State, network: Value, options: Iterable[tuple[str, Value]]) -> None:
    """A network was made by what nobody sees, under some options: one of them may freeze it."""
    if any(
        conventions.FREEZES.takes(name) and value not in _NONE_FROZEN[conventions.LEARNS.takes(name)]
        for name, value in options
    ):
        require(machine, state, network, FALSE)


def is_frozen(state: State, network: Value) -> bool:
    """Whether a network was frozen, so that parts of it that are asked for later are as well."""
    held = state.get(network)
    known = held.notes.weights if isinstance(held, UnknownObj | Instance) else None
    own = state.get(known) if known is not None else None
    return isinstance(own, UnknownObj) and own.plain


def part(state: State, whole: Ref, found: Ref) -> None:
    """Note that something is a part of a network, as frozen as that is."""
    held = state.heap[found.id]
    assert isinstance(held, UnknownObj)
    notes = replace(held.notes, owner=whole)
    if is_frozen(state, whole):
        own = UnknownObj(
            held.made, None, "tensor", attrs={"requires_grad": FALSE}, plain=True, notes=Notes(network=found)
        )
        notes = replace(notes, weights=state.new(own))
    state.set(found, replace(held, notes=notes))


def clear(machine: Machine, state: State, networks: Iterable[Value] | None = None) -> None:
    """Gradients were set to None: of the weights of some networks, or of all that nobody sees."""
    if networks is None:
        gone = {node.variable for node in machine.graphs.networks}
    else:
        networks = list(networks)
        for each in [part for network in networks for part in _parts(state, network)]:
            held = state.heap[each.id]
            if isinstance(held, UnknownObj) and "grad" in held.attrs:
                state.set(each, replace(held, attrs={name: v for name, v in held.attrs.items() if name != "grad"}))
        refs = [ref for network in networks for ref in family(state, network)]
        gone = {e.node.variable for ref in refs if (e := machine.graphs.edge(state, ref)) is not None}
    for variable in gone:
        state.ledger.graded.discard(variable)


@lru_cache(maxsize=limits.REMEMBERED_NAMES)
def _may_do(name: str) -> tuple[bool, bool]:
    """Whether a function of some name may clear gradients, and whether it may freeze networks."""
    return conventions.CLEARS.takes(name), conventions.FREEZES.takes(name)


def handed(machine: Machine, state: State, name: str, values: Iterable[Value]) -> None:
    """An unseen function of this name is given some values: it may freeze networks, or set gradients to None."""
    clears, freezes = _may_do(name)
    if clears:
        clear(machine, state)
    stack = list(values) if freezes else []
    while stack:
        value = stack.pop()
        held = state.get(value)
        stack.extend(state.parts(value))
        if (network := network_of(state, value)) is not None:
            stack.append(network)
        elif isinstance(held, UnknownObj | Instance):
            owner = held.notes.owner
            require(machine, state, value if owner is None else owner, FALSE)
