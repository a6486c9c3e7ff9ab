"""An option is the same in every turn: a path that answers one question of it both ways is none."""

from __future__ import annotations

from retainlint.incident import Condition
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver import intervals
from retainlint.symbolic.state.state import Choice, State
from retainlint.symbolic.state.values import Const, Term, UnknownObj, Value
from retainlint.text.source import Source, Span

PLACE = Span(Source("main.py", "args.mode"), 0, 9)


def path(term: Value, *answers: bool) -> State:
    state = State()
    state.choices = tuple(Choice(Condition(PLACE, answer), term, answer) for answer in answers)
    return state


def test_a_text_is_in_an_option_or_not() -> None:
    state = State()
    option = objects.fresh(state, PLACE)
    term = Term("in", (Const("task"), option))
    state.choices = path(term, True, False).choices
    assert not intervals.is_consistent(state)
    state.choices = path(term, True, True).choices
    assert intervals.is_consistent(state)


def test_what_holds_an_item_of_that_name_may_have_been_given_it() -> None:
    state = State()
    names = state.new(UnknownObj(PLACE, attrs={"['task']": Const(1)}))
    state.choices = path(Term("in", (Const("task"), names)), True, False).choices
    assert intervals.is_consistent(state)


def test_what_a_path_knows_by_now_counts_too() -> None:
    state = State()
    option = objects.fresh(state, PLACE)
    term = Term("==", (option, Const("task")))
    state.choices = path(term, False).choices
    assert intervals.is_consistent(state)
    state.truths[term] = True
    assert not intervals.is_consistent(state)


def test_numbers_may_change() -> None:
    state = State()
    count = objects.fresh(state, PLACE)
    state.choices = path(Term("==", (count, Const(3))), False, True).choices
    assert intervals.is_consistent(state)
