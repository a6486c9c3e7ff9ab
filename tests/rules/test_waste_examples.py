"""The examples of waste and misuse: the linter finds each at its mark and nowhere else, and torch and the core agree.

Waste is judged by what stays alive: tensors that graphs saved, and nodes, counted in both. Misuse by what comes of it.
"""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from fixture_marks import failing, marks
from rules.memory_kept import Alive, Variables, in_core, in_torch

from retainlint.diagnostic import Diagnostic, Severity
from retainlint.incident import Exploration, Kept
from retainlint.lowering import lower
from retainlint.rules import RULES, Rule, diagnose, rule
from retainlint.rules.rule import Example
from retainlint.symbolic import explore
from retainlint.text.source import Source

HAS_TORCH = importlib.util.find_spec("torch") is not None
Runner = Callable[..., Alive]
JUDGES = [
    pytest.param(in_torch, id="torch", marks=pytest.mark.skipif(not HAS_TORCH, reason="real torch is the judge here")),
    pytest.param(in_core, id="core"),
]
WARNING = [each for each in RULES if "RTL200" < each.code < "RTL900"]


def _examples(kind: str, family: str = "RTL") -> list[ParameterSet]:
    return [
        pytest.param(each, example, id=f"{each.code}-{example.title.replace(' ', '-')}")
        for each in WARNING
        if each.code.startswith(family)
        for example in getattr(each, kind)
    ]


def explored(program: str) -> Exploration:
    return explore(lower(Source("example.py", program)))


def told(program: str, own: str = "") -> list[Diagnostic]:
    """The findings of the rules that are on by default, and of the rule `own`."""
    found = explored(program)
    diagnostics = [diagnose(incident) for incident in (*found.incidents, *found.waste)]
    return [d for d in diagnostics if d.code == own or (known := rule(d.code)) is None or known.on_by_default]


@pytest.mark.parametrize(("each", "example"), _examples("bad"))
def test_bad_example_is_found_at_its_mark_and_its_cure_is_not(each: Rule, example: Example) -> None:
    mark = failing(example.program)
    assert mark is not None
    (found,) = told(example.program, each.code)
    severity = Severity.ERROR if each.code == "RTL302" else Severity.WARNING  # torch refuses the call
    assert (found.code, found.primary.span.row, found.severity) == (mark.code, mark.line, severity)
    assert {m.line for m in marks(example.program)} <= {label.span.row for label in found.labels}
    assert mark.role == ("wasted" if each.code < "RTL300" else "misused")
    assert example.fixed is not None
    assert told(example.fixed, each.code) == []


@pytest.mark.parametrize(("each", "example"), _examples("good"))
def test_good_example_is_silent(each: Rule, example: Example) -> None:
    assert marks(example.program) == []
    assert told(example.program, each.code) == []


@pytest.mark.parametrize("run", JUDGES)
@pytest.mark.parametrize(("each", "example"), _examples("good"))
def test_good_example_runs(each: Rule, example: Example, run: Runner) -> None:
    run(example.program)


@pytest.mark.parametrize("run", JUDGES)
@pytest.mark.parametrize(("each", "example"), _examples("bad", "RTL2"))
def test_wasteful_example_keeps_more_alive_than_its_cure(each: Rule, example: Example, run: Runner) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of RTL205 itself
        bad, cured = run(example.program), run(example.fixed)
    kept = [incident for incident in explored(example.program).waste if isinstance(incident, Kept)]
    if each.code == "RTL205":
        assert bad.left > cured.left == 0
    elif kept and not kept[0].alive:
        assert bad.saved == cured.saved
        assert bad.nodes >= cured.nodes + 15
    elif each.code == "RTL206":
        assert bad.saved > cured.saved == 0
    else:
        assert bad.saved > cured.saved
    if (kept and kept[0].alive) or each.code == "RTL202":
        assert bad.saved >= cured.saved + 15  # of each turn


def _variables(run: Runner, program: str) -> Variables:
    """The plain values and parameters that a program leaves."""
    found: Variables = {}

    def look(variables: Variables) -> None:
        for name, value in variables.items():
            if callable(getattr(value, "parameters", None)) and not isinstance(value, type):
                found[name] = [parameter.detach().tolist() for parameter in value.parameters()]
            elif hasattr(value, "requires_grad") and not isinstance(value, type | ModuleType):
                found[name] = value.detach().tolist()
            elif value is None or isinstance(value, (int, float, str)):
                found[name] = value

    run(program, look)
    return found


@pytest.mark.parametrize("run", JUDGES)
@pytest.mark.parametrize(("each", "example"), _examples("bad", "RTL301"))
def test_the_result_of_a_walk_is_none(each: Rule, example: Example, run: Runner) -> None:
    found = next(d for d in told(example.program) if d.code == each.code)
    target = found.labels[0].span.text
    assert _variables(run, example.program)[target] is None
    assert _variables(run, example.fixed or "")[target] is not None


@pytest.mark.parametrize("run", JUDGES)
@pytest.mark.parametrize(("each", "example"), _examples("bad", "RTL302"))
def test_the_unknown_argument_is_a_type_error(each: Rule, example: Example, run: Runner) -> None:
    (found,) = told(example.program)
    with pytest.raises(TypeError, match="got an unexpected keyword argument") as raised:
        run(example.program)
    name = re.findall(r"'(\w+)'", str(raised.value))[-1]
    assert f"'{name}'" in found.primary.text
    assert found.witness is not None
    with pytest.raises(TypeError, match=rf"got an unexpected keyword argument '{name}'"):
        run(found.witness.script)
    run(example.fixed)


