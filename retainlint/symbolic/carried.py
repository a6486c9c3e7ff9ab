"""What a call of a method leaves for the next one on the same object."""

from __future__ import annotations

from collections.abc import Mapping

from retainlint.autograd.graph import Node
from retainlint.records import replace
from retainlint.symbolic import deeds, reach
from retainlint.symbolic.classes import ancestry, class_of, find
from retainlint.symbolic.context import Machine
from retainlint.symbolic.state import State
from retainlint.symbolic.values import (
    GUESS,
    ClassObj,
    Const,
    HeapObj,
    Instance,
    LayerObj,
    ListObj,
    Ref,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)


def changed(machine: Machine, before: State, states: list[State]) -> list[State]:
    """Those behind a call of a method from which the next call may come to something else."""
    going: list[State] = []
    for each in states:
        if leaves_all(machine, before, each):
            deeds.repeated(machine.waste, before, each)
        else:
            going.append(each)
    return going


def leaves_all(machine: Machine, before: State, after: State) -> bool:
    """Whether a call changed nothing that was there before it but what nobody knew, and walked only what it had made
    itself: the next one would come to no more."""
    reached = {node for walk in after.walks[len(before.walks) :] for node in walk.reach}
    if reached and not _walks_its_own(machine, before, after, reached):
        return False
    same = after.hooks == before.hooks and after.grad == before.grad and after.cache == before.cache
    return same and _keeps_frames(before, after) and _keeps_heap(machine, before, after, reached)


def _walks_its_own(machine: Machine, before: State, after: State, reached: set[Node]) -> bool:
    """Whether walks came to nothing that the next call's may come to: no graph that was there before, and no leaf but
    those that are gone, or of whose gradient the next call makes no use."""
    afresh = deeds.begins_afresh(before, after)
    reached = {node for node in reached if not (node.is_leaf and (afresh or not _is_graded(before, after, node)))}
    networks = {machine.graphs.networks[node][0] for node in reached & machine.graphs.networks.keys()}
    if networks and machine.waste.entry in machine.waste.thinned:
        return False  # the next call may take the ways that this one has left out
    if not all(_is_gone(machine, before, after, each) for each in networks):
        return False
    held = {each.edge.node for each in before.heap.values() if isinstance(each, TensorObj | UnknownObj) and each.edge}
    return held.isdisjoint(reached)


def _is_graded(before: State, after: State, leaf: Node) -> bool:
    """Whether a leaf has a gradient that it didn't have."""
    return leaf.variable in after.ledger.graded and leaf.variable not in before.ledger.graded


def _is_gone(machine: Machine, before: State, after: State, network: Value) -> bool:
    """Whether a network was made by the call, or given to it, and nobody has it any more."""
    if not isinstance(network, Ref) or network.id in before.heap or network.id in before.base.heap:
        return False
    owners = [Ref(id) for (id, _), ref in machine.graphs.read.items() if ref == network]
    return network.id not in reach.records(after)[0] and all(_is_gone(machine, before, after, each) for each in owners)


def _keeps_frames(before: State, after: State) -> bool:
    pairs = ((frame, after.frames.get(id, frame)) for id, frame in before.frames.items())
    return all(now is frame or now.names == frame.names for frame, now in pairs)


def _keeps_heap(machine: Machine, before: State, after: State, reached: set[Node]) -> bool:
    changed = ((id, held, now) for id, held in before.heap.items() if (now := after.heap.get(id, held)) is not held)
    return all(_says_no_more(machine, after, Ref(id), held, now, reached) for id, held, now in changed)


def _says_no_more(machine: Machine, state: State, obj: Ref, held: HeapObj, now: HeapObj, reached: set[Node]) -> bool:
    """Whether nobody knew of an object what a call has done to it: of what was asked it, and of what was set that had been
    asked before, the next call can't find more than may have been there anyway; and what is only set is set anew."""
    if isinstance(held, UnknownObj) and isinstance(now, UnknownObj):
        if held.plain != now.plain or not _is_asked(machine, held, now, reached):
            return False
        return all(_is_unsure(machine, state, each, reached) for each in _added(held.attrs, now.attrs).values())
    if not (isinstance(held, Instance | LayerObj) and isinstance(now, Instance | LayerObj)):
        return False
    for name, value in _added(held.attrs, now.attrs).items():
        if value is None:
            return False
        if _is_unset(machine, value) or (name not in held.attrs and _is_never_asked(machine, state, obj, name)):
            continue
        if not (_was_unknown(machine, state, obj, name, held) and _is_plain(machine, state, value, reached)):
            return False
    return replace(now, attrs=held.attrs) == held


def _is_asked(machine: Machine, held: UnknownObj, now: UnknownObj, reached: set[Node]) -> bool:
    """Whether the graph of an unknown is the one that it had, or a guess that was made when it was asked for one, and that
    nobody walked."""
    if held.edge == now.edge:
        return True
    return held.edge is None and now.edge is not None and _is_guess(machine, now) and now.edge.node not in reached


def _was_unknown(machine: Machine, state: State, obj: Ref, name: str, held: Instance | LayerObj) -> bool:
    """Whether the call had to find under that name what may be anything."""
    if name not in held.attrs:
        return (obj.id, name) in machine.graphs.read
    was = state.get(held.attrs[name])
    return isinstance(was, UnknownObj) and _is_guess(machine, was)


def _is_never_asked(machine: Machine, state: State, obj: Ref, name: str) -> bool:
    """Whether no path asked an object for an attribute that it hadn't, nor could have looked whether it is there."""
    if (obj.id, name) in machine.graphs.read or find(state, obj, name) is not None or find(state, obj, "__getattr__"):
        return False
    classes = (
        held for base in ancestry(state, class_of(state, obj) or obj) if isinstance(held := state.get(base), ClassObj)
    )
    texts = {each.code.span.source.text for each in classes}
    return not any(f"'{name}'" in text or f'"{name}"' in text for text in texts)


def _added(held: Mapping[str, Value], now: Mapping[str, Value]) -> dict[str, Value | None]:
    """The attributes that are there now and weren't, and those that are gone."""
    gone: dict[str, Value | None] = {name: None for name in held if name not in now}
    return gone | {name: value for name, value in now.items() if held.get(name) != value}


def _is_unset(machine: Machine, value: Value) -> bool:
    """Whether an attribute was only asked for, which nobody has set."""
    return isinstance(value, Ref) and value.id in machine.unset


def _is_plain(machine: Machine, state: State, value: Value, reached: set[Node]) -> bool:
    """Whether nothing is in a value that surely has a graph, or one that was walked."""
    if isinstance(value, Tuple):
        return all(_is_plain(machine, state, each, reached) for each in value.items)
    held = state.get(value)
    if isinstance(held, ListObj):
        return all(_is_plain(machine, state, each, reached) for each in held.items)
    if isinstance(held, UnknownObj) and held.edge is not None:
        return _is_guess(machine, held) and reached.isdisjoint(machine.graphs.reach([held.edge]))
    return isinstance(value, Const | Term) or isinstance(held, UnknownObj)


def _is_unsure(machine: Machine, state: State, value: Value | None, reached: set[Node]) -> bool:
    """Whether nobody can tell if a value has a graph, or it stands for the weights of what nobody sees."""
    held = None if value is None else state.get(value)
    if value is None or not isinstance(held, UnknownObj):
        return False
    is_stand_in = held.edge is not None and held.edge.node in machine.graphs.networks
    return is_stand_in or _is_plain(machine, state, value, reached)


def _is_guess(machine: Machine, held: UnknownObj) -> bool:
    return machine.graphs.exists(held.edge) >= GUESS
