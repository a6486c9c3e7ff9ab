"""Puts every example of every rule before three judges: real torch, the reference core, and the linter.

All three have one signature: a program's text in, its Ruling out. A bad example fails at its marks and nowhere else;
its cured form and the good examples run in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from fixture_marks import failing, marks

from retainlint.commands.replay import replay
from retainlint.commands.run import run
from retainlint.diagnostic import Diagnostic
from retainlint.lowering import lower
from retainlint.rules import RULES, Rule, diagnose
from retainlint.rules.rule import Example
from retainlint.symbolic import explore
from retainlint.text.source import Source

SECOND_TIME = "Trying to backward through the graph a second time"
SENTENCES = {
    "RTL110": ("one of the variables needed for gradient computation has been modified by an inplace operation",),
    "RTL111": ("one of the variables needed for gradient computation has been modified by an inplace operation",),
    "RTL112": ("element 0 of tensors does not require grad and does not have a grad_fn",),
    "RTL116": ("is being modified inplace",),
    "RTL117": ("Inference tensors cannot be saved for backward",),
    "RTL113": ("leaf Variable that requires grad is being used in an in-place operation",),
    "RTL114": (
        "appears to not have been used in the graph",
        "One of the differentiated Tensors does not require grad",
    ),
    "RTL115": ("can't optimize a non-leaf Tensor",),
}
ERRORS = {"RTL115": "ValueError"}


@dataclass(frozen=True)
class Ruling:
    """Where a program raises (None if it runs), the error's class among built-in errors, and what it says."""

    line: int | None
    error: str | None
    sentence: str


Judge = Callable[[str, Path], Ruling]
RUNS = Ruling(None, None, "")


def ask_torch(program: str, folder: Path) -> Ruling:
    """Run the program with real torch, in a forked child."""
    pytest.importorskip("torch", reason="real torch is the judge here")
    from judge_torch import judge

    path = folder / "example.py"
    path.write_text(program, encoding="utf-8")
    verdict = judge(path)
    return Ruling(verdict.line, verdict.error, verdict.sentence or "")


def ask_core(program: str, folder: Path) -> Ruling:
    """Run the program on the reference core, which stands where `import torch` looks."""
    path = folder / "example.py"
    path.write_text(program, encoding="utf-8")
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as told:
        status = run(path, [])
    if status == 0:
        return RUNS
    traceback = told.getvalue()
    lines = re.findall(rf'File "{re.escape(str(path))}", line (\d+)', traceback)
    (error,) = re.findall(r"^(\w+Error): (.*)$", traceback, re.MULTILINE)
    return Ruling(int(lines[-1]), *error)


def ask_linter(program: str, folder: Path) -> Ruling:
    """Read the program without running it."""
    found = diagnostics(program)
    if not found:
        return RUNS
    assert len(found) == 1, [f"{d.code} on {d.primary.span}: {d.message}" for d in found]
    (core,) = (note for note in found[0].notes if note.startswith("core: "))
    return Ruling(found[0].primary.span.row, ERRORS.get(found[0].code, "RuntimeError"), core)


def diagnostics(program: str) -> list[Diagnostic]:
    """What the linter's own pipeline finds, from text to diagnostics."""
    return [diagnose(incident) for incident in explore(lower(Source("example.py", program))).incidents]


JUDGES = {"torch": ask_torch, "core": ask_core, "linter": ask_linter}


def _examples(kind: str) -> list[ParameterSet]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{example.title.replace(' ', '-')}")
        for rule in RULES
        if rule.code < "RTL200"  # what doesn't raise is judged by what it keeps, in test_waste_examples.py
        for example in getattr(rule, kind)
    ]


judged = pytest.mark.parametrize("judge", JUDGES.values(), ids=JUDGES.keys())
each_bad = pytest.mark.parametrize(("rule", "example"), _examples("bad"))
each_good = pytest.mark.parametrize(("rule", "example"), _examples("good"))


@judged
@each_bad
def test_bad_example_fails_at_its_mark(rule: Rule, example: Example, judge: Judge, tmp_path: Path) -> None:
    mark = failing(example.program)
    assert mark is not None
    ruling = judge(example.program, tmp_path)
    assert (ruling.line, ruling.error) == (mark.line, ERRORS.get(rule.code, "RuntimeError")), ruling.sentence
    assert any(words in ruling.sentence for words in SENTENCES.get(rule.code, (SECOND_TIME,)))


@judged
@each_bad
def test_cured_example_runs(rule: Rule, example: Example, judge: Judge, tmp_path: Path) -> None:
    assert example.fixed is not None
    assert judge(example.fixed, tmp_path) == RUNS


@judged
@each_good
def test_good_example_runs(rule: Rule, example: Example, judge: Judge, tmp_path: Path) -> None:
    assert judge(example.program, tmp_path) == RUNS


@each_bad
def test_linter_tells_the_story_that_the_marks_tell(rule: Rule, example: Example) -> None:
    (diagnostic,) = diagnostics(example.program)
    told = {label.span.row for label in diagnostic.labels if label.text}
    assert diagnostic.code == rule.code
    assert {mark.line for mark in marks(example.program)} <= told


@each_bad
def test_its_witness_raises_on_the_core(rule: Rule, example: Example, capsys: pytest.CaptureFixture[str]) -> None:
    (diagnostic,) = diagnostics(example.program)
    assert diagnostic.witness is not None
    assert replay(diagnostic.witness.script) == 1
    assert diagnostic.witness.error.partition(":")[0] in capsys.readouterr().err


@each_bad
def test_bad_example_is_marked_with_its_rule(rule: Rule, example: Example) -> None:
    mark = failing(example.program)
    assert mark is not None
    assert mark.code == rule.code
    roles = {mark.role for mark in marks(example.program)}
    if rule.code < "RTL110":
        assert roles == {"built", "freed", "reused"}
    elif rule.code in ("RTL110", "RTL111"):
        assert roles == {"built", "modified", "backward"}


@each_bad
def test_cure_is_unmarked_and_differs(rule: Rule, example: Example) -> None:
    assert example.fixed is not None
    assert marks(example.fixed) == []
    assert "#~" not in example.fixed
    plain = "\n".join(line.partition("  #~")[0] for line in example.program.splitlines())
    assert example.fixed.strip() != plain.strip()


@each_good
def test_good_example_is_unmarked(rule: Rule, example: Example) -> None:
    assert failing(example.program) is None
    assert example.fixed is None


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.code < "RTL900"], ids=lambda rule: rule.code)
def test_rule_shows_several_shapes(rule: Rule) -> None:
    assert len(rule.bad) >= 2
    assert len(rule.good) >= 2
