"""A script in which a loop of a known length was cut short is run once more, with all iterations along few paths."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.incident import Exploration
from retainlint.symbolic.exploration import unrolled
from retainlint.symbolic.state import limits
from retainlint.text.source import Span

HEAD = """\
import torch
w = torch.ones(3, requires_grad=True)
"""


def _window(size: int, interval: int) -> str:
    return HEAD + (
        "from collections import deque\n"
        f"recent = deque(maxlen={size})\n"
        "for step in range(1, 61):\n"
        "    recent.append((w * step).exp())\n"
        f"    if step % {interval} == 0 and len(recent) == recent.maxlen:\n"
        "        torch.stack(list(recent)).sum().backward()\n"
    )


@pytest.mark.parametrize("size, interval, lines", [(20, 16, [8]), (16, 16, []), (16, 20, [])])
def test_what_fails_only_in_a_later_iteration(machine: Machine, size: int, interval: int, lines: list[int]) -> None:
    assert machine(_window(size, interval)).lines == lines


def test_it_is_told_in_which_iterations(machine: Machine) -> None:
    (told,) = machine(_window(20, 16)).diagnostics
    assert "iteration 48" in str(told.primary)


FADING = """
parts = [torch.ones(2, requires_grad=True) for _ in range(3)]
for step in range(12):
    progress = (step + 1) / 4
    active = [part for k, part in enumerate(parts) if progress - k + 1 > 0]
    loss = torch.zeros(2)
    for k, part in enumerate(parts):
        if progress - k + 1 <= {bound}:
            break
        loss = loss + part.sin()
    torch.autograd.grad(loss.sum(), active)
"""


@pytest.mark.parametrize("bound, lines", [(0, []), (1, [13])])
def test_what_cannot_fail_on_the_only_way_is_not_told(machine: Machine, bound: int, lines: list[int]) -> None:
    assert machine(HEAD + FADING.format(bound=bound)).lines == lines


GATHERED = """
pending = []
for step in range(60):
    pending.append((w * step).exp().sum())
    if len(pending) == 9:
        torch.stack(pending).sum().backward()
        pending.clear()
"""
KEPT = """
kept = []
for step in range(60):
    loss = (w * step).exp().sum()
    loss.backward()
    kept.append(loss)
"""


@pytest.mark.parametrize("text, wasted", [(GATHERED, []), (KEPT, [8])])
def test_what_is_freed_in_the_end_was_not_kept(machine: Machine, text: str, wasted: list[int]) -> None:
    assert machine(HEAD + text).wasted == wasted


def _unrolled(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The scripts that were run once more, each with whether it took the only way."""
    found: list[bool] = []
    run = unrolled.run

    def noting(*arguments: object) -> tuple[bool, frozenset[Span]]:
        is_only, often = run(*arguments)  # type: ignore[arg-type]
        found.append(is_only)
        return is_only, often

    monkeypatch.setattr(unrolled, "run", noting)
    return found


@pytest.mark.parametrize(
    "text, runs",
    [
        ("for n in range(4):\n    (w * n).exp().sum().backward()\n", []),
        ("for n in range(40):\n    (w * n).exp().sum().backward()\n", []),  # one as the other
        ("for n in range(40):\n    m.append(n)\n    if len(m) > 9:\n        w.exp().sum().backward()\n", [True]),
        (
            f"for n in range({limits.UNROLLED_ITERATIONS + 1}):\n    m.append(n)\n"
            "    if len(m) > 9:\n        w.exp().sum().backward()\n",
            [False],
        ),
        ("for n in range(int(input())):\n    (w * n).exp().sum().backward()\n", []),
        ("n = 0\nwhile n < 40:\n    n += 1\n    (w * n).exp().sum().backward()\n", [True]),
        ("def f():\n    for n in range(40):\n        (w * n).exp().sum().backward()\n", []),
        (
            "for n in range(40):\n    m.append(n)\n    if len(m) > 9 and f(n):\n        w.exp().sum().backward()\n",
            [False],
        ),
    ],
)
def test_a_script_is_run_once_more_where_that_may_tell_more(
    machine: Machine, text: str, runs: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _unrolled(monkeypatch)
    machine(f"{HEAD}m = []\n{text}")
    assert found == runs


def test_of_a_very_long_loop_the_first_iterations_are_run(machine: Machine) -> None:
    text = _window(20, 16).replace("range(1, 61)", "range(1, 100_000)")
    assert machine(text).lines == [8]


def test_it_takes_few_steps(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNROLLED_STEPS", 300)
    sampled = machine(_window(20, 16)).steps
    assert machine(_window(20, 16)).lines == []
    monkeypatch.setattr(limits, "UNROLLED_STEPS", 30_000)
    told = machine(_window(20, 16))
    assert told.lines == [8]
    assert told.steps < sampled + 5_000  # it ends where it fails a second time


def _asking(count: int) -> str:
    asked = "".join(f"if f({n}):\n    w = w.sin()\n" for n in range(count))
    return HEAD + asked + _window(20, 16)[len(HEAD) :]


def test_it_ends_where_a_path_has_chosen_more_than_is_told(machine: Machine) -> None:
    assert machine(_asking(2)).lines
    assert not machine(_asking(limits.CONDITIONS_TOLD + 6)).lines


def test_a_function_of_another_module_that_was_given_up_is_followed(machine: Machine) -> None:
    gate = "class Gate:\n    def __init__(self):\n        self.value = 2.0\n    def step(self):\n"
    slow = (
        gate + "        n = 0\n" + "        n = n + 1\n" * limits.IMPORTED_STEPS_OF_PLAIN + "        self.value = 0.0\n"
    )
    text = """
        import torch
        from gate import Gate
        w, gate = torch.ones(3, requires_grad=True), Gate()
        for _ in range(3):
            loss = w.exp().sum() if gate.value else torch.zeros(())
            loss.backward()
            gate.step()
    """
    assert machine(text, gate=slow).lines == [7]


OPTIONS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--window", type=int, default=20)
parser.add_argument("--every", type=int, default={every})
parser.add_argument("--mode", default="long")
args = parser.parse_args()
recent = []
for step in range(1, args.steps + 1):
    recent.append(((w if args.mode == "long" else w.detach()) * step).exp())
    recent = recent[-args.window:]
    if step % args.every == 0:
        torch.stack(recent).sum().backward()
"""


@pytest.mark.parametrize("every, failures", [(16, [(16, "RTL104")]), (20, [])])
def test_options_are_as_they_are_where_nobody_gives_them(
    machine: Machine, every: int, failures: list[tuple[int, str]]
) -> None:
    told = machine(HEAD + OPTIONS.format(every=every))
    by_default = [each for each in told.incidents if not any(one.chooses for one in each.conditions)]
    assert all(not each.conditions for each in by_default)
    assert [each for each in told.failures if each[1] != "RTL112"] == failures
    assert (16, "RTL112") in told.failures  # by another mode


@pytest.mark.parametrize("is_only, followed", [(True, {("a.py", "f"), ("b.py", "g")}), (False, {("a.py", "f")})])
def test_what_the_only_way_follows_is_not_run_for_itself(is_only: bool, followed: set[tuple[str, str]]) -> None:
    sampled = Exploration((), (), followed=frozenset({("a.py", "f")}))
    whole = Exploration((), (), followed=frozenset({("b.py", "g")}))
    assert unrolled.merged(sampled, whole, is_only, ()).followed == followed
