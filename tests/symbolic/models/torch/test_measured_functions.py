"""Torch's functions by name: the rows that stand for them save where torch was seen to save."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retainlint.autograd.saves import rows
from retainlint.symbolic.models.torch import names

CALLS: dict[str, tuple[int, int]] = json.loads((Path(__file__).parent / "calls.json").read_text(encoding="utf-8"))
"""Which way of calling a function suits it: the number of a start, and that of a call, in `measure_torch`."""

NAMES = names.MEASURED_ONE | names.MEASURED_TWO | names.MEASURED_MORE
UNTRIED = set(NAMES) - set(CALLS)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_row_saves_where_torch_saves(name: str) -> None:
    pytest.importorskip("torch")
    from symbolic.models.torch import measure_torch

    function = measure_torch.found(name)
    if function is None:
        pytest.skip("this torch has no such function")
    seen = measure_torch.measure(function, *CALLS[name])
    assert seen is not None and seen.differentiable
    assert seen.saves == bool(rows()[NAMES[name]].slots)


def test_nearly_every_name_was_tried() -> None:
    assert len(UNTRIED) < 0.1 * len(NAMES)


def test_no_name_stands_twice() -> None:
    tables = (names.MEASURED_ONE, names.MEASURED_TWO, names.MEASURED_MORE)
    assert sum(map(len, tables)) == len(NAMES)
    assert not (set(NAMES) & names.CUTS)


def test_functions_of_several_results_are_rows() -> None:
    assert set(names.RESULTS) <= set(NAMES)
