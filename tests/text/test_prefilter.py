"""Whether a text's code spells a walk, told without parsing it: never no where one stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from retainlint.lowering import outline
from retainlint.lowering.guards import too_deep
from retainlint.text.prefilter import (
    code,
    may_backpropagate,
    may_change_leaves,
    may_keep_graphs,
    may_lead_to_backward,
    may_spell_backward,
    spoken,
    trained,
)
from retainlint.text.source import Source

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.mark.parametrize(
    "text",
    [
        "loss.backward()\n",
        "def f(loss):\n    '''Walks.'''\n    return loss.backward  # here\n",
        "x = '#'; loss.backward()\n",
        'x = "\'"; loss.backward(); y = "\'"\n',
        "x = '\\''; loss.backward()\n",
        "x = '''\n'\n'''; loss.backward()\n",
        "print(f'{loss.backward()}')\n",
        'print(f"""{torch.autograd.grad(y, x)}""")\n',
        'print(rf"""{torch.autograd.grad(y, x)}""")\n',
        "torch.autograd.backward(loss)\n",
        "engine.manual_backward(loss)\n",
        "torch.manual_backward(loss)\n",
        "self.aten.inner_backward(loss)\n",
        "stage_backward(loss)\n",
        "def walk_backward(loss):\n    loss.backward()\nwalk_backward(1)\n",
        "def inner_backward(x):\n    return x\ninner_backward = other\ninner_backward(1)\n",
        "def inner_backward(x):\n    return x\nbox.inner_backward(1)\n",
        "x = 'never closed ''' loss.backward() '''\n",
        "fn = loss.backward\nfn()\n",
        "run(loss.backward)\n",
        "walks = {'it': loss.backward}\n",
        "walk = lambda: loss.backward\n",
        "later = lambda walk=loss.backward: walk()\n",
        "for walk in a.backward, b.backward: walk()\n",
        "walk = x.backward if y == 1 else z\n",
        "walk = x if not y else y.backward\n",
        "walk = torch.Tensor.backward\n",
        "self.cls.backward(1)\n",
        "loss\\\n  .backward()\n",
        "super().x_backward(1)\n",
        "self.x_backward(1)\n",
        "class A:\n def x_backward(self, x):\n  x.backward()\n def f(self):\n  self.x_backward(1)\n",
        "class A:\n def x_backward(self, x): pass\nclass B(C):\n def f(self):\n  self.x_backward(1)\n",
        "class A:\n def x_backward(self, x): pass\nx_backward(1)\n",
        "class A:\n def x_backward(self, x): pass\n def f(self):\n  g(self.x_backward)\n  self.x_backward(1)\n",
    ],
)
def test_what_spells_a_walk(text: str) -> None:
    assert may_spell_backward(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n",
        "# loss.backward()\n",
        "def f():\n    '''Call loss.backward().'''\n",
        'def f():\n    """It\'s `loss.backward()`, as {name} says."""\n',
        "raise ValueError('call .backward() first')\n",
        "@register(aten.tanh_backward)\ndef f(x):\n    return torch.ops.aten.gelu_backward.default(x)\n",
        "def inner_backward(x):\n    return x\ny = inner_backward(1)\n",
        "def backward(ctx, x):\n    return x\n",
        "class Space:\n    def grad(self):\n        return 1\n",
        "known = {Tensor.backward: 1}\n",
        "x = f is not loss.backward\n",
        "x = loss.backward == f and not loss.backward\n",
        "fn = self.fn_cls.backward\ncall(cls.backward, Twice.apply, TwiceFunction.backward)\n",
        "if config.recompute_backward: pass\nx = config.recompute_backward\n",
        "group.pre_backward(1)\npost_backward(1)\nself._check_can_register_backward()\n",
    ],
)
def test_what_only_speaks_of_one(text: str) -> None:
    assert not may_spell_backward(text.encode())
    found = outline(Source("t.py", text))
    assert found is not None and not found.backward_passes


@pytest.mark.parametrize(
    "text",
    [
        "if loss.backward: pass\n",
        "x = known[loss.backward:]\n",
        "class A:\n def x_backward(self, x): pass\n def f(self):\n  self.x_backward(1)\n",
    ],
)
def test_what_is_no_walk_where_a_text_is_run_by_itself(text: str) -> None:
    assert not may_spell_backward(text.encode())


def test_a_method_of_the_text_may_be_filled_in_by_an_heir_elsewhere() -> None:
    """Who imports the text has its method run for the walk of an heir."""
    text = "class A:\n    def x_backward(self, x): pass\n    def f(self):\n        self.x_backward(1)\n"
    found = outline(Source("t.py", text))
    assert found is not None and found.backward_passes


@pytest.mark.parametrize("folder", ["raises", "runs", "unknown", "projects"])
def test_every_walk_of_the_fixtures_is_spelt(folder: str) -> None:
    backpropagating = 0
    for path in sorted((FIXTURES / folder).rglob("*.py")):
        found = outline(Source(path.name, path.read_text(encoding="utf-8")))
        if found is not None and found.backward_passes:
            backpropagating += 1
            assert may_spell_backward(path.read_bytes()), path
    assert backpropagating or folder == "projects"


