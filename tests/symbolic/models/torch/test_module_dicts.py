"""What a ModuleDict and a ParameterDict are as dicts: their keys, copies as plain dicts, and what is asked of them."""

from __future__ import annotations

import pytest
from machine import Machine

NET = """import torch
from torch import nn
import torch.nn.functional as F
weights = {k: nn.Parameter(torch.rand(3)) for k in ("w_a", "w_b")}
held = nn.ParameterDict(weights)
"""


@pytest.mark.parametrize(
    "taken",
    [
        "dict(held)['w_b']",
        "{**held}['w_b']",
        "held.copy()['w_b']",
        "held.get('w_b')",
        "dict(zip(held.keys(), held.values()))['w_b']",
        "[held[k] for k in held][1]",
        "(held['w_b'] if 'w_b' in held else None)",
    ],
)
def test_a_weight_is_found_by_its_name(machine: Machine, taken: str) -> None:
    text = f"{NET}loss = F.linear(torch.rand(2, 3), {taken}[None]).exp().sum()\nloss.backward()\nloss.backward()\n"
    assert machine(text).lines == [text.count("\n")]


def test_what_is_put_into_a_copy_leaves_the_layer_as_it_is(machine: Machine) -> None:
    text = (
        f"{NET}fast = dict(held)\nfast['w_b'] = fast['w_b'].exp()\n"
        "for _ in range(2):\n    held['w_b'].square().sum().backward()\n"
    )
    assert machine(text).lines == []
    assert machine(text.replace("held['w_b']", "fast['w_b']")).lines == [text.count("\n")]
