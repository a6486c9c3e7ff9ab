"""Which functions of a project may come to a walk, told by their names: what leads there, and what only seems to."""

from __future__ import annotations

import pytest

from retainlint.project.call_index import CallIndex, indexed, reaching
from retainlint.project.import_resolution import Modules
from retainlint.text.files import Held
from retainlint.text.prefilter import may_start_backward

BACKWARD = "def walk(loss):\n    loss.backward()\n"


@pytest.mark.parametrize(
    "text",
    [
        "def fit(x):\n    walk(x)\n",
        "def fit(x):\n    def inner():\n        walk(x)\n    return inner\n",
        "def fit(x):\n    def inner():\n        pass\n    walk(x)\n",
        "class fit:\n    def __init__(self, x):\n        walk(x)\n",
        "class fit:\n    def forward(self, x):\n        walk(x)\n",
        "class Box:\n    def fit(self, x):\n        self.walk(x)\n",
        "def other():\n    walk()\nclass fit(other):\n    pass\n",
        "@walk\ndef fit():\n    pass\n",
        "@decorated(\n    by=walk\n)\ndef fit():\n    pass\n",
        "class Box:\n    @walk\n    def fit(self):\n        pass\n",
        "fit = {'one': walk}\n",
        "fit = {\n    'one': walk,\n}\n",
        "def fit(x):\n    getattr(x, 'walk')()\n",
        "def fit(x):\n    print(f'at {walk(x)}')\n",
        "from steps import walk as fit\n",
        "class Box:\n    def __init__(self):\n        self.fit = steps.walk\n",
        "async def fit(\n    x,\n):\n    await walk(x)\n",
        "def fit(x): walk(x)\n",
        "def fit(x):\n    again(x)\ndef again(x):\n    more(x)\ndef more(x):\n    walk(x)\n",
    ],
)
def test_what_leads_to_a_walk(text: str) -> None:
    assert "fit" in reaching([text.encode(), BACKWARD.encode()])


def test_the_way_leads_over_several_texts() -> None:
    """In whatever order they come, and back into one that was looked at before."""
    texts = [
        b"def fit(x):\n    third(x)\ndef fourth(x):\n    third(x)\n",
        b"def second(x):\n    walk(x)\ndef fifth(x):\n    fourth(x)\n",
        BACKWARD.encode() + b"def sixth(x):\n    fifth(x)\n",
        b"def third(x):\n    second(x)\n",
        b"def other(x):\n    print(x)\n",
    ]
    wanted = {"walk", "second", "third", "fit", "fourth", "fifth", "sixth"}
    assert reaching(texts) == reaching(texts[::-1]) == reaching([*texts, *texts]) == wanted


def test_the_gradients_of_torch_lead_nowhere() -> None:
    kernels = b"@register(aten.tanh_backward)\ndef fit(x):\n    return torch.ops.aten.gelu_backward(x)\n"
    assert not reaching([kernels, b"def other(x):\n    fit(x)\n", b"def grad(x):\n    return x\n"])


@pytest.mark.parametrize(
    "text",
    [
        "def fit(x):\n    # walk\n    return x\n",
        'def fit(x):\n    """One may walk here."""\n',
        "def fit(x):\n    print('may we walk?')\n",
        "def fit(x):\n    return x\nif __name__ == '__main__':\n    walk(1)\n",
        "def fit(x):\n    return x\ndef other(x):\n    walk(x)\n",
        "class Box:\n    def fit(self):\n        pass\n    def other(self):\n        walk(1)\n",
        "fit = 1\nwalk(fit)\n",
        "def fit(ctx, x):\n    ctx.save_for_backward(x)\n",
    ],
)
def test_what_only_seems_to(text: str) -> None:
    assert "fit" not in reaching([text.encode(), BACKWARD.encode()])


def test_a_text_speaks_of_a_name_in_its_code_alone() -> None:
    assert "fit" in indexed(b"x.fit(1)\n").words
    assert "fit" not in indexed(b"x.refit(1)  # fit\n").words


def script(body: str, **modules: str) -> bool:
    data = f"{body}\nif __name__ == '__main__':\n    main()\n".encode()
    files = {f"{name}.py": text.encode() for name, text in modules.items()}
    return CallIndex(Modules("main.py", Held({**files, "main.py": data})), data).starts_backward


def test_a_script_is_run_for_the_walks_that_it_may_come_to() -> None:
    assert script("from engine import fit\ndef main():\n    fit()", engine="def fit():\n    walk(1)\n" + BACKWARD)
    assert script(
        "import engine\ndef main():\n    engine.fit()", engine="from steps import walk as fit\n", steps=BACKWARD
    )


def test_a_script_that_only_stands_beside_a_walk_is_not_run() -> None:
    engine = "def read():\n    return 1\n" + BACKWARD
    assert not script("from engine import read\ndef main():\n    read()", engine=engine)
    assert not script("def main():\n    pass")


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("net = make()\nnet.fit(1)\n", True),
        ("done = net.learn(1)\n", True),
        ("def main():\n    net.fit(1)\n", False),
        ("from . import net\nnet.fit(1)\n", False),
        ("net.refit(1)\n", False),
        ("import torch\nfrom net import *\nrun(1)\n", True),
        ("import torch\nfrom net import step\nrun(1)\n", False),
    ],
)
def test_a_script_may_train_without_saying_that_it_is_one(text: str, starts: bool) -> None:
    assert may_start_backward(f"import engine\n{text}".encode()) == starts
