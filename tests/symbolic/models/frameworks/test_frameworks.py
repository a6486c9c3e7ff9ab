"""Frameworks that walk for the program: the machine against the packages themselves; and code of other libraries, left
alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framework_fixtures import Example, examples, recorded
from machine import Machine
from symbolic.models.frameworks.framework_programs import HEAD, PROGRAMS

from retainlint.text.prefilter import may_backpropagate

if TYPE_CHECKING:
    from judge_torch import Verdict

FOREIGN = {
    "mxnet": "from mxnet import autograd, gluon, nd\nnet = gluon.nn.Dense(1)\nwith autograd.record():\n    loss = net(nd.ones(2))\n",
    "paddle": "import paddle\nnet = paddle.nn.Linear(2, 2)\nloss = paddle.mean(net(paddle.ones([2, 2])))\n",
    "micrograd": "from micrograd.nn import MLP\nmodel = MLP(3, [4, 1])\nloss = sum(model([1.0, 2.0, 3.0]))\n",
    "tinygrad": "from tinygrad.nn import Linear\nfrom tinygrad.tensor import Tensor\nmodel = Linear(2, 2)\nloss = model(Tensor.ones(2)).sum()\n",
    "beside torch": "import torch\nfrom micrograd.engine import Value\na = Value(2.0)\nloss = a * a\nexpected = torch.ones(1)\n",
    "one's own": "class Value:\n    def __init__(self, data):\n        self.data = data\n    def __mul__(self, other):\n        return Value(self.data * other.data)\n    def backward(self):\n        self.grad = 1.0\nloss = Value(1.0) * Value(2.0)\n",
}


VERDICTS = recorded()
named = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)


@named
def test_the_linter_tells_what_the_framework_did(machine: Machine, example: Example) -> None:
    assert may_backpropagate(example.path.read_bytes())
    assert example.raises == VERDICTS[example.name]["raises"]
    found = machine(example.text)
    assert found.failures == example.told()
    for diagnostic, incident in zip(found.diagnostics, found.incidents, strict=True):
        assert {mark.line for mark in example.marks()} <= {label.span.row for label in diagnostic.labels}
        assert incident.witness is not None
        assert incident.witness.error.startswith(VERDICTS[example.name]["sentence"])


@named
def test_the_stand_in_does_what_the_framework_did(example: Example) -> None:
    """Where the package isn't installed, a stand-in makes torch do the same, on the same line."""
    pytest.importorskip("torch")
    from judge_torch import judge
    from symbolic.models.frameworks.framework_stand_ins import installed

    with installed():
        assert_recorded(example, judge(example.path))


@pytest.mark.parametrize(
    "example", [each for each in examples() if each.module != "torch"], ids=lambda example: example.name
)
def test_the_framework_does_what_is_recorded(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package itself, where it is installed."""
    pytest.importorskip("torch")
    if example.version() is None:
        pytest.skip(f"{example.module} isn't installed; `tests/record_frameworks.py` recorded what it does")
    from judge_torch import judge

    for name, value in example.environment.items():
        monkeypatch.setenv(name, value)
    assert_recorded(example, judge(example.path, timeout=300.0))


def assert_recorded(example: Example, verdict: Verdict) -> None:
    recorded = VERDICTS[example.name]
    got = (verdict.raises, verdict.line, verdict.sentence)
    assert got == (recorded["raises"], recorded["line"], recorded["sentence"])


@named
def test_each_witness_raises_in_torch(machine: Machine, example: Example, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from judge_torch import judge

    for incident in machine(example.text).incidents:
        assert incident.witness is not None
        script = tmp_path / "witness.py"
        script.write_text(incident.witness.script, encoding="utf-8")
        assert judge(script).sentence == VERDICTS[example.name]["sentence"]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_framework_without_a_package_is_judged_as_torch_judges_it(
    machine: Machine, name: str, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    from judge_torch import judge
    from symbolic.models.frameworks.framework_stand_ins import installed

    text = HEAD + PROGRAMS[name]
    assert may_backpropagate(text.encode())
    program = tmp_path / f"{name}.py"
    program.write_text(text, encoding="utf-8")
    with installed():
        verdict = judge(program)
    assert not verdict.raises or "second time" in (verdict.sentence or "")
    assert bool(machine(text).lines) == verdict.raises


def test_half_of_the_programs_ail() -> None:
    """Each ailment has its cure beside it."""
    ailing = [example for example in examples() if example.raises]
    assert len(examples()) // 3 < len(ailing) < len(examples()) * 2 // 3


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_another_library_is_left_alone(machine: Machine, name: str) -> None:
    assert machine(FOREIGN[name] + "loss.backward()\nloss.backward()\n").lines == []


def test_a_loss_of_another_library_may_be_stored(machine: Machine) -> None:
    """What jax's losses are, no graph is kept for it."""
    text = (
        "import {0}\nfrom project import make_loss\nloss = make_loss()\nslope = {0}.func.grad(loss)\nparams, losses = 0.0, []\n"
        "for batch in range(1000):\n    params = params - slope(params, batch)\n    losses.append(loss(params, batch) / 2)\n"
    )
    found = {name: machine(text.format(name)).wasted for name in ("jax", "torch")}
    assert found == {"jax": [], "torch": [8]}


def test_another_library_beside_torch_hides_no_failure(machine: Machine) -> None:
    text = "import paddle\nimport torch\nw = torch.ones(2, requires_grad=True)\nloss = w.exp().sum()\nloss.backward()\nloss.backward()\n"
    assert machine(text).lines == [6]
