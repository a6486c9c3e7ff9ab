"""The models' tables name only rows that the saves table has."""

from __future__ import annotations

import pytest

from retainlint.autograd.saves import rows
from retainlint.symbolic.models.torch import layers, names, operations

COMPOSED = {"rnn", "lstm", "gru", "cross_entropy"}
"""Layers that are made of several rows."""


@pytest.mark.parametrize("name", sorted(names.OPERATIONS))
def test_operations_are_rows(name: str) -> None:
    assert names.OPERATIONS[name] in rows()


@pytest.mark.parametrize("kind", sorted(layers.LAYERS))
def test_layers_are_rows(kind: str) -> None:
    assert layers.LAYERS[kind].row in {*rows(), *COMPOSED}


def test_views_are_rows() -> None:
    assert set(rows()) >= operations.VIEWS
