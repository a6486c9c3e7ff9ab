"""What `items()` and `values()` show of a dict that came out of a call: in each loop over it the same."""

from __future__ import annotations

from retainlint.startup.records import replace
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, Method, Ref, Term, UnknownObj, Value
from retainlint.text.source import Span

SHOWING = ("items", "values")


def is_view(obj: object) -> bool:
    """Whether something is what such a method returned."""
    return isinstance(obj, UnknownObj) and obj.name in SHOWING


def shown(machine: Machine, state: State, func: Value, span: Span) -> Value | None:
    """What a method shows of what a call returned; None for any other method."""
    held = state.get(func.obj) if isinstance(func, Method) and func.name in SHOWING else None
    if not isinstance(func, Method) or not isinstance(held, UnknownObj) or held.edge is None or held.plain:
        return None
    edge = machine.graphs.item(state, held.edge, state.birth(span), Const(func.name), "part")
    return state.new(UnknownObj(span, edge, name=func.name))


def measure(state: State, func: Method, view: Value) -> None:
    """Note that what such a method shows, or `keys()`, is as long as the dict."""
    held = state.get(view)
    if func.name in (*SHOWING, "keys") and isinstance(held, UnknownObj) and isinstance(view, Ref):
        state.set(view, replace(held, notes=replace(held.notes, length=Term("len", (func.obj,)))))


def item(machine: Machine, state: State, view: Value, index: Value, span: Span) -> Value | None:
    """What a view holds at a turn of a loop over it; None if it came out of no call."""
    held = state.get(view)
    if not isinstance(held, UnknownObj) or held.edge is None:
        return None
    machine.opened.add(held.edge.node)
    edge = machine.graphs.item(state, held.edge, state.birth(span), _iteration(index), "part")
    return state.new(UnknownObj(span, edge, plain=held.plain, fed=held.fed))


def part(machine: Machine, state: State, pair: Value) -> None:
    """Let a pair of a name and what stands under it hold the latter as each loop meets it."""
    held = state.get(pair)
    if isinstance(held, UnknownObj) and isinstance(pair, Ref) and held.edge is not None:
        edge = machine.graphs.item(state, held.edge, state.birth(held.made), _iteration(Const(1)), "part")
        state.set(pair, replace(held, attrs={**held.attrs, "[1]": state.new(UnknownObj(held.made, edge))}))


def _iteration(index: Value) -> Value:
    """What tells an item by the turn that asks for it."""
    return Term("turn", (index if isinstance(index, Const) else Const(type(index).__name__),))
