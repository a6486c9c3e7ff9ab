"""What a state can still get at: the heap records and nodes that its variables lead to."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from retainlint.autograd.graph import Node, walk
from retainlint.symbolic.state.state import Frame, Frames, Heap, State
from retainlint.symbolic.state.values import (
    Bound,
    ClassObj,
    Closure,
    DictObj,
    DistributionObj,
    GeneratorObj,
    HeapObj,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    Method,
    OptimizerObj,
    Partial,
    Ref,
    Slice,
    Super,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Wrapped,
)

Thing = TypeVar("Thing", bound=Hashable)


def each_once(begun: Iterable[Thing], inner: Callable[[Thing], Iterable[Thing]]) -> Iterator[Thing]:
    """Some things, and what each of them leads to, each once: the last that was found is gone on with first."""
    waiting, seen = [*begun], set[Thing]()
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            yield each
            waiting.extend(inner(each))


_PARTS: dict[type, Callable[[Any], Iterable[Any]]] = {
    Tuple: lambda v: v.items,
    Slice: lambda v: v.parts,
    Term: lambda v: v.args,
    Closure: lambda v: (value for _, value in v.defaults),
    Bound: lambda v: (v.func, v.self),
    Method: lambda v: (v.obj,),
    Wrapped: lambda v: (v.func, v.memo, v.setter),
    Partial: lambda v: chain((v.func,), v.args, (value for _, value in v.kwargs)),
    Super: lambda v: (v.obj, v.owner),
    TensorObj: lambda v: (v.base,),
    UnknownObj: lambda v: chain(v.attrs.values(), v.notes.named.values()),
    ListObj: lambda v: chain(v.items, *v.places),
    DictObj: lambda v: chain(v.items, v.items.values(), v.rest, (v.default, v.of)),
    ClassObj: lambda v: chain(v.bases, v.attrs.values()),
    Instance: lambda v: chain((v.cls,), v.attrs.values(), v.notes.named.values()),
    LayerObj: lambda v: chain(v.attrs.values(), v.children, v.notes.named.values()),
    OptimizerObj: lambda v: chain(v.params or (), v.notes.named.values()),
    DistributionObj: lambda v: v.params,
    GeneratorObj: lambda v: chain((v.func, v.waits and v.waits.frame), v.pos, (value for _, value in v.named)),
    IteratorObj: lambda v: (*v.parts, v.start),
}
"""What each kind of value and record holds; kinds that hold nothing are absent."""


Leads: TypeAlias = tuple[frozenset[int], frozenset[int]]
"""The records, and the frames, that something leads to through no other record."""


def _spread(values: Iterable[Any]) -> Leads:
    """What some values lead to; what several of them hold is looked into once."""
    refs: set[int] = set()
    seen: set[int] = set()
    frames: set[int] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        kind = type(value)
        if kind is Ref:
            refs.add(value.id)
        elif kind in _PARTS and id(value) not in seen:
            seen.add(id(value))
            if kind is Closure:
                frames.add(value.frame)
            stack.extend(_PARTS[kind](value))
    return frozenset(refs), frozenset(frames)


_NOWHERE: Leads = (frozenset(), frozenset())


def _note(record: HeapObj) -> Leads:
    """What a record holds; it is noted on the record, which never changes."""
    leads = _spread((record,))
    record.leads = leads if leads != _NOWHERE else _NOWHERE
    return record.leads


def _bound(frame: Frame, me: int) -> Leads:
    """What a frame's variables lead to, and the frame around it; it is noted on a frame that nobody may write to."""
    values = chain(frame.names.values(), frame.registers.values(), frame.yielded, (frame.cls, frame.receiver))
    refs, frames = _spread(values)
    found = refs, frames if frame.parent is None else frames | {frame.parent}
    if frame.owner != me:
        frame.leads = found
    return found


def _named(frame: Frame) -> Leads:
    """What a frame's names lead to, and the frame around it."""
    refs, frames = _spread((*frame.names.values(), *frame.yielded))
    return refs, frames if frame.parent is None else frames | {frame.parent}


def records(
    state: State, plenty: float = math.inf, also: Iterable[Ref] = (), weak: Collection[int] | None = None
) -> tuple[set[int], set[int]]:
    """The heap records and the frames that a state's running calls lead to, and `also` some records; where some are `weak`, they
    hold nothing, nor does what no name leads to. Those of the base that this path hasn't
    changed are not looked into: what it has changed is reached anyway. Once there are `plenty` of records, and no frame
    is missing, the rest is left out."""
    heap, frames, base = state.heap, state.frames, state.base
    found: set[int] = set(weak or ())
    seen: set[int] = base.frames.keys() - frames.keys()
    refs, outer = _NOWHERE
    if state.flow is not None or state.hooks.items or state.cache is not None:
        refs, outer = _spread((state.cache, state.hooks, None if state.flow is None else state.flow.value))
    new = {*refs, *(base.heap.keys() & heap.keys()), *(ref.id for ref in also)}
    entering = {*outer, *state.stack, *state.suspended, *(base.frames.keys() & frames.keys())}
    while True:
        entering -= seen  # those of closures, module frames nearly all
        while entering:
            id = entering.pop()
            if id not in seen and (frame := frames.get(id) or base.frames.get(id)) is not None:
                seen.add(id)
                refs, outer = (frame.leads or _bound(frame, state.me)) if weak is None else _named(frame)
                new |= refs
                entering |= outer
        new -= found
        found |= new
        if not new or (len(found) >= plenty and len(seen) >= len(frames)):
            return found, seen
        following: set[int] = set()
        for held in map(heap.get, new):
            if held is not None and (leads := held.leads or _note(held)) is not _NOWHERE:
                refs, outer = leads
                following |= refs
                if outer:
                    entering |= outer
        new = following


def nodes(state: State) -> set[Node]:
    """Every node that some value of the state leads to; what lies below a freed node no walk gets at."""
    roots = [
        obj.edge.node
        for id in records(state)[0] | state.base.graphs
        if isinstance(obj := state.heap[id], (TensorObj, UnknownObj)) and obj.edge is not None
    ]
    freed = state.ledger.freed
    return {*walk(roots, lambda node: () if node in freed else node.below)}


def is_spoilt(state: State, node: Node) -> bool:
    """Whether a backward pass would be refused at a node: it is freed, or what it saved was changed."""
    ledger = state.ledger
    return node in ledger.freed or any(ledger.version(saved.storage) != saved.version for saved in node.saved)


def sweep(state: State) -> int:
    """Forget the heap records and frames that nothing leads to; how many were gone through. A custom function's context may
    be needed until its node is freed."""
    plenty, freed = len(state.heap) * 2 // 3, state.ledger.freed
    contexts = (each.of for node, each in state.base.contexts.items() if node not in freed and each.of.id in state.heap)
    alive, frames = records(state, plenty, contexts)
    if len(frames) < len(state.frames):
        state.frames = Frames(state.base, ((id, frame) for id, frame in state.frames.items() if id in frames))
    if len(alive) < plenty:
        alive.update(term.id for term in state.truths if isinstance(term, Ref))
    if len(alive) < plenty:
        state.heap = Heap(state.base, ((id, obj) for id, obj in state.heap.items() if id in alive))
    return len(alive) + len(frames)
