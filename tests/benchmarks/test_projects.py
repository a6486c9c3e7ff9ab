"""The second generator: the same project from the same seed, valid, with every kind of part, seldom mistaken."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.truth.projects.actions import Make, Method, Plan, Walk
from benchmarks.truth.projects.foresee import outcome
from benchmarks.truth.projects.project import generate

MANY = 250
PARTS = {
    "entry: script", "entry: guarded", "entry: spawn", "entry: process", "entry: partial", "entry: environment",
    "entry: argparse", "entry: flags", "entry: function", "entry: library", "entry: steps", "field: self", "field: state",
    "field: record", "field: other", "field: local", "field: property", "network: plain", "network: recurrent",
    "network: buffered", "network: cached", "network: penalised", "gathered: list", "gathered: deque", "gathered: dict",
    "gathered: named", "gathered: memory", "method: base", "method: split", "method: callback", "method: function",
    "method: context", "method: yields", "returned: tuple", "returned: dict", "returned: named", "returned: record",
    "base class", "networks passed", "an object a step", "made in init", "several files", "at the end",
    "flags from outside", "flags known", "statement: branch", "statement: call", "statement: loop", "statement: try",
}  # fmt: skip


def test_projects_are_python_and_hold_everything() -> None:
    tags: set[str] = set()
    for number in range(MANY):
        project = generate(f"parts.{number}")
        assert project == generate(f"parts.{number}")
        for text in (*project.files.values(), *project.drivers, *project.again):
            ast.parse(text)
        tags |= project.tags
    assert tags >= PARTS


def test_what_a_plan_comes_to_is_foreseen() -> None:
    """A graph that `__init__` made is walked in each of three turns."""
    plan = Plan(begun={"loss": Make("loss", "", (), ("w",), True)}, top=("learn",))
    for keep, comes_to in (("", "raise"), ("retain_graph=True", "meet")):
        plan.methods["learn"] = Method("learn", (Walk(("loss",), "sum", keep),))
        assert outcome(plan) == comes_to


def test_torch_finds_few_mistakes_and_enough_failures(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from benchmarks.truth.projects.judging import ask_torch, write

    projects = [generate(f"small.{number}") for number in range(40)]
    truths = [ask_torch(project, write(project, tmp_path)) for project in projects]
    assert sum(bool(truth.mistake) for truth in truths) <= 2
    assert 12 <= sum(bool(truth.lines) for truth in truths) <= 30
