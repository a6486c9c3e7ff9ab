"""Which modules stay lowered: those used last, as many as there is room for."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.project import module_loading

TWICE = """\
from first import one
from second import two
loss = two(one())
loss.backward()
loss.backward()
"""


@pytest.mark.parametrize(("limit", "most"), [("KEPT", 1), ("KEPT_TEXT", 0)])
def test_modules_stay_lowered_up_to_a_number_and_a_size(
    limit: str, most: int, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_loading, limit, most)
    others = {
        "first": "import torch\ndef one(): return torch.ones(2, requires_grad=True)\n",
        "second": "def two(x): return (x * x).sum()\n",
    }
    assert machine(TWICE, **others).lines == [5]
    assert len(module_loading._lowered) == 1