TRIED = {
    "try:\n    loss.backward(retain_variables=True)\nexcept TypeError:\n    loss.backward(retain_graph=True)\n": [],
    "try:\n    loss.backward(retain_variables=True)\nexcept Exception:\n    pass\n": [],
    "try:\n    loss.backward(retain_variables=True)\nexcept KeyError:\n    pass\n": [Severity.ERROR],
    "def walk(loss):\n    loss.backward(retain_variables=True)\n": [Severity.WARNING],
    "torch.autograd.backward(loss, grad_variables=None)\n": [Severity.WARNING],
    "loss.backward(retain_variables=True)\ntry:\n    pass\nexcept TypeError:\n    pass\n": [Severity.ERROR],
}


@pytest.mark.parametrize("text", TRIED)
def test_an_unknown_argument_is_an_error_where_torch_surely_refuses_it(text: str) -> None:
    found = told(f"import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * w).sum()\n{text}")
    assert [each.severity for each in found if each.code == "RTL302"] == TRIED[text]


@pytest.mark.parametrize("run", JUDGES)
@pytest.mark.parametrize(("each", "example"), _examples("bad", "RTL303"))
def test_gradients_that_stay_change_what_is_learnt(each: Rule, example: Example, run: Runner) -> None:
    assert _variables(run, example.program) != _variables(run, example.fixed or "")


@pytest.mark.parametrize("run", JUDGES)
@pytest.mark.parametrize(("each", "example"), _examples("bad", "RTL304"))
def test_a_step_behind_zeroing_does_nothing(each: Rule, example: Example, run: Runner) -> None:
    bad = _weights(_variables(run, example.program))
    without = _weights(_variables(run, example.program.replace("optimizer.step()", "pass")))
    assert bad == without != _weights(_variables(run, example.fixed or ""))


def _weights(variables: Variables) -> Any:
    return variables.get("model", variables.get("w"))


@pytest.mark.parametrize("run", JUDGES)
@pytest.mark.parametrize(("each", "example"), _examples("bad", "RTL305"))
def test_a_dropped_detach_leaves_the_graph(each: Rule, example: Example, run: Runner) -> None:
    assert run(example.program).nodes > run(example.fixed).nodes == 0


@pytest.mark.parametrize("run", JUDGES)
@pytest.mark.parametrize(("each", "example"), _examples("bad", "RTL306"))
def test_a_variable_is_its_argument(each: Rule, example: Example, run: Runner) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bad, plain = (
            _variables(run, text)
            for text in (example.program, re.sub(r"Variable\((.+?\))[^()]*\)", r"\1", example.program))
        )
    assert bad == plain


FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "wastes"


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.py")), ids=lambda path: path.name)
def test_wasteful_program_is_told_of_at_its_marks(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = told(text)
    wanted = [(mark.code, mark.line) for mark in marks(text, path.name) if mark.code]
    assert sorted((d.code, d.primary.span.row) for d in found) == wanted
    others = {mark.line for mark in marks(text) if not mark.code}
    assert others <= {label.span.row for d in found for label in d.labels}


@pytest.mark.skipif(not HAS_TORCH, reason="real torch is the judge here")
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.py")), ids=lambda path: path.name)
def test_wasteful_program_runs(path: Path) -> None:
    from judge_torch import judge

    verdict = judge(path)
    assert not verdict.raises, verdict.sentence
    assert verdict.stdout.strip()


def test_what_is_kept_is_told_by_why_it_stays() -> None:
    """A graph that was walked and retained isn't told to be never walked; of a slice no number is wanted."""
    text = (
        "import torch\nnet = torch.nn.Linear(2, 3)\nkept, parts = [], []\nfor _ in range(9):\n    out = net(torch.rand(2, 2))\n"
        "    loss = out.exp().mean()\n    loss.backward(retain_graph=True)\n    kept.append(loss)\n    parts.append(out[:, :1])\n"
    )
    found = {each.primary.span.row: each for each in map(diagnose, explore(lower(Source("kept.py", text))).waste)}
    assert "is retained: all of it stays alive" in found[8].message
    assert "`loss.item()`" in found[8].help
    assert ".item()" not in found[9].help


def test_what_saved_tensors_stay_with_is_told() -> None:
    """What a rollout keeps dies with its list: nothing stays behind that, and nobody says so."""
    text = (
        "import torch\nnet = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Tanh())\ndef collect():\n    values = []\n"
        "    for _ in range(9):\n        values.append(net(torch.rand(2)))\n    return torch.stack(values).detach()\n"
        "collect()\nfor epoch in range(3):\n    total = 0.0\n    for _ in range(9):\n        total = total + net(torch.rand(2)).exp().sum()\n"
        "    print(float(total))\n"
    )
    found = {each.primary.span.row: each for each in map(diagnose, explore(lower(Source("kept.py", text))).waste)}
    assert found[6].message.endswith("all that it saved stays alive as long as `values` holds it")
    assert found[12].message.endswith("all that it saved stays alive as long as `total` holds it")
