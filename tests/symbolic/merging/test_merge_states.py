"""Joins: what a merged path has bound by some answers only is remembered as long as it can be read."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.lowering import lower
from retainlint.symbolic.merging import merge_states
from retainlint.symbolic.state.graphs import Graphs
from retainlint.symbolic.state.state import Base, State, Unbound
from retainlint.symbolic.state.values import Ref, Value
from retainlint.text.source import Source

HELPER = """
def helper(flag, x):
    if flag:
        size = 2
    x = x + 1
    if flag:
        x = x * size
    return x


def step(net, x, options):
    loss = net(x).mean()
"""
MANY = 30


def remembered(machine: Machine, calls: int, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Unbound, ...]]:
    """What each merged path remembered, in a function that calls the helper so often."""
    rows = "".join(f"    loss = helper(options.flag_{number}, loss)\n" for number in range(calls))
    found: list[tuple[Unbound, ...]] = []
    merged = merge_states.merged

    def noted(winner: State, other: State, its: merge_states.Known) -> tuple[Unbound, ...]:
        found.append(merged(winner, other, its))
        return found[-1]

    monkeypatch.setattr(merge_states, "merged", noted)
    machine(f"{HELPER}{rows}    loss.backward()\n")
    return found


def test_what_only_some_answers_bind_is_remembered(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(each.name == "size" for several in remembered(machine, 1, monkeypatch) for each in several)


def test_it_is_forgotten_with_the_call(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert max(map(len, remembered(machine, MANY, monkeypatch))) == max(map(len, remembered(machine, 1, monkeypatch)))


HOOKED = """
import torch


class Memory:
    def __init__(self):
        self.state = torch.zeros(3)

    def reset(self, grad):
        self.state = torch.zeros(3)


def train(options):
    memory = Memory()
    weight = torch.ones(3, requires_grad=True)
    for _ in range(3):
        memory.state = (memory.state + 1) * weight
        if options.careful():
            memory.state.register_hook(memory.reset)
        (memory.state * weight).sum().backward()
"""


def test_paths_with_and_without_a_hook_are_told_apart(machine: Machine) -> None:
    incident = machine(HOOKED).incident
    assert incident.primary.row == 20


FIRST, SECOND = Ref(1), Ref(2)


def paths(*answers: tuple[tuple[Ref, bool], ...]) -> list[State]:
    """Paths through one empty program, each by the answers that it has given."""
    module = lower(Source("main.py", "pass\n")).module
    start = State(Base())
    start.push(module, None, None)
    found = [start.fork() for _ in answers]
    for state, given in zip(found, answers, strict=True):
        for value, answer in given:
            state.assume(value, answer, module.span, answer)
    return found


def chosen(states: list[State]) -> list[list[tuple[Value, bool]]]:
    return [[(each.term, each.answer) for each in state.choices] for state in states]


@pytest.mark.parametrize("exact", [True, False])
def test_paths_of_all_answers_need_none(exact: bool) -> None:
    every = paths(*(((FIRST, a), (SECOND, b)) for a in (True, False) for b in (True, False)))
    assert chosen(merge_states.join(Graphs(), every, exact=exact)) == [[]]


def test_one_path_does_not_stand_for_another_that_asked_more() -> None:
    """Else what both do would be told under the answers of one."""
    asked = ((FIRST, True), (SECOND, False)), ((FIRST, False),)
    assert len(merge_states.join(Graphs(), paths(*asked), exact=True)) == 2
    assert len(merge_states.join(Graphs(), paths(*asked))) == 1


@pytest.mark.parametrize("condition", ["'_proj' in name", "part.weight.requires_grad", "name.kind == 3 and part.on"])
def test_lists_of_what_has_no_graph_are_alike_however_much_they_hold(machine: Machine, condition: str) -> None:
    """Also where a part of what they hold was asked something."""
    text = f"""
        def chosen(net):
            return [part for name, part in net.named_modules() if {condition}]

        def step(net, x):
            loss = net(x).mean()
            for part in chosen(net):
                part.weight.data.mul_(2)
            loss.backward()
            loss.backward()
    """
    (told,) = machine(text).diagnostics
    assert not told.notes or "happens if" not in " ".join(told.notes)


NOTHING = "torch.tensor(0.0)"


@pytest.mark.parametrize("loss", ["model.loss(x)", "other(x).mean()", "score(model, x)"])
@pytest.mark.parametrize(
    "body",
    [
        f"if model.kind == 1:\n        loss = {NOTHING}\n    else:\n        loss = {{loss}}\n    loss.backward()",
        f"loss = {{loss}} if x.numel() else {NOTHING}\n    loss.backward()",
        f"losses = []\n    for x in xs:\n        losses.append({{loss}} if x.numel() else {NOTHING})\n"
        "    for each in losses:\n        each.backward()",
        f"model.kept = {NOTHING}\n    if x.numel():\n        model.kept = {{loss}}\n    model.kept.backward()",
        f"parts = {{{{'a': {NOTHING}}}}}\n    if x.numel():\n        parts['a'] = {{loss}}\n    parts['a'].backward()",
    ],
)
def test_a_tensor_without_a_graph_stands_for_none_that_may_have_one(machine: Machine, body: str, loss: str) -> None:
    """It is the one or the other behind a join: nobody is told that there is surely none."""
    text = "import torch\nfrom lib import score\n\ndef step(model, other, x, xs):\n    " + body.format(loss=loss)
    assert machine(text).lines == []
