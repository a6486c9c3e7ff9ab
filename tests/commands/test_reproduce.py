"""`retainlint reproduce` over a faked pipeline."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from fake_pipeline import fake_pipeline

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
        ran.append(script)
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


def test_a_notebook_is_pointed_into_as_check_prints_it() -> None:
    cells = [{"cell_type": "code", "source": source} for source in ("x = 1", "y = 2\nbad.backward()")]
    Path("a.ipynb").write_text(json.dumps({"cells": cells}))
    for place in ("a.ipynb:cell 2:2", "a.ipynb:cell 2:2:1"):
        out = io.StringIO()
        assert reproduce(place, out) == 0
        assert "witness" in out.getvalue()
    for place in ("a.ipynb:2", "a.ipynb:cell 1:2", "a.ipynb:cell 2:1"):
        with pytest.raises(
            CommandError, match=f"{place}: no finding on this line; the file has some in cell 2, line 2"
        ):
            reproduce(place, io.StringIO())
    with pytest.raises(CommandError, match=r"m\.py:cell 1:2: no finding on this line; the file has some on lines 2, 4"):
        reproduce("m.py:cell 1:2", io.StringIO())
