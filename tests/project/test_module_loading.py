"""Modules stay lowered up to what their texts hold together."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.project import module_loading
from retainlint.text import recalling

TWICE = """\
from first import one
from second import two
loss = two(one())
loss.backward()
loss.backward()
"""


@pytest.mark.parametrize("number", [1, 6])
def test_modules_stay_lowered_up_to_a_size(number: int, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recalling, "KEPT_TEXT", 0)
    others = {
        "first": "import torch\ndef one(): return torch.ones(2, requires_grad=True)\n",
        "second": "def two(x): return (x * x).sum()\n",
    }
    for time in range(number):
        assert machine(TWICE, **others, third=f"{time} # another one").lines == [5]
    assert len(module_loading._lowered) <= 2
