"""Calls into other modules: those that don't speak of tensors have a small share, which costs the others nothing."""

from __future__ import annotations

import pytest

from retainlint.files import Held
from retainlint.incident import Exploration
from retainlint.lowering import lower
from retainlint.modules import Modules
from retainlint.project import Project
from retainlint.source import Source
from retainlint.symbolic import crossing, explore
from retainlint.symbolic.project import Imports

FILES = """\
import os

class Progress:
    def __init__(self, path):
        self.rows = 0
        self.path = os.path.join(path, "log.txt")

    def tell(self, step):
        text = "epoch " + str(step)
        self.rows = self.rows + 1
        for _ in range(5):
            text = text + "."
        print(text)
"""
LOSSES = """\
def measure(out, target):
    # nothing here is named like a tensor
    gap = out - target
    squared = gap * gap
    return squared.mean()

class Meter:
    def __init__(self):
        self.kept = None

    def add(self, loss):
        self.kept = loss if self.kept is None else self.kept + loss
        return self.kept
"""
MAIN = """\
import torch
from files import Progress
from losses import Meter, measure

net = torch.nn.Linear(3, 3)
progress, meter = Progress("runs"), Meter()
for step in range(4):
    progress.tell(step)
    loss = meter.add(measure(net(torch.ones(3)), torch.zeros(3)))
    loss.backward()
"""


def run(monkeypatch: pytest.MonkeyPatch, share: int) -> Exploration:
    monkeypatch.setattr(crossing, "SHARE_OF_PLAIN", share)
    monkeypatch.setattr(Imports, "is_cheap", lambda *given: False)
    files = {"main.py": MAIN.encode(), "files.py": FILES.encode(), "losses.py": LOSSES.encode()}
    project = Project(Modules("main.py", Held(files)), lower, files["main.py"])
    return explore(lower(Source("main.py", MAIN)), project=project)


def test_nothing_is_left_out_while_there_is_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = run(monkeypatch, crossing.SHARE_OF_PLAIN)
    assert not seen.gaps
    assert [incident.primary.row for incident in seen.incidents] == [10]


def test_what_speaks_of_tensors_is_followed_when_the_share_of_the_rest_is_spent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = run(monkeypatch, 30)
    assert {gap.reason.split("`")[1] for gap in seen.gaps} >= {"Progress.tell"}
    assert "Meter.add" not in {gap.reason.split("`")[1] for gap in seen.gaps}
    assert [incident.primary.row for incident in seen.incidents] == [10]


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("def tell(step):\n    print(step)\n", False),
        ("def cut(state):\n    return state.detach()\n", True),
        ("def add(loss):\n    return loss + 1\n", True),
        ("def make():\n    return torch.zeros(3)\n", True),
        ("def name(torchy, gloss):\n    return torchy\n", False),
    ],
)
def test_speaking_is_told_by_words(text: str, speaks: bool) -> None:
    program = lower(Source("file.py", text))
    code = next(instr.code for instr in program.module.body if hasattr(instr, "code"))
    assert crossing.speaks_of_tensors(code) == speaks
