"""Every row of operations.py that the face has, judged by torch: walked twice, and after each in-place change."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from autograd.operation_cases import CASES, VALUES, Case
from numeric.differential import first_sentence
from numeric.judges import Judge, core, torch_or_skip

from retainlint.autograd.operations import rows

INNER = {
    "as_strided": "views of changed memory",
    "as_strided_scatter": "in-place changes of views",
    "index_put": "slice assignment",
    "copy_": "slice assignment",
    "fill_": "slice assignment",
    "zero_": "in-place changes",
    "threshold_backward": "double differentiation",
    "softplus_backward": "double differentiation",
    "pad_reflect_backward": "double differentiation",
    "avg_pool_backward": "double differentiation",
    "adaptive_pool_backward": "double differentiation",
}
"""Rows whose operations no script calls by name; the differential programs go through them."""


def outcome(judge: Judge, case: Case, needs: tuple[bool, ...], change: str) -> list[Any]:
    """What a program does that walks twice, or changes a tensor between forward and walk."""
    names: dict[str, Any] = {"torch": judge.torch, "F": judge.functional}
    for name, letter, need in zip("xyz", case.inputs, needs):
        leaf = judge.torch.tensor(VALUES[letter], dtype=judge.torch.float64, requires_grad=need)
        names[f"{name}_leaf"] = leaf
        names[name] = leaf + 0 if need else leaf
    names["out"] = eval(case.call, names)
    found: list[Any] = []
    for statement in (change, "out.sum().backward(retain_graph=True)") if change else ("out.sum().backward()",) * 2:
        try:
            exec(statement, names)
            found.append("runs")
        except RuntimeError as error:
            found.append(first_sentence(str(error)))
    return found


def every_way(case: Case) -> list[tuple[tuple[bool, ...], str]]:
    """Who needs a gradient, and what is changed."""
    ways = [needs for needs in itertools.product((True, False), repeat=len(case.inputs)) if any(needs)]
    names = "xyz"[: len(case.inputs)]
    changes = ["", *(f"{name}.detach().mul_(1.5)" for name in names), "out.detach().mul_(1.5)"]
    return list(itertools.product(ways, changes))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.row}: {case.call}")
def test_core_refuses_what_torch_refuses(case: Case) -> None:
    real, ours = torch_or_skip(), core()
    for needs, change in every_way(case):
        assert outcome(ours, case, needs, change) == outcome(real, case, needs, change), (needs, change)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.row}: {case.call}")
def test_second_walk_raises_where_the_row_saves(case: Case) -> None:
    """Without torch: the face follows the table."""
    row = rows()[case.row]
    leaves = iter(case.inputs)
    needs = tuple(name not in ("index", "mask", "condition", "keys*") and next(leaves, "") != "" for name in row.inputs)
    second = outcome(core(), case, (True,) * len(case.inputs), "")[1]
    if _node_of(case) == row.node:  # what is made of several nodes is judged by torch above
        assert ("second time" in second) == bool(row.saved(needs))


def _node_of(case: Case) -> str:
    judge = core()
    names: dict[str, Any] = {"torch": judge.torch, "F": judge.functional}
    for name, letter in zip("xyz", case.inputs):
        names[name] = judge.torch.tensor(VALUES[letter], dtype=judge.torch.float64, requires_grad=True)
    return str(eval(case.call, names).grad_fn.name())


def test_every_row_of_the_face_has_a_case() -> None:
    from retainlint.numeric.operations import registry

    core()
    assert set(registry.DEFINED) - {case.row for case in CASES} - set(INNER) == {"to"}
