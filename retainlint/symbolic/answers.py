"""What follows from an answer to a condition, beside the answer: noted where a path gives it."""

from __future__ import annotations

from retainlint.records import replace
from retainlint.symbolic import keys
from retainlint.symbolic.facts import is_cast
from retainlint.symbolic.state import State
from retainlint.symbolic.values import Const, External, Ref, Term, Tuple, UnknownObj, Value


def follow(state: State, value: Value, truth: bool) -> None:
    """Note what else a path knows that has chosen so: where none of several holds, each of them doesn't."""
    if isinstance(value, Term) and value.op == "==" and truth:
        for asked in keys.asked(state, *value.args):
            state.truths[asked] = True
    if isinstance(value, Term) and value.op == "isinstance" and not truth and _asks_for_tensors(value.args[1]):
        held = state.get(value.args[0])
        if isinstance(held, UnknownObj) and isinstance(value.args[0], Ref):
            state.set(value.args[0], replace(held, edge=None, plain=True))  # what is no tensor has no graph
    if not (isinstance(value, Term) and value.op == ("all" if truth else "any")):
        return
    for each in value.args:
        answer = truth
        while isinstance(each, Term) and (each.op == "not" or is_cast(each)):
            answer ^= each.op == "not"
            each = each.args[0]
        if not isinstance(each, Const):
            state.truths[each] = answer
            follow(state, each, answer)


def _asks_for_tensors(kinds: Value) -> bool:
    return External("torch.Tensor") in (kinds.items if isinstance(kinds, Tuple) else (kinds,))


def presume(state: State, value: Value) -> set[Value]:
    """Take for granted that a comparison of numbers holds which can't be decided; what is noted for that."""
    truth = True
    while isinstance(value, Term) and value.op == "not":
        value, truth = value.args[0], not truth
    if not (isinstance(value, Term) and value.op in ("==", "<", "<=")):
        return set()
    state.truths[value] = truth
    return {value}


def forget(state: State, value: Value) -> None:
    """Forget what a path has chosen of something that holds others now."""
    size = Term("len", (value,))
    for term in [term for term in state.truths if term == value or (isinstance(term, Term) and size in term.args)]:
        del state.truths[term]
