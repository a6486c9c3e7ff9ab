"""Ends of turns and joins: which states go on, which left, and which mean the same."""

from __future__ import annotations

from retainlint import ir
from retainlint.incident import Turn
from retainlint.symbolic.alike import equivalent
from retainlint.symbolic.context import Machine
from retainlint.symbolic.merge import forget_dead, join
from retainlint.symbolic.state import State


def settled(machine: Machine, states: list[State], live: ir.Live) -> list[State]:
    """At a join: forget what is dead, merge what is alike."""
    if len(states) < 2:
        return states
    for state in states:
        if state.flow is None:
            forget_dead(state, live)
        elif state.flow.kind == "return" and state.frame.registers:
            state.writable().registers.clear()
    return join(machine.graphs, states, beside=machine.chooser.beside)


def new_states(
    machine: Machine, states: list[State], seen: list[State], *, lenient: bool = False, grown: bool = False
) -> tuple[list[State], list[State]]:
    """Tell states that were not there at an earlier turn's end from those that were."""
    new: list[State] = []
    old: list[State] = []
    for state in states:
        known = any(equivalent(machine.graphs, before, state, lenient=lenient, grown=grown) for before in seen)
        (old if known else new).append(state)
    return new, old


def sort_turn(states: list[State]) -> tuple[list[State], list[State]]:
    """Those that go on with the next turn, and those that left the loop."""
    going: list[State] = []
    left: list[State] = []
    for state in states:
        if state.flow is None or state.flow.kind == "continue":
            state.flow = None
            going.append(state)
        else:
            left.append(state)
    return going, left


def leave_loop(states: list[State], outer: tuple[Turn, ...]) -> list[State]:
    for state in states:
        state.turns = outer
        if state.flow is not None and state.flow.kind == "break":
            state.flow = None
    return states
