"""A graph's life out of a witness: what is built, run, freed and changed on the reference core, in the program's words."""

from __future__ import annotations

import pytest

from retainlint import check_source
from retainlint.commands.lives import life_of
from retainlint.incident import Said, Witness
from retainlint.report.graph_life import Life, State

HEAD = "import torch\nw = torch.ones(3, requires_grad=True)\n"


def life(text: str) -> Life:
    (found,) = (each for each in check_source(HEAD + text, "m.py", isolated=True) if each.witness is not None)
    assert found.witness is not None
    told = life_of(found.witness)
    assert told is not None
    return told


def words(told: Life) -> list[str]:
    return [step.words for step in told.steps]


def test_a_graph_is_built_freed_and_needed_again() -> None:
    told = life("y = w * w\na = y.sum()\nb = y.exp().sum()\na.backward()\nb.backward()\n")
    assert words(told) == [
        "`w * w` (m.py:3) builds MulBackward0, which saves its inputs",
        "`y.sum()` (m.py:4) builds a node that saves nothing",
        "`y.exp()` (m.py:5) builds a node that saves its result",
        "`y.exp().sum()` (m.py:5) builds a node that saves nothing",
        "backward pass 1 begins: `a.backward()` (m.py:6) frees what it passes",
        "pass 1 runs `y.sum()`",
        "pass 1 runs `w * w`, and frees its inputs",
        "backward pass 2 begins: `b.backward()` (m.py:7) frees what it passes",
        "pass 2 runs `y.exp().sum()`",
        "pass 2 runs `y.exp()`, and frees its result",
        "pass 2 comes to `w * w`: MulBackward0 needs its inputs, which pass 1 freed",
    ]
    assert [node.inputs for node in told.nodes] == [(), (0,), (0,), (2,)]
    assert ["".join(state.value for state in step.states) for step in told.steps][4:] == [
        "bbbb", "brbb", "rpbb", "fpbb", "fpbr", "fprp", "xpfp",
    ]  # fmt: skip
    assert told.steps[-1].arrows == ((2, 0),), "along which the failing pass came"


def test_a_change_in_place_is_told_where_it_happens() -> None:
    told = life("y = w.exp()\ny += 1\ny.sum().backward()\n")
    assert words(told)[-5:] == [
        "`y += 1` (m.py:4) changes a tensor in place",
        "backward pass 1 begins: `y.sum().backward()` (m.py:5) frees what it passes",
        "pass 1 runs `y.sum()`",
        "pass 1 runs `y += 1`",
        "pass 1 comes to `w.exp()`: ExpBackward0 needs its result as before the change",
    ]
    assert told.steps[-1].states[0] is State.FAILED


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y = w.detach().sum()\ny.backward()\n", ["`w.detach()` (m.py:3) cuts the graph", "`y.backward()` (m.py:4) finds no graph, and raises"]),
        ("w += 1\n", ["`torch.ones(3, requires_grad=True)` (m.py:2) makes a tensor that requires grad",
                      "`w += 1` (m.py:3) changes a leaf that requires grad in place, and raises"]),
    ],
)  # fmt: skip
def test_what_has_no_graph_has_a_short_life(text: str, said: list[str]) -> None:
    assert words(life(text)) == said


def test_many_operations_in_a_row_are_one() -> None:
    told = life("y = w * w\ny.sum().backward()\nz = y.sin().cos().tanh().exp().sum()\nz.backward()\n")
    assert [node.text for node in told.nodes].count("4 operations") == 1
    assert "pass 2 runs 4 operations, and frees what they saved" in words(told)


@pytest.mark.parametrize("script", ["import os\n", "t0 = 1\n", "x = (\n", "t0 = t1\n", "", "t0 = 9 ** 9 ** 9\n", "t0 = sum(1 for x in y)\n",
    "def saving(*x):\n    return 9 ** 9 ** 9\n\n\nt0 = torch.ones(99999, 99999)\n"])  # fmt: skip
def test_what_is_no_witness_has_none(script: str) -> None:
    assert life_of(Witness((), script, "", "N", (Said(),))) is None
