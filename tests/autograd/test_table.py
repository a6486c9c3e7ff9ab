"""The table of operations: each name stands once, and the models name only rows that it has."""

from __future__ import annotations

from collections import Counter

import pytest

from retainlint.autograd.operations import by_name, rows
from retainlint.symbolic.models.torch import layers, names

COMPOSED = {"rnn", "lstm", "gru", "cross_entropy"}
"""Layers that are made of several rows."""


def test_a_name_is_one_operation() -> None:
    counted = Counter(name for row in rows().values() for name in row.names)
    assert [name for name, count in counted.items() if count > 1] == []
    assert not set(by_name()) & names.CUTS


def test_a_name_that_an_unknown_may_have_for_anything_makes_no_tensor_of_it() -> None:
    torch = pytest.importorskip("torch")
    assert not {"cond", "gradient"} & set(by_name())  # no methods, but common names of attributes
    new = ("max_unpool2d", "grid_sampler_2d", "native_layer_norm", "lu_unpack", "unbind_copy")
    assert not any(hasattr(torch.Tensor, name) or names.is_method(name) for name in new)


def test_slots_are_of_operands() -> None:
    for row in rows().values():
        assert len(row.places) == len(row.inputs), row.operation
        assert all(slot.source < len(row.inputs) for slot in row.slots), row.operation


@pytest.mark.parametrize("kind", sorted(layers.LAYERS))
def test_layers_are_rows(kind: str) -> None:
    assert layers.LAYERS[kind].row in {*rows(), *COMPOSED}
