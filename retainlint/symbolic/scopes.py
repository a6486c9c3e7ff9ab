"""Names: which frame a write goes to, and what a read finds."""

from __future__ import annotations

from retainlint import ir
from retainlint.source import Span
from retainlint.symbolic import calls, imports
from retainlint.symbolic.context import Machine
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import Frame, State
from retainlint.symbolic.values import External, Failure, Imported, Value


def frame_of(machine: Machine, state: State, name: str, scope: ir.Scope) -> Frame:
    """The frame that a write to `name` goes to."""
    if scope is ir.Scope.LOCAL:
        return state.writable()
    if scope is ir.Scope.GLOBAL:
        return state.writable(_module(machine, state))
    holder = _holder(state, name)
    return state.writable(holder if holder is not None else _module(machine, state))


def load(machine: Machine, state: State, name: str, scope: ir.Scope, span: Span) -> Value | None:
    """The value of a name; None where this path has not bound a name of its own, and so can't come here."""
    if state.unless:
        if _is_unbound(state, name):
            return None
        _learn(state, name)
    found = _bound(machine, state, name, scope, span)
    return imports.resolve(machine, state, found, span) if type(found) is Imported else found


def bound_elsewhere(instr: ir.Load, lost: list[State], done: list[State]) -> tuple[list[State], list[State]]:
    """Where no path has bound a name, and the program works, a turn has that wasn't run: `lost` go on with anything.
    Those that go on, and those that don't."""
    unbound = Failure("NameError")
    for state in lost:
        if state.flow is not None and state.flow.value == unbound and not state.guards:
            state.flow = None
            state.write(instr.dst, unknown.fresh(state, instr.span, name=instr.name), instr.span)
    return [state for state in lost if state.flow is None], [state for state in done if state.flow is not None]


def _is_unbound(state: State, name: str) -> bool:
    """Whether this path's answers are those by which others came here without the name."""
    id, truths = state.stack[-1], state.truths
    return any(
        each.name == name and each.frame == id and all(truths.get(term) is truth for term, truth in each.answers)
        for each in state.unless
    )


def _learn(state: State, name: str) -> None:
    """Where a name is read that only some answers leave unbound, others were given."""
    for each in state.unless:
        if each.name == name and each.frame == state.stack[-1]:
            left = [(term, truth) for term, truth in each.answers if term not in state.truths]
            if len(left) == 1 and all(state.truths.get(term, truth) is truth for term, truth in each.answers):
                state.truths[left[0][0]] = not left[0][1]


def bind(machine: Machine, state: State, name: str, scope: ir.Scope, value: Value) -> None:
    frame_of(machine, state, name, scope).names[name] = value
    if state.unless:
        id = state.stack[-1]
        state.unless = tuple(each for each in state.unless if each.name != name or each.frame != id)


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
    if scope is ir.Scope.LOCAL:
        found = state.frame.names.get(name)
        if found is not None:
            return found
    elif scope is ir.Scope.ENCLOSING:
        holder = _holder(state, name)
        if holder is not None and (found := state.frames[holder].names.get(name)) is not None:
            return found
    module = _module(machine, state)
    found = state.frames[module].names.get(name)
    if found is not None:
        return found
    if name in calls.BUILTINS:
        return External(f"builtins.{name}")
    if (starred := imports.from_star(machine, state, module, name, span)) is not None:
        return starred
    machine.slips.add(span)
    if scope is not ir.Scope.ENCLOSING and name in state.frame.code.local_names:
        return None
    missing = unknown.fresh(state, span, name=name)
    frame_of(machine, state, name, scope).names[name] = missing
    return missing
