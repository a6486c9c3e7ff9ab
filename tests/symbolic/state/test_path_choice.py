"""Where there are too many paths, those that are followed take every answer and every pair of answers."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import pytest
from machine import Machine

from retainlint.checking import linter
from retainlint.commands.configuring import configured, requested
from retainlint.diagnostic import Severity
from retainlint.incident import Condition
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.path_choice import BEYOND, OWN, Chooser
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Symbol
from retainlint.text.source import Source, Span

SOURCE = Source("flags.py", "x" * 99)
PLACE = Span(SOURCE, 0, 1)
FLAGS = 8


def path(answers: tuple[bool, ...]) -> State:
    """A state that has answered one question after the other."""
    state = State()
    for number, answer in enumerate(answers):
        state.assume(Symbol(number), answer, Span(SOURCE, number, number + 1), answer)
    return state


def answered(state: State) -> set[Condition]:
    return {choice.condition for choice in state.choices}


def test_few_paths_take_every_pair_of_answers() -> None:
    states = [path(answers) for answers in product((True, False), repeat=FLAGS)]
    kept, whole = Chooser().few(states, OWN.widest, PLACE)
    assert whole
    assert len(kept) <= OWN.widest
    pairs = {pair for state in kept for pair in combinations(sorted(answered(state), key=place), 2)}
    assert len(pairs) == 4 * FLAGS * (FLAGS - 1) // 2


def place(condition: Condition) -> tuple[int, bool]:
    return condition.span.start, condition.taken


def test_where_one_may_go_on_siblings_go_different_ways() -> None:
    chooser = Chooser()
    ways = [(True,), (False,)]
    first, second = (chooser.few([path(way) for way in ways], 1, PLACE)[0][0] for _ in range(2))
    assert answered(first) != answered(second)


def test_the_way_by_default_goes_first() -> None:
    """Two paths take both answers to each question, and neither of them need be the one that the program goes."""
    states = [path(way) for way in product((True, False), repeat=2)]
    chooser = Chooser()
    assert states[-1] not in Chooser().few(states, 1, PLACE)[0]
    assert chooser.few(states, 1, PLACE, 3)[0] == [states[-1]]
    assert chooser.few(states, 1, PLACE, 3)[0] != [states[-1]], "then others are tried"


TRAINING = """
class Keeping:
    def walk(self, loss):
        loss.backward(retain_graph=True)

class Plain(Keeping):
    def walk(self, loss):
        loss.backward()

def train(one, other, loss):
    one.walk(loss)
    other.walk(loss)
"""

OPTIONS = """
import argparse
import torch
from training import Keeping, Plain, train
parser = argparse.ArgumentParser()
parser.add_argument("--first", default="plain")
parser.add_argument("--second", default="plain")
args = parser.parse_args()

def make(kind):
    if kind == "keeping":
        return Keeping()
    return Plain()

w = torch.ones(3, requires_grad=True)
train(make(args.first), make(args.second), (w * w).sum())
"""


def test_what_fails_by_default_needs_no_option(tmp_path: Path) -> None:
    """Of a program that leads to a backward pass elsewhere, only two paths are followed."""
    (tmp_path / "training.py").write_text(TRAINING)
    (tmp_path / "main.py").write_text(OPTIONS)
    (found,) = linter.check([str(tmp_path)], configured(requested({"select": ["RTL1"]}, isolated=True))).diagnostics
    assert found.severity is Severity.ERROR
    assert not any("not by default" in note or "at one time" in note for note in found.notes)


def test_the_choice_is_the_same_each_time() -> None:
    states = [path(answers) for answers in product((True, False), repeat=FLAGS)]
    first, second = (Chooser().few(states, OWN.widest, PLACE)[0] for _ in range(2))
    assert [states.index(each) for each in first] == [states.index(each) for each in second]


def test_who_waits_beside_takes_room() -> None:
    chooser = Chooser()
    rooms = []
    for chooser.beside in (1, 2, OWN.widest, OWN.widest + 1, 1000):
        rooms.append(chooser.room(0))
    assert rooms == sorted(rooms, reverse=True) and rooms[0] == OWN.widest and rooms[-1] == 1


def test_who_has_spent_much_follows_few() -> None:
    rooms = [Chooser().room(spent) for spent in (0, 0.4, 0.6, 0.9)]
    assert rooms == sorted(rooms, reverse=True) and rooms[0] == OWN.widest and 1 < rooms[-1] < OWN.widest / 2


def test_a_program_that_only_leads_to_a_walk_follows_few() -> None:
    chooser = Chooser()
    chooser.breadth = BEYOND
    states = [path(answers) for answers in product((True, False), repeat=FLAGS)]
    kept, _ = chooser.few(states, chooser.room(0), PLACE)
    assert len(kept) == BEYOND.widest
    assert len(frozenset[Condition]().union(*map(answered, kept))) == 2 * FLAGS  # either answer to each condition


def of_options(condition: str) -> str:
    """A program of many options, each of which leaves its mark on the state; two make it fail."""
    marks = "".join(
        f"    if options.flag{n}:\n        y{n} = x.exp() * {n}\n    else:\n        y{n} = model(x).sin()\n"
        for n in range(FLAGS)
    )
    total = " + ".join(f"y{n}" for n in range(FLAGS))
    return (
        f"import torch\nmodel = torch.nn.Linear(2, 2)\ndef train(x, options):\n    loss = model(x).pow(2).sum()\n{marks}"
        f"    loss.backward()\n    if {condition}:\n        loss.backward()\n    return {total}\n"
    )


@pytest.mark.parametrize("pair", [(0, 1), (0, 7), (1, 5), (2, 3), (3, 6), (4, 5), (6, 7)], ids=str)
def test_what_any_two_of_many_options_break_is_found(machine: Machine, pair: tuple[int, int]) -> None:
    one, other = pair
    found = machine(of_options(f"options.flag{one} and not options.flag{other}"))
    assert found.lines == [4 + 4 * FLAGS + 3]
    assert found.says("too many combinations")


def test_what_no_option_breaks_stays_silent(machine: Machine) -> None:
    assert machine(of_options("options.flag0 and not options.flag0")).incidents == ()


def test_a_body_that_only_defines_things_is_followed_in_few_ways(machine: Machine) -> None:
    adding = "def add(name):\n    if name in flags:\n        kept.append(torch.nn.Linear(2, 2))\n"
    registered = "".join(f"add('{n}')\n" for n in range(250))
    walked_twice = (
        "def train(x):\n    loss = torch.nn.Linear(2, 2)(x).sum()\n    loss.backward()\n    loss.backward()\n"
    )
    text = f"import torch\nfrom elsewhere import flags\nkept = []\n{adding}{registered}{walked_twice}"
    found = machine(text)
    assert found.steps < 2 * limits.DEFINING_STEPS
    assert found.lines == [text.count("\n")]
