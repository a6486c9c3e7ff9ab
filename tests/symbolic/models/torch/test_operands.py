"""Which arguments of a call are operands: by their places in torch's functions, by name, in both forms of a method."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.incident import NoGraph

HEAD = """import torch
import torch.nn.functional as F
x = torch.rand(3, 4)
w = torch.rand(3, 4, requires_grad=True)
i = torch.tensor([[0, 1], [1, 2], [0, 0]])
m = x > 0.5
"""

RUNS = {
    "only the second operand": "out = torch.clamp_min(x, w)",
    "the source of an addition at indices": "out = x.index_add(0, torch.tensor([0, 1, 2]), w)",
    "a value that fills": "out = x.masked_fill(m, w.sum())",
    "by names": "out = torch.addcmul(input=x, tensor1=x, tensor2=w)",
    "one of several": "out = torch.broadcast_tensors(x, w)[1]",
    "without training": "out = F.alpha_dropout(w, 0.5)",
}

CHANGED = {
    "an index": ("out = w.gather(1, i)", "i.add_(0)"),
    "an index in brackets": ("out = w[i[:, 0]] + w[i[:, 1]]", ""),
    "an index of an embedding": ("out = F.embedding(i, w)", "i.add_(1)"),
    "a mask": ("out = w.masked_fill(m, 0.0)", "m.logical_not_()"),
    "a condition of a method": ("out = w.where(m, x)", "m.logical_not_()"),
    "the second result": ("u, out, v = torch.linalg.svd(w, full_matrices=False)", "v.detach().mul_(2)"),
}


@pytest.mark.parametrize("name", sorted(RUNS))
def test_a_graph_comes_from_any_operand(machine: Machine, name: str) -> None:
    text = f"{HEAD}{RUNS[name]}\nout.sum().backward()\n"
    exec(text, {}) if _torch() else None
    assert machine(text).lines == []


@pytest.mark.parametrize("name", sorted(CHANGED))
def test_what_is_saved_may_not_change(machine: Machine, name: str) -> None:
    made, change = CHANGED[name]
    text = f"{HEAD}{made}\n{change}\nout.sum().backward()\n"
    if _torch():
        if change:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                exec(text, {})
        else:
            exec(text, {})
    assert machine(text).lines == ([9] if change else [])


def _torch() -> bool:
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


BY_LENGTH = """from functools import lru_cache
import torch
w = torch.ones(3, requires_grad=True)
@lru_cache
def bias(length):
    return (w * length).exp()
for length in ({0}):
    x = torch.randn(2, length, 8)
    bias(x.shape[1]).sum().backward()
"""


@pytest.mark.parametrize(("lengths", "lines"), [("5, 7, 8", []), ("5, 7, 5", [9])])
def test_a_new_tensor_is_as_long_as_was_said(machine: Machine, lengths: str, lines: list[int]) -> None:
    assert machine(BY_LENGTH.format(lengths)).lines == lines


def test_what_lost_its_graph_is_named_before_what_never_had_one(machine: Machine) -> None:
    text = """
        import torch
        frozen = torch.nn.Linear(3, 3).requires_grad_(False)
        scale = torch.zeros(3, requires_grad=True)
        with torch.no_grad():
            factor = scale.exp()
        loss = (frozen.weight * factor).sum()
        loss.backward()
    """
    incident = machine(text).incident
    assert isinstance(incident, NoGraph)
    assert incident.reason == "no_grad"


@pytest.mark.parametrize("write", ["x += y", "x[0] = y[0]", "x[i] = y[i]", "x.copy_(y)"])
def test_what_is_written_into_a_tensor_has_lost_its_graph_there(machine: Machine, write: str) -> None:
    text = f"{HEAD}with torch.no_grad():\n    y = w * 2\n    {write}\nx.sum().backward()\n"
    incident = machine(text).incident
    assert isinstance(incident, NoGraph)
    assert incident.reason == "no_grad"
