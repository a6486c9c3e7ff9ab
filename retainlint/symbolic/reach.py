"""What a state can still get at: the heap records and nodes that its variables lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from retainlint.autograd.graph import Node
from retainlint.symbolic.state import Heap, State
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


def records(state: State) -> set[int]:
    """The heap records that the frames lead to."""
    heap = state.heap
    found: set[int] = set()
    stack: list[Any] = []
    for frame in state.frames.values():
        stack.extend(frame.names.values())
        stack.extend(frame.registers.values())
        stack.extend(frame.yielded)
        stack.append(frame.cls)
        stack.append(frame.receiver)
    if state.flow is not None:
        stack.append(state.flow.value)
    while stack:
        value = stack.pop()
        kind = type(value)
        if kind is Ref:
            if value.id in found:
                continue
            found.add(value.id)
            value = heap[value.id]
            kind = type(value)
        parts = _PARTS.get(kind)
        if parts is not None:
            stack.extend(parts(value))
    return found


def nodes(state: State) -> set[Node]:
    """Every node that some value of the state leads to."""
    stack = [
        obj.edge.node
        for id in records(state)
        if isinstance(obj := state.heap[id], TensorObj | UnknownObj) and obj.edge is not None
    ]
    found: set[Node] = set()
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(edge.node for edge in node.next if edge is not None)
    return found


def sweep(state: State) -> None:
    """Forget the heap records that nothing leads to."""
    alive = records(state)
    alive.update(term.id for term in state.truths if isinstance(term, Ref))
    if len(alive) < len(state.heap) * 2 // 3:
        state.heap = Heap((id, obj) for id, obj in state.heap.items() if id in alive)