def test_what_is_left_of_a_text() -> None:
    text = b"x = 'a name'  # a comment\ny = 'name' + f'{z} is'\n'''A text.'''\n"
    assert code(text) == b'x = ""  \ny = \'name\' + f"z"\n\n'
    assert spoken(text) == code(text).decode()


QUOTES = {
    "a quote behind a backslash in each row": '\\"""\n' * 4_000 + "loss.backward()\n",
    "a text that ends nowhere": "x = 1\n" * 4_000 + "'''\n" + "loss.backward()\n\\\\'" * 4_000 + "\\",
}


@pytest.mark.parametrize("name", QUOTES)
def test_texts_that_end_nowhere_are_gone_through_once(name: str) -> None:
    """They were gone through from each of their quotes; what stands in them is kept, for nobody knows what it is."""
    assert may_spell_backward(QUOTES[name].encode())
    assert QUOTES[name].encode().endswith(code(QUOTES[name].encode())[-20:])
    assert too_deep(QUOTES[name]) is None


IMPORTS = "from transformers import AutoModel\n"
MODEL = "class Model:\n    def forward(self): ...\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"from transformers import (\n    Trainer,\n)\n{MODEL}", ["from transformers import (\n    Trainer"]),
        (f"from transformers import AutoModel, Trainer\n{MODEL}", ["from transformers import AutoModel, Trainer"]),
        (f"from skorch.net import NeuralNet\n{MODEL}    def get_loss(self): ...\n", ["from skorch.net import"]),
        (f"{MODEL}from transformers import Trainer\n", []),
        (f"from transformers import (A)\n{MODEL}Trainer\n", []),
        (f"from transformers import Trainers\n{MODEL}", []),
        ("from transformers import Trainer\ndef forwards(): ...\n", []),
        (
            f"{IMPORTS}{IMPORTS}from transformers import Trainer\n{MODEL}",
            [f"{IMPORTS}{IMPORTS}from transformers import Trainer"],
        ),
        (IMPORTS * 5_000 + MODEL, []),
        ("from skorch import x\n" * 5_000 + "def get_loss(): ...\n", ["from skorch import"] * 5_000),
    ],
)
def test_where_a_trainer_is_imported_that_walks_losses_of_the_text(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in trained(text)] == found
    assert may_backpropagate(text.encode()) is bool(found)


def test_a_long_chain_of_walks_is_no_kernel() -> None:
    text = b"x" + b".a_backward" * 4_000
    assert spoken(text).count("backward") == 4_000
    assert spoken(b"y = torch.ops.aten.a_backward(x)") == "y = (x)"


def test_a_function_that_trains_what_it_makes_may_lead_to_a_walk_without_torch() -> None:
    text = b"from agent import Agent\ndef {name}(xs):\n    agent = {made}\n    agent.step(xs)\n"
    for name, made, leads in ((b"train", b"Agent(xs)", True), (b"load", b"Agent(xs)", False), (b"train", b"xs", False)):
        assert may_lead_to_backward(text.replace(b"{name}", name).replace(b"{made}", made)) == leads


@pytest.mark.parametrize(
    ("rows", "may"),
    [
        ("w = layer.weight\nw.clamp_(0, 1)", True),
        ("if (b := net[0].bias) is not None:\n    b += 1", True),
        ("table = self.embedding.weight\ntable[0] = 0.0", True),
        ("w = getattr(layer, 'weight')\nw[1:].mul_(2)", True),
        ("w = getattr(layer, 'weight', None)\nw.mul_(2)", True),
        ("layer.weight.clamp_(0, 1)", True),
        ("self.conv.bias += 0.5", True),
        ("b = self.conv.bias.view(3, -1)\nb[:, 4] += 0.5", True),
        ("b = conv.bias.abs()\nb[:, 4] += 0.5", False),
        ("w = layer.weight\nv = w.clamp(0, 1)", False),
        ("w = layer.weight.data\nw.clamp_(0, 1)", False),
        ("w = layer.weight.detach()\nw.clamp_(0, 1)", False),
        ("w = layer.weight\nwide.clamp_(0, 1)", False),
    ],
)
def test_a_weight_may_be_changed_by_its_name(rows: str, may: bool) -> None:
    assert may_change_leaves(f"import torch\n{rows}\n".encode()) is may


@pytest.mark.parametrize(
    "rows, may",
    [
        ("found.append(net(x))\n", True),
        ("found.append(self.policy_net(x)[0])\n", True),
        ("y = model(x)\nfound.append(y)\n", True),
        ("found.append(net(x).detach())\n", False),
        ("y = model(x).argmax(1)\nfound.append(y)\n", False),
        ("with torch.no_grad():\n    found.append(net(x))\n", False),
        ("with torch.inference_mode():\n    found.append(net(x))\n", False),
        ("found.append(get_model(x))\n", False),
        ("y = model(x)\nfound.append(z)\n", False),
    ],
)
def test_what_a_network_predicts_may_be_kept_with_its_graph(rows: str, may: bool) -> None:
    assert may_keep_graphs(f"import torch\n{rows}".encode()) is may
