"""Whether a trainer walks what a text's steps return: what is derived from one, and what only has methods of such names."""

from __future__ import annotations

import pytest

from retainlint.checking.linter import check_source
from retainlint.config import Settings
from retainlint.project.call_index import CallIndex
from retainlint.project.import_resolution import Modules
from retainlint.text.files import Held

LOSS = "    def compute_loss(self, x):\n        return x\n"
TRAINER = "from transformers import Trainer\nclass Base(Trainer): pass\n"

ADDS_UP = """
class Mine(Base):
    def compute_loss(self, model, inputs, return_outputs=False):
        self.total = getattr(self, "total", 0) + model(**inputs).loss
        return self.total
"""


def steps(text: str, **modules: str) -> bool:
    files = {f"{module}.py": other.encode() for module, other in modules.items()}
    return CallIndex(Modules("entry.py", Held({**files, "entry.py": text.encode()})), text.encode()).spells_backward


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("from transformers import Trainer\nclass A(Trainer):\n" + LOSS, ""),
        (
            "import lightning\nclass A(lightning.LightningModule):\n    def training_step(self, x):\n        return x\n",
            "",
        ),
        ("from base import Base\nclass A(Base):\n" + LOSS, TRAINER),
        ("import base\nclass A(base.Base):\n" + LOSS, TRAINER),
        ("from base import *\nclass A(Base):\n" + LOSS, TRAINER),
        ("from base import Base\nclass B(Base): pass\nclass A(B, Generic[T], metaclass=M):\n" + LOSS, TRAINER),
        ("from base import T\nclass A(T):\n" + LOSS, "from transformers import Seq2SeqTrainer as T\n"),
        ("from base import Base\nclass A(Base):\n" + LOSS, "import lightning\nBase = lightning.LightningModule\n"),
        ("from base import made\nclass A(made()):\n" + LOSS, ""),
        ("class A:\n" + LOSS + "loss.backward()\n", ""),
    ],
)
def test_what_a_trainer_walks(text: str, base: str) -> None:
    assert steps(text, base=base)


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("from torch import nn\nclass A(nn.Module):\n" + LOSS, ""),
        ("class A:\n" + LOSS, ""),
        ("def compute_loss(x):\n    return x\n", ""),
        ("from library import Model\nclass A(Model):\n" + LOSS, ""),
        ("from base import Base\nclass A(Base):\n" + LOSS, "from torch import nn\nclass Base(nn.Module): pass\nTrainer = 1\n"),
        ("from base import Base\nclass A(Base):\n" + LOSS, "from entry import A\nclass Base(A): pass\n"),
    ],
)  # fmt: skip
def test_what_only_has_such_a_method(text: str, base: str) -> None:
    assert not steps(text, base=base)


@pytest.mark.parametrize("head", ["from transformers import Trainer as Base\n", "from base import Base\n"])
def test_what_a_trainer_walks_is_found(head: str) -> None:
    """Losses that add up over batches, with the framework's trainer as a base, or the project's own."""
    text = (head + ADDS_UP).encode()
    files = Held({"base.py": TRAINER.encode(), "entry.py": text})
    assert [each.code for each in check_source("entry.py", text, Settings(), files).diagnostics] == ["RTL104"]
