"""`retainlint why`: from a traceback to the story, on real programs; and what is said where that fails."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import write

from retainlint.autograd import errors
from retainlint.commands import CommandError
from retainlint.commands.reproduce import reproduce
from retainlint.commands.why import AnswerStyle, overheard, ran, text_of, why, why_here

TOLD = str(errors.FreedError())
HEAD = "import torch\nw = torch.ones(3, requires_grad=True)\n"
TWICE = HEAD + "loss = (w * w).sum()\nloss.backward()\nloss.backward()\n"


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    write("pyproject.toml", "")
    return tmp_path


def trace(*frames: tuple[str, int, str], told: object = TOLD) -> str:
    rows = "".join(f'  File "{file}", line {row}, in f\n    {text}\n' for file, row, text in frames)
    torch = '  File "/v/lib/python3.11/site-packages/torch/_tensor.py", line 623, in backward\n    torch.autograd.backward(\n'
    return f"Traceback (most recent call last):\n{rows}{torch}RuntimeError: {told}\n"


def answer(text: str) -> tuple[int, str]:
    out = io.StringIO()
    return why(text, out), out.getvalue()


def test_the_story_is_told_of_the_row_that_raised() -> None:
    write("train.py", TWICE)
    code, out = answer("epoch 1\n" + trace(("/elsewhere/proj/train.py", 5, "loss.backward()")))
    assert code == 0
    assert out.startswith(
        "train.py:5: RuntimeError: Trying to backward through the graph a second time\n\ntrain.py:5:1: error[RTL102] "
    )
    assert "built here" in out
    assert "`retainlint reproduce train.py:5`" in out


@pytest.mark.parametrize(
    ("body", "row", "error", "code"),
    [
        ("y = w.exp()\ny += 1\ny.sum().backward()\n", 5, errors.ModifiedError(), "RTL111"),
        ("y = w.detach().sum()\ny.backward()\n", 4, errors.NoGraphError(), "RTL112"),
        ("w += 1\n", 3, errors.LeafModifiedError(), "RTL113"),
    ],
)
def test_each_error_finds_its_own_kind(body: str, row: int, error: object, code: str) -> None:
    write("train.py", HEAD + body)
    text = (HEAD + body).splitlines()[row - 1]
    assert f"train.py:{row}:1: error[{code}] " in answer(trace(("train.py", row, text), told=error))[1]
    other = answer(trace(("train.py", row, text)))
    assert other[0] == 1
    assert code not in other[1]


def test_what_comments_suppress_and_the_program_catches_is_told() -> None:
    write(
        "train.py",
        TWICE.replace("loss.backward()\nloss", "loss.backward()\ntry:\n    loss").rstrip()
        + "  # noqa\nexcept RuntimeError:\n    raise\n",
    )
    assert "train.py:6:5: error[RTL102]" in answer(trace(("train.py", 6, "loss.backward()  # noqa")))[1]


def test_files_are_found_by_the_end_of_their_path() -> None:
    write("src/lab/walk.py", "def walk(loss):\n    loss.backward()\n")
    write("other/walk.py", "x = 1\n")
    write("src/main.py", HEAD + "from lab.walk import walk\nloss = (w * w).sum()\nwalk(loss)\nwalk(loss)\n")
    frames = (("C:\\x\\src\\main.py", 6, "walk(loss)"), ("/root/y/lab/walk.py", 2, "loss.backward()"))
    code, out = answer(trace(*frames))
    assert (code, out.split(":")[0]) == (0, os.path.join("src", "lab", "walk.py"))
    assert "RTL102" in out


def test_a_file_that_was_edited_since_is_told_of() -> None:
    write(
        "train.py",
        "\n\n" + TWICE.replace("loss.backward()\nloss.backward()", "loss.backward()\nlast = 1\nloss.backward(  )"),
    )
    out = answer(trace(("train.py", 6, "loss.backward(  )")))[1]
    assert "note: train.py isn't what it was when it ran; this is about its line 8" in out
    assert "train.py:8:1: error[RTL102]" in out


def test_what_couldnt_be_followed_is_told_nearest_first() -> None:
    write("train.py", "from lib import make\nloss = make()\nloss.backward()\n")
    code, out = answer(trace(("train.py", 3, "loss.backward()")))
    assert code == 1
    assert "The reason wasn't found" in out
    assert "What to try:\n  - " in out


def test_without_its_files_only_the_error_is_explained() -> None:
    code, out = answer(trace(("/home/ann/secret.py", 3, "loss.backward()")))
    assert code == 1
    assert out.startswith("/home/ann/secret.py:3: RuntimeError")
    assert "run this where the program lies" in out
    assert "no traceback before it" in answer(f"RuntimeError: {TOLD}\n")[1]


@pytest.mark.parametrize(
    ("text", "told"),
    [("ok\n", "nothing to explain"), (trace(("a.py", 1, "x"), told="no"), "of no error of autograd's")],
)
def test_there_may_be_nothing_to_explain(text: str, told: str) -> None:
    code, out = answer(text)
    assert code == 1
    assert told in out


def test_a_place_is_enough(room: Path) -> None:
    write("train.py", TWICE)
    out = io.StringIO()
    assert why_here("train.py:5", out, AnswerStyle(as_json=True)) == 0
    found = json.loads(out.getvalue())
    assert (found["explained"], found["exact"], found["findings"][0]["code"]) == (True, True, "RTL102")
    for place in ("train.py:50", "nosuch.py:1", "train.py"):
        with pytest.raises(CommandError):
            why_here(place, io.StringIO())
    with pytest.raises(CommandError, match="is a program"):
        text_of("train.py")


def test_a_notebook_keeps_its_own_traceback() -> None:
    rows: list[Any] = [
        {"cell_type": "markdown", "source": ""},
        {
            "cell_type": "code",
            "execution_count": 7,
            "source": HEAD + "loss = (w * w).sum()\nloss.backward()",
            "outputs": [],
        },
        {"cell_type": "code", "execution_count": 9, "source": "\nloss.backward()", "outputs": []},
    ]
    told = [
        "RuntimeError   Traceback (most recent call last)",
        "Cell \x1b[32mIn[9]\x1b[39m, line 2\n----> 2 loss.backward()",
        f"RuntimeError: {TOLD}",
    ]
    rows[2]["outputs"].append({"output_type": "error", "traceback": told})
    write("a.ipynb", json.dumps({"cells": rows}))
    code, out = answer(text_of("a.ipynb"))
    assert code == 0
    assert out.startswith("a.ipynb:cell 3:2: RuntimeError")
    assert "a.ipynb:cell 3:2:1: error[RTL102]" in out
    here = io.StringIO()
    assert why_here("a.ipynb:cell 3:2", here) == 0
    assert "`retainlint reproduce 'a.ipynb:cell 3:2'` prints this" in here.getvalue()
    assert reproduce("a.ipynb:cell 3:2", io.StringIO()) == 0
    assert "RTL102" in here.getvalue()


def test_a_pipe_is_passed_on_and_its_end_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retainlint.commands.why.KEPT", 10)
    echo = io.BytesIO()
    assert overheard(io.BytesIO(b"x" * 100_000 + b"0123456789"), echo) == "0123456789"
    assert len(echo.getvalue()) == 100_010


def test_escapes_in_a_traceback_are_not_passed_to_the_terminal() -> None:
    out = answer(trace(("/home/\x07ann/\x1b]0;x\x07a.py", 1, "x")))[1]
    assert out.replace("\n", "").isprintable()


def test_a_command_is_run_and_explained(room: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write("train.py", TWICE)
    write(
        "fails.py",
        f"import sys\nprint('epoch 1')\nsys.stderr.write({trace(('train.py', 5, 'loss.backward()'))!r})\nsys.exit(3)\n",
    )
    text, code = ran([sys.executable, "fails.py"])
    assert code == 3
    assert answer(text)[0] == 0
    out, err = capfd.readouterr()
    assert out == "epoch 1\n"
    assert err == text
    with pytest.raises(CommandError, match="nosuch: No such file"):
        ran(["nosuch"])
    if os.name == "posix":
        assert ran(["sh", "-c", "kill -9 $$"]) == ("", 137)
