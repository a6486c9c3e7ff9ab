"""Whether a text's code spells a walk, told without parsing it: never no where one stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from retainlint.lowering import outline
from retainlint.source import Source
from retainlint.spelling import code, may_spell_walk, spoken

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


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
    ],
)
def test_what_spells_a_walk(text: str) -> None:
    assert may_spell_walk(text.encode())


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
    ],
)
def test_what_only_speaks_of_one(text: str) -> None:
    assert not may_spell_walk(text.encode())
    found = outline(Source("t.py", text))
    assert found is not None and not found.walks


@pytest.mark.parametrize("folder", ["raises", "runs", "unknown", "projects"])
def test_every_walk_of_the_fixtures_is_spelt(folder: str) -> None:
    walking = 0
    for path in sorted((FIXTURES / folder).rglob("*.py")):
        found = outline(Source(path.name, path.read_text(encoding="utf-8")))
        if found is not None and found.walks:
            walking += 1
            assert may_spell_walk(path.read_bytes()), path
    assert walking or folder == "projects"


def test_what_is_left_of_a_text() -> None:
    text = b"x = 'a name'  # a comment\ny = 'name' + f'{z} is'\n'''A text.'''\n"
    assert code(text) == b'x = ""  \ny = \'name\' + f"z"\n\n'
    assert spoken(text) == code(text).decode()
