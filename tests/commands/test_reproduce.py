"""`retainlint reproduce` over a faked pipeline."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from findings import fake_pipeline

from retainlint.commands import CommandError
from retainlint.commands.reproduce import reproduce


@pytest.fixture(autouse=True)
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_pipeline(monkeypatch)
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text("x = 1\nbad.backward()  # noqa\ny = 2\nbad.backward()\n")
    Path("broken.py").write_text("backward((")
    Path("crash.py").write_text("BUG.backward()")
    Path("clean.py").write_text("backward\n")


@pytest.mark.parametrize("place", ["m.py:2", "m.py:4:1", "./m.py:4:"])
def test_it_prints_the_witness(place: str) -> None:
    out = io.StringIO()
    assert reproduce(place, out) == 0
    assert out.getvalue() == "import torch\nprint('witness')\n"


def test_it_runs_the_witness() -> None:
    out, ran = io.StringIO(), []

    def run(script: str) -> int:
        ran.append(Path(script).read_text())
        return 1

    assert reproduce("m.py:2", out, run) == 1
    assert ran == ["import torch\nprint('witness')\n"]
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("m.py", "is no place; say FILE:LINE"),
        ("m.py:x", "is no place"),
        ("nosuch.py:3", "nosuch.py: no such file"),
        ("m.py:3", "m.py:3: no finding on this line; the file has some on lines 2, 4"),
        ("clean.py:1", "there is none in this file"),
        (
            "crash.py:1",
            "crash.py: not checked: internal error at .*: RecursionError: too deep; this is a bug in retainlint",
        ),
        ("broken.py:1", "RTL900 file-not-checked has no witness: not checked: never closed"),
    ],
)
def test_it_says_why_there_is_none(place: str, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        reproduce(place, io.StringIO())
