"""What a sweep forgets: what no variable leads to, once it is a third of what there is."""

from __future__ import annotations

import random

import pytest

from retainlint.ir import Code
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.reachability import records, sweep
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Closure, ListObj, Ref, Term, Tuple, Value
from retainlint.text.source import Source, Span

HERE = Span(Source("here.py", ""), 0, 0)


def code() -> Code:
    return Code("f", "f", HERE, ())


def reached(state: State, held: list[Value]) -> tuple[set[int], set[int]]:
    """The records and frames that some values lead to, told one by one."""
    found: set[int] = set()
    frames: set[int] = set()
    while held:
        value = held.pop()
        if isinstance(value, Tuple):
            held += value.items
        elif isinstance(value, Closure) and state.frames.has(value.frame) and value.frame not in frames:
            frames.add(value.frame)
            held += state.frames[value.frame].names.values()
        elif isinstance(value, Ref) and value.id not in found:
            found.add(value.id)
            record = state.heap[value.id]
            held += record.items if isinstance(record, ListObj) else ()  # it may have been swept
    return found, frames


@pytest.mark.parametrize("seed", range(60))
def test_it_forgets_what_nothing_leads_to(seed: int) -> None:
    chance = random.Random(seed)
    state = State()
    inner = [state.push(code(), None, None) for _ in range(3)]
    state.stack = ()
    running = state.push(code(), None, None)
    refs = [state.new(ListObj(())) for _ in range(chance.randint(1, 40))]

    def value() -> Value:
        one = chance.choice(refs)
        kinds: list[Value] = [one, Tuple((one,)), Closure(code(), chance.choice(inner))]
        return chance.choice(kinds)

    for ref in refs:
        state.set(ref, ListObj(tuple(chance.choices([*refs, Tuple(()), value()], k=chance.randint(0, 2)))))
    for each in (running, *inner):
        state.writable(each).names["x"] = value()
    state.writable().names["many"] = Tuple(tuple(chance.sample(refs, chance.randint(0, len(refs)))))
    for iteration in range(
        6
    ):  # what a frame leads to is noted once nobody may write to it, and told anew once it was copied
        found, frames = reached(state, list(state.frame.names.values()))
        before = dict(state.heap)
        assert records(state) == (found, {running, *frames})
        sweep(state)
        assert state.frames.keys() == {running, *frames}
        is_waste = len(found) < len(before) * 2 // 3
        assert dict(state.heap) == {id: held for id, held in before.items() if id in found or not is_waste}
        if iteration % 2:
            state = state.fork()
            sweep(state)
        state.writable().names["x"] = chance.choice(refs)


def test_what_several_values_hold_is_looked_into_once() -> None:
    state = State()
    state.push(code(), None, None)
    value: Value = state.new(ListObj(()))
    for _ in range(limits.TERM_DEPTH_MOST):
        value = Term("+", (value, value))
    state.writable().names["x"] = value
    assert len(records(state)[0]) == 1
