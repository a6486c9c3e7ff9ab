"""What is built anew by a number that two loops count, `epoch * len(loader) + i`: in which turns, nobody follows."""

from __future__ import annotations

from retainlint import ir
from retainlint.autograd.graph import Node
from retainlint.ir import facts
from retainlint.symbolic.solver import decisions, trials
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, Term, Value


def note(machine: Machine, instr: ir.If, cond: Value) -> None:
    """Note what the arms of a condition bind, if it asks for the remainder of such a number."""
    if _is_of_two_loops(cond) and instr.span not in machine.rounds:
        bound = (each.name for each in ir.walk((instr,)) if isinstance(each, ir.Store | ir.SetAttr))
        machine.rounds[instr.span] = frozenset(bound)


def may_have_renewed(machine: Machine, state: State, node: Node, backward_pass: str) -> bool:
    """Whether a turn that was not run may have built anew what a walk, that is written so, needs of an earlier turn."""
    if not machine.rounds or machine.graphs.births[node].moment.iterations == state.iterations:
        return False
    words = facts.of_text(backward_pass).names
    return any(
        not words.isdisjoint(machine.rounds.get(choice.condition.span, ())) and _is_of_two_loops(choice.term)
        for choice in state.choices
    )


def _is_of_two_loops(value: Value) -> bool:
    """Whether a condition asks for the remainder of a number that one loop counts by as much as another has turns."""
    return trials.has_remainder(value) and _has_product(value)


def _has_product(value: Value) -> bool:
    if not isinstance(value, Term):
        return False
    if value.op == "*" and decisions.loops_of(value) and not any(isinstance(each, Const) for each in value.args[1:]):
        return True
    return any(map(_has_product, value.args))
