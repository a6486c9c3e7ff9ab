"""Exceptions: what is raised, and which handlers take it."""

from __future__ import annotations

from retainlint import ir
from retainlint.incident import Condition
from retainlint.symbolic.context import Machine
from retainlint.symbolic.state import Choice, Flow, State, ticket
from retainlint.symbolic.turns import settled
from retainlint.symbolic.values import (
    ClassObj,
    External,
    Failure,
    Instance,
    Symbol,
    Tuple,
    Value,
)


def failure(state: State, raised: int | None) -> Failure:
    """The exception that a `raise` throws, as far as its class is known."""
    if raised is None:
        return Failure("")
    value = state.read(raised)
    if isinstance(value, Failure):
        return value
    if isinstance(value, External):
        return Failure(value.path.rpartition(".")[2])
    obj = state.get(value)
    cls = state.get(obj.cls) if isinstance(obj, Instance) else obj
    return Failure(cls.name if isinstance(cls, ClassObj) else "")


EXPECTED = ("RuntimeError", "Exception", "BaseException", "GraphError")


def run_try(machine: Machine, instr: ir.Try, state: State) -> list[State]:
    entry = state.fork() if instr.handlers and _may_matter(instr) else None
    catches = any(_may_catch(state, handler) for handler in instr.handlers)
    state.guards += catches
    after: list[State] = []
    for each in machine.run(instr.body, [state]):
        each.guards -= catches
        if each.flow is not None and each.flow.kind == "raise" and instr.handlers:
            after += _handle(machine, instr, each)
        elif each.flow is None:
            after += machine.run(instr.orelse, [each])
        else:
            after.append(each)
    if entry is not None:
        entry.truths = dict(entry.truths)
        entry.choices += (Choice(Condition(instr.handlers[0].span, True), Symbol(ticket())),)
        after += _enter(machine, instr.handlers[0], entry, Failure(""))
    return settled(machine, _finally(machine, instr, after), instr.live)


def _finally(machine: Machine, instr: ir.Try, states: list[State]) -> list[State]:
    if not instr.final:
        return states
    after: list[State] = []
    for state in states:
        flow, state.flow = state.flow, None
        for each in machine.run(instr.final, [state]):
            each.flow = each.flow or flow
            after.append(each)
    return after


def _may_matter(instr: ir.Try) -> bool:
    """Whether the first handler is worth running though nothing was seen to raise: it does not give up, and what it
    guards is more than an import."""
    handler = instr.handlers[0].body
    if any(isinstance(i, ir.Raise | ir.Return | ir.Break | ir.Continue) for i in handler):
        return False
    return any(isinstance(i, ir.Call | ir.For | ir.If | ir.With) for i in instr.body)


def _caught(state: State, handler: ir.Handler) -> list[str] | None:
    """The names of the classes that a handler catches; None if unknown or all."""
    if handler.type is None:
        return None
    value = state.frame.registers.get(handler.type)
    values = value.items if isinstance(value, Tuple) else (value,)
    names: list[str] = []
    for each in values:
        if isinstance(each, External):
            names.append(each.path.rpartition(".")[2])
        elif each is not None and isinstance(cls := state.get(each), ClassObj):
            names.append(cls.name)
        else:
            return None
    return names


def _may_catch(state: State, handler: ir.Handler) -> bool:
    """Whether the handler takes what autograd raises. Its test was not run yet, so names are read off it."""
    if handler.type is None:
        return True
    names = {instr.name for instr in handler.test if isinstance(instr, ir.Load | ir.GetAttr)}
    builtin = {name for name in names if name.endswith(("Error", "Exception", "Interrupt", "Exit", "Iteration"))}
    return bool(names & set(EXPECTED)) or not builtin


def _handle(machine: Machine, instr: ir.Try, state: State) -> list[State]:
    """Send a raised exception to the handlers."""
    assert state.flow is not None
    raised = state.flow.value
    kind = raised.type if isinstance(raised, Failure) else ""
    state.flow = None
    for handler in instr.handlers:
        for tested in machine.run(handler.test, [state]):
            names = _caught(tested, handler)
            if names is None or not kind or kind in names or {"Exception", "BaseException"} & set(names):
                return _enter(machine, handler, tested, raised or Failure(""), tested=True)
            state = tested
    state.flow = Flow("raise", raised)
    return [state]


def _enter(machine: Machine, handler: ir.Handler, state: State, raised: Value, *, tested: bool = False) -> list[State]:
    states = [state] if tested else machine.run(handler.test, [state])
    for each in states:
        each.write(handler.dst, raised, handler.span)
    return machine.run(handler.body, states)
