"""What a state can still get at: the heap records and nodes that its variables lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from retainlint.autograd.graph import Node
from retainlint.symbolic.state import Frames, Heap, State
from retainlint.symbolic.values import (
    Bound,
    ClassObj,
    Closure,
    DictObj,
    DistributionObj,
    GeneratorObj,
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


def records(state: State) -> tuple[set[int], set[int]]:
    """The heap records and the frames that a state's running calls lead to. Those of the base that this path hasn't
    changed are not looked into: what it has changed is reached anyway."""
    heap, frames, base = state.heap, state.frames, state.base
    found: set[int] = set()
    seen: set[int] = base.frames.keys() - frames.keys()
    entering = [*state.stack, *state.suspended, *(base.frames.keys() & frames.keys())]
    stack: list[Any] = [] if state.flow is None else [state.flow.value]
    stack.append(state.cache)
    stack.extend(Ref(id) for id in base.heap.keys() & heap.keys())
    while stack or entering:
        while entering:
            id = entering.pop()
            if id not in seen and id in frames:
                seen.add(id)
                frame = frames[id]
                stack.extend(frame.names.values())
                stack.extend(frame.registers.values())
                stack.extend(frame.yielded)
                stack += [frame.cls, frame.receiver]
                if frame.parent is not None:
                    entering.append(frame.parent)
        if not stack:
            break
        value = stack.pop()
        kind = type(value)
        if kind is Ref:
            if value.id in found:
                continue
            found.add(value.id)
            if value.id in base.heap and value.id not in heap:
                continue
            value = heap[value.id]
            kind = type(value)
        elif kind is Closure:
            if value.frame not in seen:
                entering.append(value.frame)
            if not value.defaults:
                continue
        parts = _PARTS.get(kind)
        if parts is not None:
            stack.extend(parts(value))
    return found, seen


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
