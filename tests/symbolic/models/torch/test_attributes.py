"""What a tensor tells about itself: what no usual tensor is, and what can't be known."""

from __future__ import annotations

import warnings

import pytest
from machine import Machine

from retainlint.symbolic.models.torch import names

TWICE = """import torch
w = torch.rand(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
{0}
"""
BRANCH = TWICE.format("if {0}:\n    loss.backward()\nelse:\n    (w * 2).sum().backward()")


def _lines(machine: Machine, condition: str) -> list[int]:
    return machine(BRANCH.format(condition)).lines


@pytest.mark.parametrize("tensor", ["w", "w.grad", "w.detach()", "loss", "torch.zeros(3)"])
@pytest.mark.parametrize("name", sorted(names.LACKED))
def test_a_usual_tensor_is_nothing_else(machine: Machine, tensor: str, name: str) -> None:
    assert _lines(machine, f"{tensor}.{name}") == []
    assert _lines(machine, f"not {tensor}.{name}") == [6]


@pytest.mark.parametrize("name", sorted(names.TOLD - {"retains_grad", "ndim"}))
def test_what_is_not_known_has_both_answers(machine: Machine, name: str) -> None:
    assert _lines(machine, f"torch.zeros(3).{name}") == _lines(machine, f"not torch.zeros(3).{name}") == [6]


@pytest.mark.parametrize("asked", ["w.dtype == torch.float32", "loss.shape", "w.nbytes < 2", "loss.is_contiguous()"])
def test_what_a_tensor_with_a_graph_is_like_is_not_guessed(machine: Machine, asked: str) -> None:
    is_alike = "==" in asked  # as a program expects of it
    assert (_lines(machine, asked), _lines(machine, f"not ({asked})")) == ([6] * is_alike, [])
    assert machine(TWICE.format(f"if {asked}:\n    pass\nloss.backward()")).lines == [7]


@pytest.mark.parametrize("asked", ["w.ndim < 2", "len(w.shape) == 1", "w.dim() < 2"])
def test_how_many_dimensions_a_tensor_has_is_known(machine: Machine, asked: str) -> None:
    assert (_lines(machine, asked), _lines(machine, f"not ({asked})")) == ([6], [])


def test_a_sparse_tensor_is_one(machine: Machine) -> None:
    made = "torch.sparse_coo_tensor([[0]], [1.0], (2,))"
    assert (_lines(machine, f"{made}.is_sparse"), _lines(machine, f"not {made}.is_sparse")) == ([6], [])


@pytest.mark.parametrize(("asked", "lines"), [("", []), ("loss.retain_grad()", [9])])
def test_a_gradient_is_retained_where_that_was_asked_for(machine: Machine, asked: str, lines: list[int]) -> None:
    assert machine(TWICE.format(f"h = w * 2\n{asked}\nif loss.retains_grad:\n\n    loss.backward()")).lines == lines


@pytest.mark.parametrize("answer", ["False", "True"])
def test_what_a_program_puts_on_a_tensor_may_be_anything(machine: Machine, answer: str) -> None:
    condition = "not w.of_mine" if answer == "False" else "w.of_mine"
    assert machine(TWICE.format(f"w.of_mine = {answer}\nif {condition}:\n    loss.backward()")).lines == [7]


def test_all_that_tensors_answer_with_yes_or_no_is_known() -> None:
    torch = pytest.importorskip("torch", reason="its tensors are asked")
    unknown, tensor = set(), torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dir(torch.Tensor):
            try:
                answer = getattr(tensor, name)
            except (AttributeError, RuntimeError):  # what only other tensors have
                continue
            known = name in names.LACKED or name in names.TOLD or name in ("requires_grad", "is_leaf")
            assert name not in names.LACKED or answer is False
            if isinstance(answer, bool) and not known:
                unknown.add(name)
    assert not unknown
