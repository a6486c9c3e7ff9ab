"""Names: which frame a write goes to, and what a read finds."""

from __future__ import annotations

from retainlint import ir
from retainlint.source import Span
from retainlint.symbolic import calls, imports, loading, unbound
from retainlint.symbolic.context import Machine
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import Frame, State
from retainlint.symbolic.values import External, Failure, Imported, Value

_BUILTINS = {name: External(f"builtins.{name}") for name in calls.BUILTINS}
_LOCAL, _GLOBAL, _ENCLOSING = ir.Scope.LOCAL, ir.Scope.GLOBAL, ir.Scope.ENCLOSING  # asked for in each step


def frame_of(machine: Machine, state: State, name: str, scope: ir.Scope) -> Frame:
    """The frame that a write to `name` goes to."""
    if scope is _LOCAL:
        return state.writable()
    if scope is _GLOBAL:
        return state.writable(_module(machine, state))
    holder = _holder(state, name)
    return state.writable(holder if holder is not None else _module(machine, state))


def load(machine: Machine, state: State, name: str, scope: ir.Scope, span: Span) -> Value | None:
    """The value of a name; None where this path has not bound a name of its own, and so can't come here."""
    if state.unless:
        if unbound.is_unbound(state, state.stack[-1], name):
            return None
        unbound.learn(state, state.stack[-1], name)
    found = _bound(machine, state, name, scope, span)
    return imports.resolve(machine, state, found, span) if type(found) is Imported else found


def bound_elsewhere(instr: ir.Load, lost: list[State], done: list[State]) -> tuple[list[State], list[State]]:
    """Where no path has bound a name, and the program works, a turn has that wasn't run: `lost` go on with anything.
    Those that go on, and those that don't."""
    failure = Failure("NameError")
    for state in lost:
        if state.flow is not None and state.flow.value == failure and not state.guards:
            state.flow = None
            state.write(instr.dst, unknown.fresh(state, instr.span, name=instr.name), instr.span)
    return [state for state in lost if state.flow is None], [state for state in done if state.flow is not None]


def bind(machine: Machine, state: State, name: str, scope: ir.Scope, value: Value) -> None:
    frame_of(machine, state, name, scope).names[name] = value
    if state.unless:
        unbound.bound(state, state.stack[-1], name)


def _module(machine: Machine, state: State) -> int:
    """The frame of the module in whose text the running code stands."""
    return machine.imports.of[state.frame.code.span.source]


def _holder(state: State, name: str) -> int | None:
    """The nearest frame around the running one that has `name` as a local."""
    at = state.frame.parent
    while at is not None and at in state.frames:
        frame = state.frames[at]
        if name in frame.code.local_names and not isinstance(frame.cls, str):
            return at
        at = frame.parent
    return None


def _bound(machine: Machine, state: State, name: str, scope: ir.Scope, span: Span) -> Value | None:
    """What a name is bound to."""
    if scope is _LOCAL:
        found = state.frame.names.get(name)
        if found is not None:
            return found
    elif scope is _ENCLOSING:
        holder = _holder(state, name)
        if holder is not None and (found := state.frames[holder].names.get(name)) is not None:
            return found
    module = _module(machine, state)
    found = loading.named(machine, state, module, name, own=True)
    if found is not None:
        return found
    if name in calls.BUILTINS:
        return _BUILTINS[name]
    if (starred := imports.from_star(machine, state, module, name, span)) is not None:
        return starred
    machine.slips.add(span)
    if scope is not _ENCLOSING and name in state.frame.code.local_names:
        return None
    missing = unknown.fresh(state, span, name=name)
    frame_of(machine, state, name, scope).names[name] = missing
    return missing
