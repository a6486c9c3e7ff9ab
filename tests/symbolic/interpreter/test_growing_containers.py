"""What fills from turn to turn, in objects, generators and lists that others fill, until it opens an arm."""

from __future__ import annotations

import pytest
from machine import Machine

HEAD = "import torch\nfrom somewhere import make, play\nnet, opt = make('net'), make('opt')\n"
TWICE = "loss = net(make(x)).mean()\n{0}loss.backward()\n{0}loss.backward()\n"


MEMORY = (
    "class Memory:\n    seen = 0\n    def __init__(self):\n        self.rows = []\n    def put(self, x):\n"
    "        self.rows.append(x)\n        self.seen += 1\n    def size(self):\n        return len(self.rows)\n"
    "memory = Memory()\nfor x in make('loader'):\n    memory.put(x)\n"
)


@pytest.mark.parametrize("test", ["memory.size() > 2000", "memory.seen >= 1000", "not memory.seen % 500"])
def test_an_arm_behind_an_object_that_fills_is_entered(machine: Machine, test: str) -> None:
    assert machine(HEAD + f"{MEMORY}    if {test}:\n        {TWICE.format(' ' * 8)}").lines == [19]


def test_an_arm_in_a_function_that_the_loop_calls_is_entered(machine: Machine) -> None:
    learn = f"def learn(x):\n    if memory.size() < 2000:\n        return\n    {TWICE.format(' ' * 4)}"
    assert machine(HEAD + f"{learn}{MEMORY}    learn(x)\n").lines == [9]


@pytest.mark.parametrize(
    ("test", "fails"), [("True", [9]), ("make('more')", [9]), ("n < 100", [9]), ("n < 5", []), ("n < 3", [])]
)
def test_a_while_is_tried_unless_all_its_turns_are_run(machine: Machine, test: str, fails: list[int]) -> None:
    arm = f"    if n == 64:\n        x = n\n        {TWICE.format(' ' * 8)}"
    assert machine(HEAD + f"n = 0\nwhile {test}:\n    n += 1\n{arm}").lines[:1] == ([12 - 1] if fails else [])


@pytest.mark.parametrize(
    ("begin", "fails"),
    [
        ("", True),
        ("if n == 1:\n        total = 0\n    ", False),
        ("if n % 32 == 1:\n        total = 0\n    ", False),
        ("if make('done'):\n        total = 0\n    ", False),
    ],
)
def test_what_is_carried_to_the_next_filling(machine: Machine, begin: str, fails: bool) -> None:
    """Turns between may begin it anew."""
    text = f"n, total = 0, 0\nfor x in make('loader'):\n    n += 1\n    {begin}if n < 32:\n        continue\n"
    text += "    total = total + net(x).mean()\n    total.backward()\n    n = 0\n"
    assert bool(machine(HEAD + text).lines) is fails


def test_a_list_that_is_given_away_empty_may_be_filled(machine: Machine) -> None:
    text = f"kept = []\nplay(kept)\nif len(kept) > 3:\n    x = kept\n    {TWICE.format(' ' * 4)}"
    assert machine(HEAD + text).lines == [10]


def test_a_list_that_is_given_away_full_stays_as_it_is(machine: Machine) -> None:
    text = f"kept = [1, 2]\nplay(kept)\nif len(kept) > 3:\n    x = kept\n    {TWICE.format(' ' * 4)}"
    assert machine(HEAD + text).lines == []


@pytest.mark.parametrize(
    ("rows", "fails"),
    [("make('rows')", True), ("[1, 2]", False), ("each([1, 2])", False), ("each(range(99))", True)],
)
def test_a_generator_that_gathers_yields_something_at_last(machine: Machine, rows: str, fails: bool) -> None:
    text = "def each(rows):\n    for row in rows:\n        yield row\ndef batches(rows):\n    kept = []\n    for row in rows:\n        kept.append(row)\n"
    text += "        if len(kept) == 64:\n            yield kept\n            kept = []\n"
    assert bool(machine(HEAD + f"{text}for x in batches({rows}):\n    {TWICE.format(' ' * 4)}").lines) is fails


def test_a_name_that_no_path_has_bound_is_bound_by_a_turn_that_was_not_run(machine: Machine) -> None:
    text = "for i in range(50):\n    if i == 20:\n        kept = make(i)\nx = kept\nif x is None:\n    pass\n"
    assert machine(HEAD + text + TWICE.format("")).lines == [12]


def test_a_toggle_is_no_counter(machine: Machine) -> None:
    text = "t = 0\nfor x in make('loader'):\n    if t == 0:\n        h = net(x)\n"
    assert machine(HEAD + text + "    h.sum().backward(retain_graph=t == 0)\n    t ^= 1\n").lines == []


def test_the_turns_between_two_arms_may_begin_anew(machine: Machine) -> None:
    text = (
        "n, h = 0, net(0)\nfor x in make('loader'):\n    n += 1\n    if n < 32:\n        h = net(x)\n        continue\n"
    )
    assert machine(HEAD + text + "    h.sum().backward()\n    n = 0\n").lines == []


GATHERED = """
from collections import defaultdict
import torch

def train(keys):
    found, weight = defaultdict(list), torch.ones(3, requires_grad=True)
    for key in keys:
        found[key].append(torch.ones(3))
    for key in keys:
        found[key] = torch.cat(found[key])
    loss = weight.exp().sum()
    loss.backward()
    loss.backward()
"""


def test_what_was_gathered_under_a_key_that_nobody_knows_is_there_for_another(machine: Machine) -> None:
    assert machine(GATHERED).lines == [13]


@pytest.mark.parametrize(
    ("test", "fails"),
    [("len(kept) >= 100", True), ("len(kept) < 100", False), ("len(kept) == 1000", True), ("len(kept) == 4", False)],
)
def test_a_list_is_as_long_as_the_loop_that_filled_it(machine: Machine, test: str, fails: bool) -> None:
    text = (
        f"kept = []\nfor i in range(1000):\n    kept.append(i)\nif {test}:\n    x = kept\n    {TWICE.format(' ' * 4)}"
    )
    assert bool(machine(HEAD + text).lines) is fails


@pytest.mark.parametrize("test", ["len(kept) == 1000", "len(kept) == 1001", "len(kept) < 1000"])
def test_a_list_that_has_grown_since_may_have_any_length(machine: Machine, test: str) -> None:
    text = f"kept = []\nfor i in range(1000):\n    kept.append(i)\nkept.append(1)\nif {test}:\n    x = kept\n"
    assert machine(HEAD + f"{text}    {TWICE.format(' ' * 4)}").lines == [12]


SORTED = "kept = [[] for _ in range(10)]\nfor x, label in make('rows'):\n    kept[label].append(x)\n"


def test_what_was_put_into_one_of_some_lists_may_be_in_any(machine: Machine) -> None:
    text = f"{SORTED}for i in range(10):\n    kept[i] = torch.cat(kept[i])\nx = kept\n{TWICE.format('')}"
    assert machine(HEAD + text).lines == [12]


@pytest.mark.parametrize("numbers", ["range(3)[::-1]", "range(5)[1:4]", "[range(3)[-1], 0, 1]"])
def test_what_is_made_for_numbers_that_are_taken_out_of_a_range(machine: Machine, numbers: str) -> None:
    text = f"import torch\nws = {{i: torch.ones(3, requires_grad=True) for i in {numbers}}}\n"
    text += "loss = sum(w.exp().sum() for w in ws.values())\nloss.backward()\nloss.backward()\n"
    assert machine(text).lines == [5]
