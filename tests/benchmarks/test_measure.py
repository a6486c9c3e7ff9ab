"""What is counted as right, missed, false and further; and the search for the smallest program."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.truth.judging import Reading, Truth, kind_of
from benchmarks.truth.program import Generated
from benchmarks.truth.score import Result, Tally

PROGRAM = Generated("p", "", (), frozenset({"loop"}), frozenset({"exp"}))


def result(torch: list[int], linter: list[int], mistake: str = "", unreached: list[int] | None = None) -> Result:
    truth = Truth(dict.fromkeys(torch, "freed"), mistake)
    return Result(PROGRAM, truth, Reading(dict.fromkeys(linter, "freed"), (), 1, 0.01), frozenset(unreached or []))


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (result([], []), "right"),
        (result([3], [3]), "right"),
        (result([3], [3, 9]), "right"),
        (result([3, 5], [3]), "wrong line"),
        (result([3], [4]), "miss"),
        (result([3], []), "miss"),
        (result([], [4]), "false alarm"),
        (result([], [4], unreached=[4]), "right"),
        (result([], [4], mistake="7: TypeError"), "mistake"),
    ],
)
def test_verdict(one: Result, verdict: str) -> None:
    assert one.verdict == verdict


def test_tally() -> None:
    tally = Tally()
    for one in (result([3], [3, 9]), result([3, 5], [3]), result([], [4]), result([3], []), result([1], [], "x")):
        tally.add(one)
    assert (tally.judged, tally.raising, tally.found, tally.exact) == (4, 3, 2, 1)
    assert (tally.lines, tally.lines_found, tally.false, tally.further) == (4, 2, 1, 1)
    assert "recall      2/3 = 66.67%" in tally.table()
    assert "precision   2/3 = 66.67%" in tally.table()


def test_kinds() -> None:
    assert kind_of("RuntimeError", "Trying to backward through the graph a second time (or directly access") == "freed"
    assert kind_of("RuntimeError", "mat1 and mat2 shapes cannot be multiplied") is None
    assert kind_of("TypeError", "Trying to backward through the graph a second time") is None


def test_flags_and_lines_that_never_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from benchmarks.truth.judging import ask_torch, reached

    text = (
        'import os, torch\nFLAG_A = bool(int(os.environ.get("FLAG_A", "0")))\n'
        "w = torch.ones(3, requires_grad=True)\nloss = w.exp().sum()\nloss.backward(retain_graph=FLAG_A)\n"
        "loss.backward()\nif FLAG_A:\n    loss.backward()\nif not FLAG_A:\n    print('never')\n"
    )
    program = Generated("flags", text, ("FLAG_A",), frozenset(), frozenset())
    assert ask_torch(program, tmp_path).lines == {6: "freed", 8: "freed"}
    assert reached(program, 8, tmp_path)
    assert not reached(program, 10, tmp_path)


def test_shrinking_keeps_the_symptom(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from benchmarks.truth.shrink import Shrinker

    class Blind(Shrinker):
        """Compares with a linter that sees nothing."""

        def judge(self, text: str) -> Result:
            found = super().judge(text)
            return Result(found.program, found.truth, Reading({}, (), 0, 0.0))

    text = (
        "import torch\nx = torch.randn(3)\nw = torch.ones(3, requires_grad=True)\nfor i in range(2):\n    h = w + 1\n"
        "loss = w.exp().sum()\nprint(x)\nif x is not None:\n    loss.backward()\nloss.backward()\n"
    )
    small = Blind("p", tmp_path).shrink(text)
    assert small.count("\n") <= 5
    assert small.count("loss.backward()") == 2
