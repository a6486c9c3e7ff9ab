"""Exceptions: `try` statements, and the handlers that are run."""

from __future__ import annotations

import re

from retainlint import ir
from retainlint.incident import Condition
from retainlint.records import replace
from retainlint.symbolic import unreached
from retainlint.symbolic.context import Machine
from retainlint.symbolic.raised import HANDLED, caught, is_taken
from retainlint.symbolic.state import Choice, Flow, State, ticket
from retainlint.symbolic.truths import Truths
from retainlint.symbolic.turns import settled
from retainlint.symbolic.values import (
    Failure,
    ListObj,
    Ref,
    Symbol,
    Value,
)

_FILLED = re.compile(r"\b(\w+)\.(?:append|extend|insert|add)\(")
EXPECTED = ("RuntimeError", "Exception", "BaseException", "GraphError")


def run_try(machine: Machine, instr: ir.Try, state: State) -> list[State]:
    entry = state.fork() if instr.handlers and _may_matter(instr) else None
    catches = not machine.tells_caught and any(_may_catch(handler) for handler in instr.handlers)
    state.guards += catches
    after: list[State] = []
    ended, risky = _watched(machine, instr.body, state)
    for each in ended:
        each.guards -= catches
        if each.flow is not None and each.flow.kind == "raise" and instr.handlers:
            after += _handle(machine, instr, each)
        elif each.flow is None:
            after += machine.run(instr.orelse, [each])
        else:
            after.append(each)
    if entry is not None and risky:
        entry.truths = Truths(entry.truths)
        entry.choices += (Choice(Condition(instr.handlers[0].span, True), Symbol(ticket())),)
        _fill(entry, instr.body)
        after += _enter(machine, instr.handlers[0], entry, Failure(GROUPS[0] if instr.is_group else ""))
    return settled(machine, _finally(machine, instr, after), instr.live)


def _fill(state: State, body: ir.Block) -> None:
    """What raised may have done so behind some turns: the lists that are filled before it may hold more."""
    spans = list(unreached.spans(body))
    text = spans[0].source.text[spans[0].start : max(each.end for each in spans)]
    for name in set(_FILLED.findall(text)):
        value = state.frame.names.get(name)
        held = state.get(value) if value is not None else None
        if isinstance(held, ListObj) and isinstance(value, Ref):
            state.set(value, replace(held, open=True))


def _watched(machine: Machine, body: ir.Block, state: State) -> tuple[list[State], bool]:
    """Run what a `try` guards; and whether anything in it may have raised for a reason that we don't see."""
    before = machine.risks
    machine.watching += 1
    try:
        ended = machine.run(body, [state])
    finally:
        machine.watching -= 1
    return ended, machine.risks > before


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
    return any(isinstance(i, ir.Call | ir.For | ir.If | ir.While | ir.With) for i in instr.body)


def _may_catch(handler: ir.Handler) -> bool:
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
    state.flow = None
    if instr.is_group:
        return _handle_group(machine, instr.handlers, state, raised or Failure(""))
    after: list[State] = []
    for handler in instr.handlers:
        for tested in machine.run(handler.test, [state]):
            state = tested
            takes = is_taken(raised, caught(tested, handler))
            if takes:
                return after + _enter(machine, handler, tested, raised or Failure(""), tested=True)
            if takes is None:
                state = tested.fork()
                tested.choices += (Choice(Condition(handler.span, True), Symbol(ticket())),)
                after += _enter(machine, handler, tested, raised or Failure(""), tested=True)
    state.flow = Flow("raise", raised)
    return [*after, state]


GROUPS = ("ExceptionGroup", "BaseExceptionGroup")


def _handle_group(machine: Machine, handlers: tuple[ir.Handler, ...], state: State, raised: Value) -> list[State]:
    """Send what was raised to `except*` handlers: one exception to the first that takes it, one that we don't know to
    each of them, a group to some, one after the other; what none takes is raised on."""
    kind = raised.type if isinstance(raised, Failure) else ""
    if kind in GROUPS:
        return _some_of(machine, handlers, state)
    if not kind:
        forks = [*(state.fork() for _ in handlers[1:]), state]
        return [
            after
            for handler, each in zip(handlers, forks)
            for after in _enter(machine, handler, _chosen(each, handler, handlers), Failure(GROUPS[0]))
        ]
    for handler in handlers:
        (state,) = machine.run(handler.test, [state])[:1]
        if is_taken(raised, caught(state, handler)):
            return _enter(machine, handler, state, Failure(GROUPS[0]), tested=True)
    state.flow = Flow("raise", raised)
    return [state]


def _some_of(machine: Machine, handlers: tuple[ir.Handler, ...], state: State) -> list[State]:
    """Run every choice of `except*` handlers but none; what one raises goes on behind the last."""
    paths: list[tuple[State, bool, Flow | None]] = [(state, False, None)]
    for number, handler in enumerate(handlers):
        behind: list[tuple[State, bool, Flow | None]] = []
        for each, taken, flow in paths:
            if taken or number + 1 < len(handlers):
                behind.append((each.fork(), taken, flow))
            for after in _enter(machine, handler, _chosen(each, handler, handlers), Failure(GROUPS[0])):
                behind.append((after, True, after.flow or flow))
                after.flow = None
        paths = behind
    for each, _, flow in paths:
        each.flow = flow
    return [each for each, _, _ in paths]


def _chosen(state: State, handler: ir.Handler, handlers: tuple[ir.Handler, ...]) -> State:
    """Note that the path takes this handler, where it might have taken another."""
    if len(handlers) > 1:
        state.choices += (Choice(Condition(handler.span, True), Symbol(ticket())),)
    return state


def _enter(machine: Machine, handler: ir.Handler, state: State, raised: Value, *, tested: bool = False) -> list[State]:
    states = [state] if tested else machine.run(handler.test, [state])
    before = [each.frame.registers.get(HANDLED) for each in states]
    after: list[State] = []
    for each, outer in zip(states, before, strict=True):
        each.write(handler.dst, raised, handler.span)
        each.write(HANDLED, raised, handler.span)
        for ended in machine.run(handler.body, [each]):
            registers = ended.writable().registers
            registers.pop(HANDLED, None)
            if outer is not None:
                registers[HANDLED] = outer
            after.append(ended)
    return after
