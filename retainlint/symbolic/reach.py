"""What a state can still get at: the heap records and nodes that its variables lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from retainlint.autograd.graph import Node
from retainlint.symbolic.state import Frame, Frames, Heap, State
from retainlint.symbolic.values import (
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

_PARTS: dict[type, Callable[[Any], Iterable[Any]]] = {
    Tuple: lambda v: v.items,
    Slice: lambda v: v.parts,
    Term: lambda v: v.args,
    Closure: lambda v: (value for _, value in v.defaults),
    Bound: lambda v: (v.func, v.self),
    Method: lambda v: (v.obj,),
    Wrapped: lambda v: (v.func, v.memo),
    Partial: lambda v: chain((v.func,), v.args, (value for _, value in v.kwargs)),
    Super: lambda v: (v.obj, v.owner),
    TensorObj: lambda v: (v.base,),
    UnknownObj: lambda v: v.attrs.values(),
    ListObj: lambda v: v.items,
    DictObj: lambda v: chain(v.items, v.items.values(), v.rest, (v.default,)),
    ClassObj: lambda v: chain(v.bases, v.attrs.values()),
    Instance: lambda v: chain((v.cls,), v.attrs.values()),
    LayerObj: lambda v: chain(v.attrs.values(), v.children),
    OptimizerObj: lambda v: v.params or (),
    DistributionObj: lambda v: v.params,
    GeneratorObj: lambda v: chain((v.func,), v.pos, (value for _, value in v.named)),
    IteratorObj: lambda v: (*v.parts, v.start),
}
"""What each kind of value and record holds; kinds that hold nothing are absent."""


def _spread(value: Any, refs: list[int], frames: set[int]) -> None:
    """Note the records and frames that a value leads to, through no other record."""
    stack = [value]
    while stack:
        value = stack.pop()
        kind = type(value)
        if kind is Ref:
            refs.append(value.id)
        elif kind in _PARTS:
            if kind is Closure:
                frames.add(value.frame)
            stack.extend(_PARTS[kind](value))


def _leads(record: HeapObj) -> tuple[list[int], set[int]]:
    """The records and frames that a record holds; it is noted on the record, which never changes."""
    refs: list[int] = []
    frames: set[int] = set()
    _spread(record, refs, frames)
    vars(record)[_LEADS] = refs, frames
    return refs, frames


_LEADS = " leads"


def records(state: State) -> tuple[set[int], set[int]]:
    """The heap records and the frames that a state's running calls lead to. Those of the base that this path hasn't
    changed are not looked into: what it has changed is reached anyway."""
    heap, frames, base = state.heap, state.frames, state.base
    found: set[int] = set()
    seen: set[int] = base.frames.keys() - frames.keys()
    entering = {*state.stack, *state.suspended, *(base.frames.keys() & frames.keys())}
    refs = list(base.heap.keys() & heap.keys())
    _spread(state.cache, refs, entering)
    if state.flow is not None:
        _spread(state.flow.value, refs, entering)
    while entering or refs:
        while entering:
            id = entering.pop()
            if id not in seen and id in frames:
                seen.add(id)
                _spread_frame(frames[id], refs, entering)
        while refs:
            id = refs.pop()
            if id in found:
                continue
            found.add(id)
            record = heap.get(id)
            if record is None:
                if id in base.heap:
                    continue
                record = heap[id]
            more, outer = vars(record).get(_LEADS) or _leads(record)
            refs += more
            if outer:
                entering |= outer
    return found, seen


def _spread_frame(frame: Frame, refs: list[int], frames: set[int]) -> None:
    """Note the records and frames that a frame's variables lead to."""
    if frame.parent is not None:
        frames.add(frame.parent)
    for value in chain(frame.names.values(), frame.registers.values(), frame.yielded, (frame.cls, frame.receiver)):
        kind = type(value)
        if kind is Ref:
            refs.append(value.id)  # type: ignore[union-attr]
        elif kind is Closure:
            frames.add(value.frame)  # type: ignore[union-attr]
            for _, default in value.defaults:  # type: ignore[union-attr]
                _spread(default, refs, frames)
        elif kind in _PARTS:
            _spread(value, refs, frames)


def nodes(state: State) -> set[Node]:
    """Every node that some value of the state leads to; what lies below a freed node no walk gets at."""
    stack = [
        obj.edge.node
        for id in records(state)[0] | state.base.graphs
        if isinstance(obj := state.heap[id], TensorObj | UnknownObj) and obj.edge is not None
    ]
    found: set[Node] = set()
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            if node not in state.ledger.freed:
                stack.extend(edge.node for edge in node.next if edge is not None)
    return found


def sweep(state: State) -> None:
    """Forget the heap records and frames that nothing leads to."""
    alive, frames = records(state)
    if len(frames) < len(state.frames):
        state.frames = Frames(state.base, ((id, frame) for id, frame in state.frames.items() if id in frames))
    alive.update(term.id for term in state.truths if isinstance(term, Ref))
    if len(alive) < len(state.heap) * 2 // 3:
        state.heap = Heap(state.base, ((id, obj) for id, obj in state.heap.items() if id in alive))
