"""What is found doesn't depend on what variables are called: of fixtures whose locals are renamed the same is told."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from renaming import renamed

from retainlint.lowering import lower
from retainlint.rules import diagnose
from retainlint.symbolic import explore
from retainlint.text.source import Source

ROOM = Path(__file__).parent.parent / "fixtures"
SHARE = 6
"""Of so many fixtures one is tried here."""

PROGRAMS = [
    path
    for room in ("raises", "runs")
    for path in sorted((ROOM / room).glob("*.py"))
    if not zlib.crc32(path.name.encode()) % SHARE
]

NAMED = """
import torch
from models import build

def train(loader, criterion):
    model = build()
    hidden = torch.zeros(1, 4)
    for x, y in loader:
        pred, hidden = model(x, hidden)
        loss = criterion(pred, y)
        loss.backward()
"""


def told(text: str) -> list[tuple[int, str]]:
    found = explore(lower(Source.decode("program.py", text.encode()))).incidents
    return sorted((each.primary.span.row, each.code) for each in map(diagnose, found))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_other_names_of_locals_change_nothing(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    other = renamed(text)
    if other == text:
        pytest.skip("it reaches names by their letters")
    assert told(other) == told(text)


@pytest.mark.parametrize("name", ["h", "state", "carried"])
def test_the_state_of_a_network_that_nobody_sees_may_have_any_name(name: str) -> None:
    assert told(NAMED.replace("hidden", name)) == told(NAMED) != []


def test_locals_are_renamed() -> None:
    assert renamed("import a\nb = a.b\nfor c in b:\n    d(b, c.b, b=c)\n") == (
        "import a\nb = a.b\nfor var0 in b:\n    d(b, var0.b, b=var0)\n"
    )
