"""How deep a function of the program may call itself: further than twice only where it counts its way to an end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from retainlint import ir
from retainlint.symbolic.context import Machine
from retainlint.symbolic.state import State
from retainlint.symbolic.values import Const, DictObj, Instance, LayerObj, ListObj, Ref, Tuple, Value

DEEPEST = 24
"""So many different functions may stand on the stack."""


RECURSION = 2
"""So many calls of one function may stand on the stack; the next one is cut, unless it counts down (or up)."""


COUNTED, COUNTED_CALLS = 50, 256
"""A function whose numbers decide how deep it goes may call itself so deeply, and so often in all."""


TIRESOME = 8_000
"""A function that has called itself, leads to no walk, and has taken more steps in an entry is run along one way from then
on, and not into itself, unless it counts its way: it walks through what it is given, and what that is nobody knows."""


Size: TypeAlias = "tuple[str, int] | None"


def too_deep(machine: Machine, state: State, code: ir.Code, sizes: tuple[Size, ...]) -> bool:
    """Whether to cut a call: one of a function that calls itself, unless its own numbers bring that to an end."""
    frames = [state.frames[id] for id in state.stack]
    if len(frames) >= DEEPEST and len({frame.code for frame in frames}) >= DEEPEST:
        return True
    outer = [frame for frame in frames if frame.code is code]
    if not outer:
        return False
    machine.efforts.setdefault(code, 0)
    counts = sizes != outer[-1].sizes and state.choices == outer[-1].assumed
    if len(outer) < RECURSION:
        return not counts and _is_tiresome(machine, code)
    machine.deep[code] = machine.deep.get(code, 0) + 1
    return not counts or len(outer) >= COUNTED or machine.deep[code] > COUNTED_CALLS


@contextmanager
def paced(machine: Machine, code: ir.Code) -> Iterator[None]:
    """While a function is run: note what it takes if it calls itself, and follow one way where that was much."""
    chooser, beside, start = machine.chooser, machine.chooser.beside, machine.steps
    if _is_tiresome(machine, code):
        chooser.crowd()
    try:
        yield
    finally:
        chooser.beside = beside
        if code in machine.efforts:
            machine.efforts[code] += machine.steps - start


def _is_tiresome(machine: Machine, code: ir.Code) -> bool:
    return machine.efforts.get(code, 0) > TIRESOME and not code.walks and code not in machine.leading


def size(state: State, value: Value) -> Size:
    """A known number, the length of a known sequence, or which of the program's objects it is, or of its modules."""
    if type(value) is Ref:
        held = state.heap[value.id]
        if isinstance(held, Instance | LayerObj):
            return "object", value.id
        if isinstance(held, DictObj):
            return size(state, held.of) if held.of is not None else None
        return ("length", len(held.items)) if isinstance(held, ListObj) and not held.open else None
    if isinstance(value, Const):
        return ("number", value.value) if type(value.value) is int else None
    return ("length", len(value.items)) if isinstance(value, Tuple) else None
