"""Counts what a program keeps alive: tensors that graphs saved, and the graphs' nodes; in real torch, and in the core."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any
from weakref import WeakSet


@dataclass(frozen=True)
class Alive:
    """What was still there at the program's end, and (`left`) when all its variables were gone, before any collection."""

    saved: int
    nodes: int
    left: int


Variables = dict[str, Any]


def in_torch(program: str, look: Callable[[Variables], None] | None = None) -> Alive:
    """Run with real torch: a saved tensor is packed into a `_Packed`, which goes when the node lets go of it."""
    import torch

    packed: WeakSet[_Packed] = WeakSet()

    def pack(tensor: Any) -> _Packed:
        held = _Packed(tensor.detach())  # a node's own result would hold the node
        packed.add(held)
        return held

    def nodes() -> int:
        tensors = [each for each in gc.get_objects() if issubclass(type(each), torch.Tensor)]
        return len(set(_below([tensor.grad_fn for tensor in tensors])))

    torch.manual_seed(0)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda held: held.tensor), torch.enable_grad():
        return _counted(program, look, lambda: len(packed), nodes)


class _Packed:
    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def _below(roots: list[Any]) -> Iterator[Any]:
    seen: dict[Any, None] = {}
    while roots:
        node = roots.pop()
        if node is not None and node not in seen:
            seen[node] = None
            roots += [following for following, _ in node.next_functions]
    return iter(seen)


def in_core(program: str, look: Callable[[Variables], None] | None = None) -> Alive:
    """Run with the core where `import torch` looks: its nodes are Python objects, which can be counted."""
    from retainlint.numeric import grad_mode
    from retainlint.numeric.namespace import installed
    from retainlint.numeric.tape import Step

    def steps() -> list[Step]:
        return [each for each in gc.get_objects() if type(each) is Step]

    def saved() -> int:
        return sum(bool(step.saved_numbers and step.saved_numbers.held) for step in steps())

    before = grad_mode.is_grad_enabled()
    with installed() as torch:
        torch.manual_seed(0)
        try:
            return _counted(program, look, saved, lambda: len(steps()))
        finally:
            torch.set_grad_enabled(before)


def _counted(
    program: str, look: Callable[[Variables], None] | None, saved: Callable[[], int], nodes: Callable[[], int]
) -> Alive:
    gc.disable()
    gc.freeze()  # what was there before is not looked at
    try:
        variables: Variables = {"__name__": "__main__"}
        with redirect_stdout(StringIO()):
            exec(compile(program, "example.py", "exec"), variables)
        gc.collect()  # in the core, a node that saved its own result is a cycle
        ended = saved(), nodes()
        if look is not None:
            look(variables)
        variables.clear()
        return Alive(*ended, saved())
    finally:
        gc.unfreeze()
        gc.enable()
