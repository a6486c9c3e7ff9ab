"""What a call of a method leaves for the next one on the same object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from retainlint.autograd.graph import Node
from retainlint.symbolic import reach
from retainlint.symbolic.context import Machine
from retainlint.symbolic.state import State
from retainlint.symbolic.values import GUESS, HeapObj, Instance, Ref, TensorObj, UnknownObj, Value


def leaves_all(machine: Machine, before: State, after: State) -> bool:
    """Whether a call changed nothing that was there before it, and walked only what it had made itself: the next one would
    come to the same."""
    walks = after.walks[len(before.walks) :]
    if walks and not _walks_its_own(machine, before, after, {node for walk in walks for node in walk.reach}):
        return False
    same = after.hooks == before.hooks and after.grad == before.grad and after.cache == before.cache
    return same and _keeps_frames(before, after) and _keeps_heap(machine, before, after)


def _walks_its_own(machine: Machine, before: State, after: State, reached: set[Node]) -> bool:
    networks = {machine.graphs.networks[node][0] for node in reached & machine.graphs.networks.keys()}
    if networks and machine.waste.entry in machine.waste.thinned:
        return False  # the next call may take the ways that this one has left out
    if not all(_is_gone(machine, before, after, each) for each in networks):
        return False
    held = {each.edge.node for each in before.heap.values() if isinstance(each, TensorObj | UnknownObj) and each.edge}
    return held.isdisjoint(reached)


def _is_gone(machine: Machine, before: State, after: State, network: Value) -> bool:
    """Whether a network was made by the call, or given to it, and nobody has it any more."""
    if not isinstance(network, Ref) or network.id in before.heap or network.id in before.base.heap:
        return False
    owners = [Ref(id) for (id, _), ref in machine.graphs.read.items() if ref == network]
    return network.id not in reach.records(after)[0] and all(_is_gone(machine, before, after, each) for each in owners)


def _keeps_frames(before: State, after: State) -> bool:
    pairs = ((frame, after.frames.get(id, frame)) for id, frame in before.frames.items())
    return all(now is frame or now.names == frame.names for frame, now in pairs)


def _keeps_heap(machine: Machine, before: State, after: State) -> bool:
    pairs = ((held, after.heap.get(id, held)) for id, held in before.heap.items())
    return all(now is held or _only_reads(machine, after, held, now) for held, now in pairs)


def _only_reads(machine: Machine, state: State, held: HeapObj, now: HeapObj) -> bool:
    """Whether nothing was done to an object but that attributes were asked for which nobody has set."""
    if isinstance(held, UnknownObj) and isinstance(now, UnknownObj):
        same = held.edge == now.edge and held.plain == now.plain
        return same and all(_is_unsure(machine, state, each) for each in _added(held.attrs, now.attrs))
    if isinstance(held, Instance) and isinstance(now, Instance):
        added = _added(held.attrs, now.attrs)
        return all(isinstance(each, Ref) and each.id in machine.unset for each in added)
    return False


def _added(held: Mapping[str, Value], now: Mapping[str, Value]) -> Iterator[Value | None]:
    """The attributes that are there now and weren't, and those that are gone."""
    yield from (value for name, value in now.items() if held.get(name) != value)
    yield from (None for name in held if name not in now)


def _is_unsure(machine: Machine, state: State, value: Value | None) -> bool:
    """Whether nobody can tell if a value has a graph."""
    held = None if value is None else state.get(value)
    return isinstance(held, UnknownObj) and machine.graphs.exists(held.edge) >= GUESS
