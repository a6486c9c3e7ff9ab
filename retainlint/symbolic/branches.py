"""Branches: both arms of what can't be decided."""

from __future__ import annotations

from retainlint import ir
from retainlint.records import replace
from retainlint.symbolic import between, facts, rounds
from retainlint.symbolic.context import Machine
from retainlint.symbolic.state import State
from retainlint.symbolic.turns import settled
from retainlint.symbolic.values import (
    ListObj,
    Ref,
    Term,
    Value,
)


def run_if(machine: Machine, instr: ir.If, state: State) -> list[State]:
    cond = state.read(instr.cond)
    truth = facts.decide(state, cond)
    if truth is None and not state.guards and (only_raises(instr.then) or only_raises(instr.orelse)):
        truth = not only_raises(instr.then)
        settle(state, cond, truth)
    elif truth is False and not state.guards and is_assertion(instr.orelse):
        truth = True  # others, whom we didn't see, have seen to it
    elif truth is not None and not state.guards and _gives_up(machine, instr, state, truth):
        truth = not truth
    if truth is not None:
        machine.waste.arms.take(instr, truth)
        return machine.run(instr.then if truth else instr.orelse, [state])
    rounds.note(machine, instr, cond)
    after: list[State] = []
    for arm, taken in machine.part(state, cond, instr.span):
        machine.waste.arms.take(instr, taken)
        after += machine.run(instr.then if taken else instr.orelse, [arm])
    return settled(machine, after, instr.live)


def _gives_up(machine: Machine, instr: ir.If, state: State, truth: bool) -> bool:
    """Whether a path would end here in what only raises, for a reason that need not hold: a list is asked for what some
    turns have put into it that may have had none, which it then hasn't; or no path has come to the walks behind, and this
    one to none so far."""
    taken, other = (instr.then, instr.orelse) if truth else (instr.orelse, instr.then)
    if not only_raises(taken) or only_raises(other):
        return False
    sampled = [each for name in between.WORD.findall(instr.span.text) if (each := _sampled(state, name)) is not None]
    for ref, held in sampled:
        state.set(ref, replace(held, items=(), sampled=False, size=None))
    return bool(sampled) or (machine.anyhow and not state.ledger.freed)


def _sampled(state: State, name: str) -> tuple[Ref, ListObj] | None:
    value = state.frame.names.get(name)
    held = state.get(value) if isinstance(value, Ref) else None
    return (value, held) if isinstance(value, Ref) and isinstance(held, ListObj) and held.sampled else None


def settle(state: State, cond: Value, truth: bool) -> None:
    """Take for granted what the program itself insists on, by raising otherwise."""
    while isinstance(cond, Term) and cond.op == "not":
        cond, truth = cond.args[0], not truth
    state.truths[cond] = truth


def only_raises(block: ir.Block) -> bool:
    """Whether a block does nothing but raise."""
    return bool(block) and isinstance(block[-1], ir.Raise) and not any(isinstance(i, ir.If | ir.For) for i in block)


def is_assertion(block: ir.Block) -> bool:
    """Whether a block is what an `assert` does if it fails."""
    return only_raises(block) and block[-1].span.text.startswith("assert")
