"""The numbers that variables and objects hold, and how long the lists are: which of them grow from turn to turn."""

from __future__ import annotations

from typing import TypeAlias

from retainlint.records import replace
from retainlint.symbolic.classes import find
from retainlint.symbolic.state import State, ticket
from retainlint.symbolic.values import Const, Instance, ListObj, Ref, Symbol, Value

Place: TypeAlias = "str | int | tuple[int, str]"
"""A variable of the running function, a list by its record, or an object's by its name there."""
Sizes: TypeAlias = "dict[Place, int]"


def of_names(state: State) -> Sizes:
    """The variables of the running function that hold numbers, or lists, with their lengths."""
    found: Sizes = {}
    heap = state.heap
    for name, held in state.frame.names.items():
        if type(held) is Const:
            if type(held.value) is int:
                found[name] = held.value
        elif type(held) is Ref and type(gathered := heap[held.id]) is ListObj and not gathered.open:
            found[name] = len(gathered.items)
    return found


def of_objects(state: State) -> Sizes:
    """The lists on the heap, and the numbers that objects hold."""
    found: Sizes = {}
    for id, held in state.heap.items():
        if type(held) is ListObj:
            if not held.open:
                found[id] = len(held.items)
        elif type(held) is Instance:
            for name, value in held.attrs.items():
                if type(value) is Const and type(value.value) is int:
                    found[id, name] = value.value
    return found


def grown(state: State, before: Sizes, now: Sizes) -> set[Place]:
    """What has grown since; a number that an object didn't have was its class's."""
    return {place for place, size in now.items() if size > before.get(place, _begun(state, place, size))}


def _begun(state: State, place: Place, size: int) -> int:
    if isinstance(place, tuple):
        held = state.heap[place[0]]
        first = find(state, held.cls, place[1]) if isinstance(held, Instance) else None
        if isinstance(first, Const) and type(first.value) is int:
            return first.value
    return size


def reset(state: State, places: set[Place]) -> set[Place]:
    """Those that a turn has set to a known number, though it began with none."""
    found: set[Place] = set()
    for place in places:
        held = state.frame.names.get(place) if isinstance(place, str) else None
        owner = state.heap.get(place[0]) if isinstance(place, tuple) else None
        value = owner.attrs.get(place[1]) if isinstance(owner, Instance) and isinstance(place, tuple) else held
        if isinstance(value, Const):
            found.add(place)
    return found


def widen(state: State, places: set[Place]) -> None:
    """Let each be as large as it is, or larger by any number."""
    for place in places:
        match place:
            case str():
                held = state.frame.names.get(place)
                if isinstance(held, Ref):
                    _open(state, held)
                elif (number := _larger(held)) is not None:
                    state.writable().names[place] = number
            case int():
                _open(state, Ref(place))
            case (id, name):
                owner = state.heap[id]
                if isinstance(owner, Instance) and (number := _larger(owner.attrs.get(name))) is not None:
                    state.set(Ref(id), Instance(owner.cls, {**owner.attrs, name: number}))


def of_lists(state: State) -> dict[int, int]:
    """How long each list is."""
    return {id: len(held.items) for id, held in state.heap.items() if type(held) is ListObj}


def sample(state: State, before: dict[int, int], turns: int, size: Value | None) -> None:
    """Lists that have grown since, in a loop of which only some turns were run, are of unknown length; one that began
    empty, and took an item in each of these, is as long as what the loop runs over."""
    lists = [(id, held) for id, held in state.heap.items() if type(held) is ListObj and not held.sampled]
    for id, held in lists:
        if len(held.items) > before.get(id, 0):
            is_whole = not held.open and not before.get(id, 0) and len(held.items) == turns
            state.set(Ref(id), replace(held, sampled=True, size=size if is_whole else held.size))


def _open(state: State, ref: Ref) -> None:
    held = state.get(ref)
    if isinstance(held, ListObj):
        state.set(ref, replace(held, open=True))


def _larger(value: Value | None) -> Symbol | None:
    """A number that nobody knows, at least as large as one that is known, or was at least so large."""
    match value:
        case Const(int(number)) if not isinstance(number, bool):
            return Symbol(ticket(), number)
        case Symbol(low=low):
            return Symbol(ticket(), low)
    return None
