"""The engine, the graph and the ledger without numbers, as the symbolic machine uses them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest

from retainlint.autograd.engine import Observer, backward_pass
from retainlint.autograd.errors import FreedError, GraphError, ModifiedError, NoGraphError
from retainlint.autograd.graph import Edge, Node, SavedTensor, leaf
from retainlint.autograd.ledger import Ledger
from retainlint.autograd.operations import rows


class Marks:
    """Gradients are marks; leaves note that one arrived."""

    def __init__(self) -> None:
        self.arrived: list[Hashable] = []
        self.ran: list[str] = []

    def apply(self, node: Node, grads: list[bool | None]) -> Sequence[bool | None]:
        self.ran.append(node.op)
        return [True] * len(node.next)

    def add(self, left: bool, right: bool) -> bool:
        return True

    def accumulate(self, variable: Hashable, grad: bool) -> None:
        self.arrived.append(variable)


class Forgiving(Observer):
    """Notes refusals and lets the walk go on."""

    def __init__(self) -> None:
        self.errors: list[GraphError] = []

    def refused(self, node: Node, saved: SavedTensor, error: GraphError) -> None:
        self.errors.append(error)


def chain(ledger: Ledger) -> tuple[Node, Node, Node]:
    """low = exp(w), high = sum(low)."""
    weight = leaf("w")
    low = Node("ExpBackward0", (SavedTensor("result", "low"),), (Edge(weight),), ledger.next_order())
    high = Node("SumBackward0", (), (Edge(low),), ledger.next_order())
    return weight, low, high


def test_second_walk_is_refused_at_the_node_that_saved() -> None:
    ledger, marks = Ledger(), Marks()
    _, low, high = chain(ledger)
    backward_pass([(Edge(high), True)], ledger, marks, Observer())
    assert (marks.ran, marks.arrived, ledger.graded) == (["SumBackward0", "ExpBackward0"], ["w"], {"w"})
    assert ledger.freed == {low}
    with pytest.raises(FreedError):
        backward_pass([(Edge(high), True)], ledger, marks, Observer())


def test_retained_and_revived_graphs_are_walked_again() -> None:
    ledger, marks = Ledger(), Marks()
    _, low, high = chain(ledger)
    backward_pass([(Edge(high), True)], ledger, marks, Observer(), retain=True)
    backward_pass([(Edge(high), True)], ledger, marks, Observer())
    ledger.revive([low])
    backward_pass([(Edge(high), True)], ledger, marks, Observer())
    assert marks.arrived == ["w"] * 3


def test_a_change_is_refused_and_may_be_forgiven() -> None:
    ledger, marks = Ledger(), Marks()
    _, _, high = chain(ledger)
    ledger.bump("low")
    with pytest.raises(ModifiedError, match="at version 1; expected version 0"):
        backward_pass([(Edge(high), True)], ledger, marks, Observer())
    forgiving = Forgiving()
    backward_pass([(Edge(high), True)], ledger, marks, forgiving)
    assert [type(error) for error in forgiving.errors] == [ModifiedError]
    assert marks.arrived == ["w"]


def test_inputs_bound_the_walk() -> None:
    ledger, marks = Ledger(), Marks()
    _, low, high = chain(ledger)
    found = backward_pass([(Edge(high), True)], ledger, marks, Observer(), inputs=[Edge(low)], accumulate=False)
    assert (found, marks.ran, ledger.freed) == ([True], ["SumBackward0"], set())
    backward_pass([(Edge(high), True)], ledger, marks, Observer(), inputs=[Edge(low)])
    assert ledger.freed == {low}
    assert marks.arrived == []


def test_forks_go_their_own_way() -> None:
    ledger = Ledger()
    _, _, high = chain(ledger)
    other = ledger.fork()
    backward_pass([(Edge(high), True)], ledger, Marks(), Observer())
    backward_pass([(Edge(high), True)], other, Marks(), Observer())
    other.bump("low")
    assert (ledger.version("low"), other.version("low")) == (0, 1)
    assert ledger.next_order() == other.next_order() == 3


def test_no_graph_at_the_root() -> None:
    with pytest.raises(NoGraphError, match=r"^element 1 of tensors does not require grad"):
        backward_pass([(Edge(leaf("w")), True), (None, True)], Ledger(), Marks(), Observer())


def test_rows_tell_who_saves_what() -> None:
    table = rows()
    assert [slot.name for slot in table["mul"].saved((True, False))] == ["other"]
    assert {slot.name for slot in table["mul"].saved((True, True))} == {"self", "other"}
    assert table["add"].saved((True, True)) == ()
    assert [slot.name for slot in table["exp"].saved((True,))] == ["result"]


def test_the_core_is_read_in_one_sitting() -> None:
    from pathlib import Path

    import retainlint.autograd

    home = Path(retainlint.autograd.__file__).parent
    lines = sum(len((home / f"{name}.py").read_text().splitlines()) for name in ("graph", "ledger", "engine"))
    assert lines <= 450
