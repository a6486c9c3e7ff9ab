"""Where the graph of a gradient leads: every operation's gradient is walked after its own graph was freed."""

from __future__ import annotations

import itertools
import traceback

import pytest
from autograd.operation_cases import CASES, VALUES, Case
from machine import Machine

HEAD = """import torch
import torch.nn.functional as F
from torch import nn
"""


def programs(case: Case) -> list[str]:
    """One for each input that may need a gradient alone, and for each where all do."""
    alone = [tuple(i == j for i in range(len(case.inputs))) for j in range(len(case.inputs))]
    found: list[str] = []
    for needs in dict.fromkeys([*alone, (True,) * len(case.inputs)]):
        leaves = "".join(
            f"{name} = torch.tensor({VALUES[letter]}, requires_grad={need})\n"
            for name, letter, need in zip("xyz", case.inputs, needs, strict=False)
        )
        for name in itertools.compress("xyz", needs):
            backward_passes = (
                f"(g,) = torch.autograd.grad(l, {name}, create_graph=True)\nl.backward()\ng.sum().backward()\n"
            )
            found.append(f"{HEAD}{leaves}l = ({case.call}).sum()\n{backward_passes}")
    return found


def raising_row(text: str) -> int | None:
    """The line that raises in torch."""
    try:
        exec(compile(text, "<program>", "exec"), {})
    except RuntimeError as error:
        return next(f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "<program>")
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.row}: {case.call}")
def test_a_gradients_graph_leads_where_torchs_does(machine: Machine, case: Case) -> None:
    pytest.importorskip("torch")
    for text in programs(case):
        rows = machine(text).lines
        assert rows[:1] == [row for row in [raising_row(text)] if row is not None], text
