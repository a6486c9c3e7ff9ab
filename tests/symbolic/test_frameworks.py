"""Frameworks that walk for the program: the machine against real torch; and code of other libraries, left alone."""

from __future__ import annotations

import traceback
import warnings
from typing import Any

import pytest
from framework_programs import HEAD, PROGRAMS

from retainlint.lowering import lower
from retainlint.source import Source
from retainlint.symbolic import explore
from retainlint.walks import may_walk

FOREIGN = {
    "mxnet": "from mxnet import autograd, gluon, nd\nnet = gluon.nn.Dense(1)\nwith autograd.record():\n    loss = net(nd.ones(2))\n",
    "paddle": "import paddle\nnet = paddle.nn.Linear(2, 2)\nloss = paddle.mean(net(paddle.ones([2, 2])))\n",
    "micrograd": "from micrograd.nn import MLP\nmodel = MLP(3, [4, 1])\nloss = sum(model([1.0, 2.0, 3.0]))\n",
    "tinygrad": "from tinygrad.nn import Linear\nfrom tinygrad.tensor import Tensor\nmodel = Linear(2, 2)\nloss = model(Tensor.ones(2)).sum()\n",
    "beside torch": "import torch\nfrom micrograd.engine import Value\na = Value(2.0)\nloss = a * a\nexpected = torch.ones(1)\n",
    "one's own": "class Value:\n    def __init__(self, data):\n        self.data = data\n    def __mul__(self, other):\n        return Value(self.data * other.data)\n    def backward(self):\n        self.grad = 1.0\nloss = Value(1.0) * Value(2.0)\n",
}


def lines(name: str, text: str) -> list[int]:
    return sorted({incident.primary.row for incident in explore(lower(Source(f"{name}.py", text))).incidents})


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_framework_is_judged_as_torch_judges_it(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    assert may_walk(text.encode())
    assert bool(lines(name, text)) == _raises(name, text)


def _raises(name: str, text: str) -> bool:
    pytest.importorskip("torch")
    from framework_stand_ins import installed

    scope: dict[str, Any] = {"__name__": "__main__"}
    with installed(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, f"{name}.py", "exec"), scope)
        except RuntimeError as error:
            told = str(error)
            assert "second time" in told or "inplace operation" in told, traceback.format_exc()
            return True
    return False


def test_half_of_the_programs_ail() -> None:
    """Each ailment has its cure beside it."""
    ailing = [name for name in PROGRAMS if lines(name, HEAD + PROGRAMS[name])]
    assert len(PROGRAMS) // 3 < len(ailing) < len(PROGRAMS) * 2 // 3


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_another_library_is_left_alone(name: str) -> None:
    assert lines(name, FOREIGN[name] + "loss.backward()\nloss.backward()\n") == []


def test_another_library_beside_torch_hides_no_failure() -> None:
    text = "import paddle\nimport torch\nw = torch.ones(2, requires_grad=True)\nloss = w.exp().sum()\nloss.backward()\nloss.backward()\n"
    assert lines("both", text) == [6]
