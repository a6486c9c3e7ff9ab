"""How long things are: `len(rows)`, which for a tensor is `rows.shape[0]`, and `rows.size(0)`."""

from __future__ import annotations

from retainlint.source import Span
from retainlint.symbolic import contents, heirs, iteration
from retainlint.symbolic.context import Machine
from retainlint.symbolic.state import State
from retainlint.symbolic.values import Const, Instance, IteratorObj, ListObj, TensorObj, Term, UnknownObj, Value


def length(machine: Machine, state: State, value: Value, span: Span) -> Value:
    """`len(value)`."""
    value = contents.of(state, value)
    held = state.get(value)
    if isinstance(held, TensorObj) and held.length is not None:
        return Const(held.length)
    if isinstance(held, UnknownObj | TensorObj | Instance) and not heirs.children(state, value):
        return Term("len", (value,))
    if isinstance(held, IteratorObj):  # a loader: none else has a length
        number = iteration.source_of(machine, state, value, span).length
        return Const(number) if number is not None else Term("len", (value,))
    known = iteration.known_items(machine, state, value, span)
    if known is None and isinstance(held, ListObj) and held.size is not None:
        return held.size
    return Const(len(known)) if known is not None else Term("len", (value,))


def along(machine: Machine, state: State, value: Value, dimension: Value, span: Span) -> Value:
    """`value.size(dimension)`, or `value.shape[dimension]`: along the first it is what `len` tells."""
    if dimension == Const(0):
        return length(machine, state, value, span)
    return Term("item", (Term("shape", (value,)), dimension))
