"""Graphs that containers keep are looked for once in each container, however often it holds itself."""

from __future__ import annotations

import pytest

from retainlint.autograd.graph import Edge, Node
from retainlint.lowering import lower
from retainlint.symbolic.detectors.claims import roots_of
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import HeapObj, ListObj, TensorObj, Tuple, Value
from retainlint.text.source import Source


def begun() -> State:
    state = State()
    state.push(lower(Source("main.py", "")).module, None, None)
    return state


def test_a_list_that_holds_itself_many_times_is_gone_into_once(monkeypatch: pytest.MonkeyPatch) -> None:
    state = begun()
    edge = Edge(Node("AddBackward0"))
    tensor = state.new(TensorObj(edge, "memory"))
    items = state.new(ListObj(()))
    state.set(items, ListObj((*[items] * 20, tensor)))
    asked: list[object] = []
    get = State.get

    def counted(self: State, value: Value) -> HeapObj | None:
        asked.append(value)
        return get(self, value)

    monkeypatch.setattr(State, "get", counted)
    assert roots_of(state, items, 3) == [edge]
    assert len(asked) < 100


def test_what_also_lies_deeper_is_found_where_it_lies_less_deep() -> None:
    state = begun()
    edge = Edge(Node("AddBackward0"))
    inner = state.new(ListObj((state.new(TensorObj(edge, "memory")),)))
    assert roots_of(state, Tuple((Tuple((inner,)), inner)), 3) == [edge]
    assert roots_of(state, Tuple((Tuple((Tuple((inner,)),)), inner)), 3) == [edge]
    assert roots_of(state, Tuple((Tuple((Tuple((inner,)),)),)), 3) == []
