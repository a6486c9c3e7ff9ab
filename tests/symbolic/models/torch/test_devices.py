"""Code that runs on a GPU alone: it is followed as well, and what fails there is told with that condition."""

from __future__ import annotations

import pytest

from retainlint.diagnostic import Diagnostic
from retainlint.lowering import lower
from retainlint.rules import diagnose
from retainlint.symbolic import explore
from retainlint.text.source import Source

SKIPPED = "def test(net, x):\n    if not torch.cuda.is_available():\n        return\n    loss = net(x).mean()\n"
INSIDE = "def test(net, x):\n    if torch.cuda.is_available():\n        loss = net(x).mean()\n        loss.backward()\n"


def found(text: str) -> list[Diagnostic]:
    return [diagnose(incident) for incident in explore(lower(Source("train.py", "import torch\n" + text))).incidents]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (SKIPPED + "    loss.backward()\n    loss.backward()\n", "`not torch.cuda.is_available()` is false (line 3)"),
        (INSIDE + "        loss.backward()\n", "`torch.cuda.is_available()` is true (line 3)"),
    ],
)
def test_a_walk_that_only_a_gpu_reaches_is_followed(text: str, note: str) -> None:
    (told,) = found(text)
    assert told.code == "RTL102"
    assert any(note in each for each in told.notes)


@pytest.mark.parametrize(
    "text",
    [
        SKIPPED + "    loss.backward()\n",
        INSIDE,
        "def test(net, x):\n    loss = net(x).mean()\n    if torch.cuda.is_available():\n        loss.backward()\n"
        "    if not torch.cuda.is_available():\n        loss.backward()\n",
    ],
)
def test_nothing_is_said_where_it_runs_with_and_without(text: str) -> None:
    assert found(text) == []
