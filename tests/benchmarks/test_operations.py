"""The generator's tables against real torch: every template runs, gives its shape, and is light where it says so."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.truth.layers import layers
from benchmarks.truth.operations import DATA, SHAPES, Operation, table, turned
from retainlint.autograd.operations import rows

torch = pytest.importorskip("torch")

SIZES = {"A": (4, 3), "M": (3, 3), "V": (3,), "S": ()}
UNREACHABLE = {
    "threshold_backward": "made by a gradient's own graph",
    "softplus_backward": "made by a gradient's own graph",
    "avg_pool_backward": "made by a gradient's own graph",
    "adaptive_pool_backward": "made by a gradient's own graph",
    "pad_reflect_backward": "made by a gradient's own graph",
    "bernoulli": "its gradient is nought",
    "copy": "made by the engine",
    "copy_": "written by changes.py",
    "fill_": "written by changes.py",
    "zero_": "written by changes.py",
    "copy_slices": "made by changes of views",
    "as_strided": "made by the engine",
    "as_strided_scatter": "made by the engine",
}
"""Rows of the table of operations that no template needs, and why."""

EVERY = [operation for shape in SHAPES for operation in table()[shape]]


def names() -> dict[str, Any]:
    """What the templates name."""
    found: dict[str, Any] = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    for name, made in DATA.items():
        found[name] = eval(made, found)
    return found


def computed(operation: Operation) -> Any:
    """The operation's result on random tensors of which each requires grad and isn't a leaf."""
    torch.manual_seed(1)
    given = names()
    operands = []
    for number, place in enumerate(operation.places):
        given[f"t{number}"] = torch.rand(SIZES[place]).requires_grad_() + 0.1
        operands.append(f"t{number}")
    return eval(operation.filled(operands), given)


def walked_twice(result: Any) -> bool:
    """Whether a second walk through the result's graph is legal."""
    result.sum().backward()
    try:
        result.sum().backward()
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("operation", EVERY, ids=lambda one: one.template)
def test_template(operation: Operation) -> None:
    result = computed(operation)
    assert tuple(result.shape) == SIZES[operation.shape]
    assert result.requires_grad
    assert walked_twice(result) == operation.light


@pytest.mark.parametrize("layer", layers(), ids=lambda one: f"{one.made} {one.call}")
def test_layer(layer: Any) -> None:
    given = names()
    given["m"] = eval(layer.made, given)
    call = Operation((), layer.shape, layer.call.replace("{m}", "m"))
    operands = []
    for number, place in enumerate(call.places):
        given[f"t{number}"] = torch.rand(SIZES[place]).requires_grad_() + 0.1
        operands.append(f"t{number}")
    result = eval(call.filled(operands), given)
    assert tuple(result.shape) == SIZES[layer.shape]
    assert any(True for _ in given["m"].parameters()) == layer.owns_weights
    assert walked_twice(result) == layer.light


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("wanted", SHAPES)
def test_turned(shape: str, wanted: str) -> None:
    given = {**names(), "t": torch.rand(SIZES[shape])}
    assert tuple(eval(turned("t", shape, wanted), given).shape) == SIZES[wanted]


def test_every_row_that_the_core_computes_has_a_template() -> None:
    import retainlint.numeric.namespace  # noqa: F401 defines them
    from retainlint.numeric.operations.registry import DEFINED

    covered = {row for one in EVERY for row in one.rows} | {row for layer in layers() for row in layer.rows}
    assert covered <= set(rows())
    assert DEFINED - covered == set(UNREACHABLE) & DEFINED
