"""What would be thrown away isn't run: ways of making an object, parts of what nobody knows, callers of what doesn't walk."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.symbolic.state import limits
from retainlint.symbolic.state.path_choice import BEYOND, ONE, OWN, Chooser

HEAD = "import torch\nfrom torch import nn\n\n"
DOUBLED = "loss.backward()\n        loss.backward()\n"


def fields(count: int) -> str:
    """A class whose objects are made in as many ways as `count` flags allow."""
    made = "".join(
        f"        if flags[{n}]:\n            self.a{n} = nn.Linear(2, {n + 2})\n        else:\n            self.a{n} = None\n"
        for n in range(count)
    )
    return (
        f"class Trainer:\n    def __init__(self, net, flags):\n        self.net = net\n{made}"
        f"    def update(self, x):\n        loss = self.net(x).sum()\n        {DOUBLED}"
    )


def test_an_object_is_made_in_one_way(machine: Machine) -> None:
    flags = 20
    found = machine(HEAD + fields(flags))
    (incident,) = found.incidents
    assert incident.primary.text == "loss.backward()"
    assert not found.gaps  # the other ways were never gone on with
    apiece = (machine(HEAD + fields(flags)).steps - machine(HEAD + fields(0)).steps) / flags
    assert apiece < 30  # each of its ways takes about a dozen


MADE = """
class Trainer:
    def update(self, x):
        self.net(x).sum().backward()

    def __init__(self, net, x, flags):
        self.net = net
        self.loss = net(x).sum()
        again = net(x).sum() if flags[0] else self.loss
        self.loss.backward()
        again.backward()
"""


def test_walks_in_the_making_of_an_object_are_seen(machine: Machine) -> None:
    incident = machine(HEAD + MADE).incident
    assert incident.primary.text == "again.backward()"


WALKED = """
def plain(value):
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, tuple):
        return tuple(plain(each) for each in value)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if value.dim() > 1:
        value = value.view(-1)
    return value


def train(net, data):
"""


def many_calls(count: int) -> str:
    return WALKED + "    plain(data.x)\n" * count + f"    if data:\n        loss = net(data).sum()\n        {DOUBLED}"


def test_what_walks_through_unknown_parts_becomes_tiresome(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RECURSIVE_STEPS", 500)
    incident = machine(HEAD + many_calls(40)).incident
    assert incident.primary.text == "loss.backward()"
    first = machine(HEAD + many_calls(1)).steps
    assert first > 250
    many, more = machine(HEAD + many_calls(20)).steps, machine(HEAD + many_calls(40)).steps
    assert (more - many) / 20 < first / 4


COUNTED = """
def halve(x, n):
    if n == 0:
        return x
    return halve(x * 0.5, n - 1)


def train(net, x):
    for _ in range(30):
        halve(x, 12)
    kept = halve(net(x), 12).sum()
    kept.backward()
    kept.backward()
"""


def test_what_counts_its_way_to_an_end_is_never_tiresome(machine: Machine) -> None:
    found = machine(HEAD + COUNTED)
    (incident,) = found.incidents
    assert incident.primary.text == "kept.backward()"
    assert not found.says("calls itself")


UPDATES = """
def update(net, x):
    {backward_pass}


def train(net, data):
    x = data.load()
    for each in range(40):
        update(net, x)
"""


@pytest.mark.parametrize(
    ("backward_pass", "runs"), [("net(x).sum().backward()", True), ("if False:\n        x.backward()", False)]
)
def test_callers_of_what_never_walked_are_not_run(machine: Machine, backward_pass: str, runs: bool) -> None:
    text = UPDATES.format(backward_pass=backward_pass)
    alone = text.partition("def train")[0]
    assert (machine(HEAD + text).steps > machine(HEAD + alone).steps + 20) is runs


def test_few_ways_are_followed_for_a_while() -> None:
    chooser = Chooser()
    with chooser.narrowed(ONE):
        assert chooser.room(0) == 1
        with chooser.narrowed(BEYOND):
            assert chooser.breadth is ONE
    assert chooser.breadth is OWN
    chooser.crowd()
    assert chooser.room(0) == 1


def test_a_loop_that_logs_numbers_comes_to_rest(machine: Machine) -> None:
    """A number read from a tensor holds no graph: nothing tells the third iteration from the second."""
    loop = """
net, history, opt = nn.Linear(2, 1), [], None
for epoch in range(100):
    if epoch > 5:
        opt = net
    loss = net(torch.randn(4, 2)).pow(2).mean()
    loss.backward()
"""
    logged = machine(HEAD + loop + "    history.append(loss.item())\n")
    assert logged.steps < 1.3 * machine(HEAD + loop + "    history.append(0.0)\n").steps


BEHIND = "def f(net, xs, n):\n    h = net(xs[0])\n    h.sum().backward()\n"
LEFT_AS_IT_WAS = "    for i, x in enumerate(xs):\n        y = net(x)\n        y.sum().backward()\n{}"
WASTING = "    for i, x in enumerate(xs):\n        y = net(x)\n{}"
LOGGED = LEFT_AS_IT_WAS + "        if i % 10 == 0:\n            print(y.item())\n"
CARRIED = "    for i, x in enumerate(xs):\n        h = torch.tanh(h + x).detach()\n{}"
LOGGED_AND_CARRIED = CARRIED + "        if i % 10 == 0:\n            print(h)\n"
NUMBERED = CARRIED + "        if i % 10 == 0:\n            h = net(x)\n"
BOUND_ONCE = LEFT_AS_IT_WAS + "        if i == 0:\n            kept = net(x)\n        kept.mean()\n"
NESTED = "    for epoch in range(n):\n        for x in xs:\n            h = torch.tanh(h + x).detach()\n{}"
ROWS = 10 * "print(1); "


@pytest.mark.parametrize(
    ("loop", "times"),
    [
        (LEFT_AS_IT_WAS, 1),  # what the first iteration leaves as it was needs no second
        (LOGGED, 1),  # nor does what its number decides, if that leaves no trace
        (WASTING, 2),  # a graph that nobody uses is told of where the next one takes its place
        (CARRIED, 2),
        (LOGGED_AND_CARRIED, 2),
        (NESTED, 3),  # a later run of the inner loop comes to where an earlier one was
    ],
)
def test_iterations_that_add_nothing_are_not_run(machine: Machine, loop: str, times: int) -> None:
    def steps(rows: str) -> int:
        indent = " " * (12 if loop is NESTED else 8)
        return machine(HEAD + BEHIND + loop.format(f"{indent}{rows}pass\n")).steps

    once = machine(HEAD + BEHIND + "    " + ROWS + "pass\n").steps - machine(HEAD + BEHIND + "    pass\n").steps
    assert (steps(ROWS) - steps("")) / once == times


@pytest.mark.parametrize("loop", [NUMBERED, BOUND_ONCE])
def test_what_a_loop_s_number_decides_is_run(machine: Machine, loop: str) -> None:
    row = "        print(1)\n"
    assert machine(HEAD + BEHIND + loop.format(row)).steps >= machine(HEAD + BEHIND + loop.format("")).steps + 4 * 3
