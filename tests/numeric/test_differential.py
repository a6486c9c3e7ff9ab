"""Random programs, run under real torch and on the core; and verdicts that torch gave, for where it is missing."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numeric.differential import RECORD, difference, on_the_edge, pairs, run, same
from numeric.judges import core, torch_or_skip
from numeric.random_programs import Maker, Program, make


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program whose every choice hypothesis makes, so that it can shrink one that fails."""
    return Maker(lambda options: draw(st.sampled_from(options)), length=8).make()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_core_does_what_torch_does(program: Program) -> None:
    torch_or_skip()
    assert difference(program, *pairs()) is None


@pytest.mark.parametrize("start", range(0, 300, 100))
def test_core_does_what_torch_does_with_longer_programs(start: int) -> None:
    torch_or_skip()
    for seed in range(start, start + 100):
        program = make(seed, 16)
        found = difference(program, *pairs())
        assert found is None, f"seed {seed}\n{program.text}\n{found}"


def test_core_does_what_torch_recorded() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert len(record) >= 100
    judge = core()
    for entry in record:
        program = Program(entry["statements"], [], {k: tuple(v) for k, v in entry["shapes"].items()})
        found = run(judge.torch, judge.functional, program)
        assert same(json.loads(json.dumps(found.steps)), entry["steps"]), program
        assert same(json.loads(json.dumps(found.state)), entry["state"]), program


def test_numbers_that_rounding_decides_are_not_compared() -> None:
    """A sum that is 0 but for rounding: which sign it has depends on the order of summing."""
    real, ours = pairs()
    leaf = "a = torch.tensor([-1.5, 0.8, {}], dtype=torch.float64, requires_grad=True)"
    for last, excused in (("0.7", True), ("0.9", False)):
        tie = Program([leaf.format(last), "t1 = (a * 1.1).sum()", "t1.abs().backward()"], ["a"], {"a": (3,), "t1": ()})
        assert on_the_edge(tie, real, run(real.torch, real.functional, tie)) is excused
    largest = Program([leaf.format("0.8"), "a.max().backward()"], ["a"], {"a": (3,)})
    assert not on_the_edge(largest, real, run(real.torch, real.functional, largest))
    assert difference(largest, real, ours) is None


def test_a_difference_is_seen() -> None:
    """The comparison itself can fail: the core with another engine rule differs from itself."""
    program = make(5, 12)
    judge = core()
    trace = run(judge.torch, judge.functional, program)
    other = run(judge.torch, judge.functional, Program([*program.statements[:-1], "1 / 0"], [], program.shapes))
    assert not same(trace.steps, other.steps)
