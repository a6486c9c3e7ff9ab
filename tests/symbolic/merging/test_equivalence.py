"""States are alike if one may stand for the other: what is the same in both is compared last, and still tells them apart."""

from __future__ import annotations

import random

import pytest

from retainlint.lowering import lower
from retainlint.symbolic.merging.equivalence import Comparison, equivalent
from retainlint.symbolic.solver import trials
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.graphs import Graphs
from retainlint.symbolic.state.path_condition import Truths, sides
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, Instance, ListObj, Ref, Symbol, Term, Tuple, UnknownObj, Value
from retainlint.text.source import Source, Span

NOWHERE = Span(Source("", ""), 0, 0)


def begun() -> tuple[State, Ref, Ref]:
    """A state with two objects of one class that hold nothing."""
    state = State()
    state.push(lower(Source("main.py", "")).module, None, None)
    cls = state.new(UnknownObj(NOWHERE))
    return state, state.new(Instance(cls, {})), state.new(Instance(cls, {}))


@pytest.mark.parametrize("wrapped", [False, True])
def test_who_holds_one_object_twice_is_unlike_who_holds_two(wrapped: bool) -> None:
    one, first, second = begun()
    one.writable().names["x"] = Tuple((first,)) if wrapped else first
    other = one.fork()
    one.writable().names["y"] = first
    other.writable().names["y"] = second
    assert not equivalent(Graphs(), one, other)
    one.writable().names["y"] = one.new(Instance(second, {}))
    other.writable().names["y"] = other.new(Instance(second, {}))
    assert equivalent(Graphs(), one, other)  # each has one of its own, and what both hold stands for nothing else


def test_registers_and_the_items_of_a_list_tell_apart() -> None:
    graphs = Graphs()
    one, first, _ = begun()
    one.writable().registers[3] = Const("a")
    one.writable().names["items"] = items = one.new(ListObj((first, Const("a"))))
    other = one.fork()
    other.writable().registers[3] = Const("b")
    assert not equivalent(graphs, one, other)
    other.writable().registers[3] = Const("a")
    assert equivalent(graphs, one, other)
    other.set(items, ListObj((first, Const("b"))))
    assert not equivalent(graphs, one, other)


def test_remainders_of_deep_terms_are_told() -> None:
    deep: Value = Symbol(1)
    for _ in range(limits.TERM_DEPTH_MOST - 2):
        deep = Term("+", (deep, Const(1)))
    state = State()
    state.truths[Term("==", (Term("%", (deep, Const(2))), Const(0)))] = True
    assert trials.decide(state, Term("==", (Term("%", (deep, Const(2))), Const(1)))) is False


def test_comparisons_that_came_late_are_found_as_those_that_were_there() -> None:
    draw = random.Random(3)
    bases: list[Value] = [Symbol(1), Symbol(2), Ref(7)]
    for _ in range(200):
        truths = Truths()
        for _ in range(draw.randint(1, 14)):
            truths[Term("<", (draw.choice(bases), draw.choice([*bases, Const(draw.randint(0, 4))])))] = (
                draw.random() < 0.5
            )
            truths = Truths(truths) if draw.random() < 0.3 else truths
            if draw.random() < 0.1:
                del truths[draw.choice(list(truths))]
            asked = draw.sample(bases, draw.randint(1, 2))
            plain = [
                (term, truth)
                for term, truth in truths.items()
                if isinstance(term, Term) and any(base in asked for base, _ in sides(term) if base is not None)
            ]
            assert list(truths.about(*asked)) == plain


@pytest.mark.parametrize("lenient", [False, True])
def test_a_tuple_that_stands_in_many_places_is_gone_into_once(lenient: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    one, first, _ = begun()
    nested: Value = Tuple((first, Const(1)))
    for _ in range(12):
        nested = Tuple((nested, nested))
    one.writable().names["x"] = nested
    other = one.fork()
    other.writable().names["y"] = Const(2)
    asked = 0

    def counted(self: Comparison, *given: object) -> bool:
        nonlocal asked
        asked += 1
        return bool(whole(self, *given))

    for name in ("as_kept", "plain"):
        whole = getattr(Comparison, name)
        monkeypatch.setattr(Comparison, name, counted)
        equivalent(Graphs(), one, other, lenient=lenient)
        monkeypatch.undo()
    assert 0 < asked < 200
