"""The generator itself: the same program from the same seed, valid, with every row and construct, seldom mistaken."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.truth.program import FLAGS, generate
from benchmarks.truth.score import every_row

ROOT = Path(__file__).resolve().parents[2]
MANY = 600
CONSTRUCTS = {
    "loop", "nested loop", "while", "enumerate", "zip", "reversed", "break or continue", "loop else", "branch",
    "conditional value", "is None", "early return", "match", "helper", "closure", "nonlocal", "global", "lambda",
    "default argument", "recursion", "decorator", "star arguments", "procedure", "nn.Module", "Sequential",
    "state in forward", "trainer class", "method", "property", "inheritance", "built in init", "carried", "alias",
    "rebinding", "unpacking", "del", "cut", "list of losses", "dict of losses", "comprehension", "generator", "deque",
    "loop over losses", "retain by flag", "retain by turn", "create_graph", "autograd.grad", "allow_unused",
    "backward inputs", "several roots", "root with a gradient", "no_grad", "no_grad decorator", "grad mode", "in place",
    "view changed", "shared memory", "step", "step between walks", "update by hand", "try", "context manager",
    "dataclass", "named tuple", "dict state", "list state", "checkpoint", "autograd.Function", "frozen", "walrus",
}  # fmt: skip


def test_the_same_seed_gives_the_same_program_in_another_process() -> None:
    code = "from benchmarks.truth.program import generate; print(generate('5.1').text, end='')"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == generate("5.1").text
    assert generate("5.1").text != generate("5.2").text


def test_programs_are_python_and_hold_everything() -> None:
    rows: set[str] = set()
    tags: set[str] = set()
    for number in range(MANY):
        program = generate(f"rows.{number}")
        ast.parse(program.text)
        assert set(program.flags) == {flag for flag in FLAGS if f'environ.get("{flag}"' in program.text}
        rows |= program.rows
        tags |= program.tags
    assert rows == every_row()
    assert tags >= CONSTRUCTS


def test_torch_finds_few_mistakes_and_enough_failures(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from benchmarks.truth.judging import ask_torch

    truths = [ask_torch(generate(f"small.{number}"), tmp_path) for number in range(60)]
    assert sum(bool(truth.mistake) for truth in truths) <= 2
    assert 15 <= sum(bool(truth.lines) for truth in truths) <= 45
