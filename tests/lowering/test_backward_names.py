"""What is called `..._backward` is a walk unless its spelling, or the text that defines it, tells that it walks nothing."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.lowering import outline
from retainlint.text.source import Source


def backward_passes(text: str) -> list[int]:
    """The rows in which a walk is spelt."""
    source = Source("t.py", text)
    found = outline(source)
    assert found is not None
    return [source.place(at)[0] for at in found.backward_passes]


HELPER = "def my_backward(loss):\n    loss.backward()\n"
STEP = "def my_backward(loss):\n    step(loss)\ndef step(loss):\n    loss.backward()\n"
GIVES = "def my_backward(g, cache):\n    return g * cache\n"
MAKES = "def make(op):\n    return lambda *a: op(*a)\nmy_backward = make(aten.pool_backward)\n"
MAKES_WALK = "def make(op):\n    return lambda loss: loss.backward()\nmy_backward = make(1)\n"
CALL = "def f(x):\n    return my_backward(x)\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        pytest.param(HELPER + CALL, [2, 4], id="defined, and walks"),
        pytest.param(CALL + HELPER, [2, 4], id="defined behind its call"),
        pytest.param(STEP + CALL, [4, 6], id="calls what walks"),
        pytest.param(GIVES + CALL, [], id="computes a gradient by hand"),
        pytest.param(GIVES + HELPER + CALL, [4, 6], id="defined twice, and walks once"),
        pytest.param("from there import my_backward\n" + CALL, [3], id="imported"),
        pytest.param("from there import other as my_backward\n" + GIVES + CALL, [5], id="imported too"),
        pytest.param(GIVES + "if fast:\n    my_backward = other\n" + CALL, [6], id="bound otherwise too"),
        pytest.param(GIVES + "def f(my_backward, x):\n    my_backward(x)\n", [4], id="a parameter"),
        pytest.param(CALL, [2], id="nowhere defined"),
        pytest.param(MAKES + CALL, [], id="made by what walks nothing"),
        pytest.param(MAKES_WALK + CALL, [2, 5], id="made by what walks"),
        pytest.param("my_backward = make(1)\n" + CALL, [3], id="made by nobody knows what"),
        pytest.param("class C:\n    def my_backward(self): pass\n    def f(self, x):\n        self.my_backward(x)\n", [4],
                     id="a method, which an heir may define anew"),
        pytest.param("def walks(f): return lambda x: f(x).backward()\n@walks\n" + GIVES + CALL, [1, 6], id="decorated"),
        pytest.param(GIVES.replace("\n", "\r") + HELPER + CALL, [4, 6], id="old ends of rows"),
        pytest.param("dx = torch.ops.aten.pool_backward(g, x)\n", [], id="torch's own"),
        pytest.param("torch.autograd.backward(loss)\n", [1], id="torch's walk"),
        pytest.param("if is_backward(x) or self.has_backward: model.set_is_last_backward(True)\n", [], id="spoken of"),
        pytest.param("self.on_after_backward()\nprepare_for_backward(x)\n", [], id="before and after"),
        pytest.param("self.hook_backward(); is_backward(loss.backward())\n", [1, 1], id="beside each other"),
    ],
)  # fmt: skip
def test_namesakes(text: str, rows: list[int]) -> None:
    assert backward_passes(text) == rows


LOOP = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\n"


@pytest.mark.parametrize("name", ["my_backward", "set_backward", "run_in_backward"])
def test_a_walk_is_found_in_a_function_of_any_name(machine: Machine, name: str) -> None:
    text = f"{LOOP}def {name}(loss):\n    loss.backward()\nfor _ in range(2):\n    {name}(loss)\n"
    assert len(machine(text).incidents) == 1
