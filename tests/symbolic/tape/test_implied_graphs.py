"""What a walk that ran proves of graphs that nobody sees."""

from __future__ import annotations

import pytest
from machine import Machine

HEAD = "import sys\nimport torch\nfrom somewhere import make\nnet, cost, opt, x = make('n'), make('c'), make('o'), make('x')\n"


@pytest.mark.parametrize(
    ("total", "fails"),
    [
        ("(torch.relu(a) + torch.relu(b)) / 2", True),
        ("torch.relu(a) + torch.relu(b) + make('fixed')", True),
        ("torch.relu(a) + torch.relu(b) + weight.sum()", False),
    ],
)
def test_of_several_terms_one_has_the_graph(machine: Machine, total: str, fails: bool) -> None:
    text = "weight = torch.nn.Linear(2, 2).weight\n"  # a leaf, and a sum, which saves nothing
    text += (
        f"a, b = make('a')[0], make('b')[0]\nfirst = {total}\nfor _ in range(2):\n    (first + 0).sum().backward()\n"
    )
    assert bool(machine(HEAD + text).lines) is fails


@pytest.mark.parametrize(("index", "fails"), [(":-1", True), (":, 1:", True), ("i", False)])
def test_slices_of_one_output_share_its_graph(machine: Machine, index: str, fails: bool) -> None:
    text = f"out = net(x)[0]\nfor i in make('n'):\n    torch.log_softmax(out[{index}], 0).sum().backward()\n"
    assert bool(machine(HEAD + text).lines) is fails


def test_a_module_that_is_asked_for_by_its_name_may_hold_any_function(machine: Machine) -> None:
    text = "here = sys.modules[__name__]\nloss = here.cost(net(x), x).mean()\nloss.backward()\nloss.backward()\n"
    assert machine(HEAD + text).lines == [8]


@pytest.mark.parametrize(("zero", "fails"), [("make('o').zero_grad()", False), ("trainer_D.zero_grad()", True)])
def test_what_zeroes_and_steps_is_an_optimiser(machine: Machine, zero: str, fails: bool) -> None:
    text = f"net = make('net')\ntrainer_D = make('t')\n{zero}\nloss = net(x).mean()\nloss.backward(retain_graph=True)\n"
    assert bool(machine(HEAD + text + "trainer_D.step()\nloss.backward()\n").lines) is fails


TWICE = """
for batch in make('batches'):
    image = net(batch)
    {first} = score(image)
    cost({used}).backward()
    {second} = score(image)
    (cost({again}) + cost(score(batch)[{at}])).backward()
"""


@pytest.mark.parametrize(
    ("second", "again", "fails"), [("a, b", "a", True), ("a, b", "b", False), ("_, a", "a", False)]
)
def test_what_was_walked_of_a_network_has_a_graph_in_each_call(
    machine: Machine, second: str, again: str, fails: bool
) -> None:
    """Of a network's other results nobody knows: they may be cut."""
    text = "score, cost = make('score'), torch.nn.BCELoss()\nnet.train(), score.train()\n"
    text += TWICE.format(first="a, b", used="a, torch.ones(3)", second=second, again=f"{again}, torch.ones(3)", at=0)
    assert bool(machine(HEAD + text.replace("[0])", "[0], torch.ones(3))")).lines) is fails


@pytest.mark.parametrize(
    ("backpropagated", "fails"), [("costs[0] + costs[1]", True), ("costs[i]", False), ("costs[0]", True)]
)
def test_parts_of_one_result_may_have_graphs_of_their_own(machine: Machine, backpropagated: str, fails: bool) -> None:
    text = f"costs = net(x)\nfor i in range(2):\n    torch.exp({backpropagated} * 2).backward()\n"
    assert bool(machine(HEAD + text).lines) is fails


@pytest.mark.parametrize(("memory", "fails"), [("out[1:]", False), ("out", True)])
def test_a_slice_of_what_has_items_may_be_of_a_tuple(machine: Machine, memory: str, fails: bool) -> None:
    text = "memory = ()\nfor batch in make('batches'):\n    out = net(batch, memory)\n"
    text += f"    memory = {memory}\n    (out[0].exp().mean() + out[1].exp().mean()).backward()\n"
    assert bool(machine(HEAD + text).lines) is fails
