"""`retainlint run`: output, exit code, traceback, story, trace and picture, as a user gets them."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CALL = "import sys, pathlib; from retainlint.commands.run import run; o = sys.argv[1:]; "
CALL += "g = next((pathlib.Path(a[8:]) for a in o if a.startswith('--graph=')), None); "
CALL += "p = [a for a in o if not a.startswith('--')]; sys.exit(run(pathlib.Path(p[0]), p[1:], trace='--trace' in o, graph=g))"

TWICE = """\
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)


def loss():
    return (w * w).sum()


kept = loss()
kept.backward()
print(w.grad)
kept.backward()
"""


def run(tmp_path: Path, text: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a script as `retainlint run` does, where no torch can be found."""
    script = tmp_path / "train.py"
    script.write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", CALL, str(script), *args]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_story_of_a_freed_graph(tmp_path: Path) -> None:
    done = run(tmp_path, TWICE)
    assert done.returncode == 1
    assert done.stdout == "tensor([2., 4.])\n"
    error, _, story = done.stderr.partition("\n\nhow it came about:\n")
    lines = error.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "{tmp_path / "train.py"}", line 13, in <module>'
    assert lines[-1].startswith("RuntimeError: Trying to backward through the graph a second time (or directly")
    assert "face" not in error
    assert [line.split()[:2] for line in story.splitlines()] == [
        ["built", "train.py:7"],
        ["freed", "train.py:11"],
        ["reused", "train.py:13"],
    ]
    assert "return (w * w).sum()" in story
    assert "MulBackward0 saved self, other" in story


def test_story_of_a_changed_tensor(tmp_path: Path) -> None:
    text = "import torch\nw = torch.ones(2, requires_grad=True)\ny = (w * 2).exp()\ny /= 2\ny.sum().backward()\n"
    done = run(tmp_path, text)
    assert "[torch.FloatTensor [2]], which is output 0 of Exp, is at version 1; expected version 0" in done.stderr
    story = done.stderr.partition("how it came about:\n")[2]
    assert [line.split()[:2] for line in story.splitlines()] == [
        ["built", "train.py:3"],
        ["changed", "train.py:4"],
        ["failed", "train.py:5"],
    ]


def test_story_only_of_the_error_that_ended_the_run(tmp_path: Path) -> None:
    text = TWICE.replace(
        "kept.backward()\nprint", "kept.backward()\ntry:\n    kept.backward()\nexcept RuntimeError:\n    pass\nprint"
    )
    done = run(tmp_path, text.rsplit("kept.backward()", 1)[0] + "1 / 0\n")
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("import torch\n", 0),
        ("raise SystemExit(3)\n", 3),
        ("import sys\nsys.exit()\n", 0),
        ("raise SystemExit('no')\n", 1),
    ],
)
def test_exit_codes(tmp_path: Path, text: str, code: int) -> None:
    assert run(tmp_path, text).returncode == code


def test_scripts_see_their_arguments_and_neighbours(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text("from torch import nn\nclass Net(nn.Linear):\n    pass\n")
    done = run(tmp_path, "import sys\nfrom layers import Net\nprint(sys.argv[1:], __name__, Net(1, 1))\n", "a", "b")
    assert done.stdout == "['a', 'b'] __main__ Net(in_features=1, out_features=1, bias=True)\n"


def test_what_is_lacking_is_named_with_the_line(tmp_path: Path) -> None:
    for text in (
        "import torch\n\ntorch.fft.fft(1)\n",
        "import torch\n\nimport torch.fft\n",
        "import torch\n\nfrom torch import fft\n",
    ):
        done = run(tmp_path, text)
        assert done.stderr.rstrip().endswith("retainlint's reference core has no torch.fft yet (train.py:3)")


def test_syntax_errors_and_missing_files_are_told(tmp_path: Path) -> None:
    done = run(tmp_path, "def f(:\n")
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr
    gone = subprocess.run(
        [sys.executable, "-c", CALL, str(tmp_path / "gone.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert gone.returncode == 2
    assert "can't open" in gone.stderr


def test_control_characters_are_not_shown(tmp_path: Path) -> None:
    done = run(tmp_path, TWICE.replace("return (w * w).sum()", "return (w * w).sum()  # \x1b[31m"))
    story = done.stderr.partition("how it came about:\n")[2]
    assert "\x1b" not in story
    assert "\\x1b[31m" in story


def test_trace_tells_the_life_of_each_graph(tmp_path: Path) -> None:
    lines = run(tmp_path, TWICE, "--trace").stderr.splitlines()
    assert lines[0] == "trace: train.py:7  builds MulBackward0 #1, saving self, other"
    assert "trace: train.py:11  backward pass 1 begins, freeing what it passes" in lines
    assert "trace: train.py:11  backward pass 1 frees self, other of MulBackward0 #1" in lines
    assert "trace: train.py:13  backward pass 2 fails at MulBackward0 #1" in lines


def test_graph_draws_freed_nodes_as_such(tmp_path: Path) -> None:
    picture = tmp_path / "out.svg"
    run(tmp_path, TWICE, f"--graph={picture}")
    text = picture.read_text(encoding="utf-8")
    groups = [g.get("class") or "" for g in ElementTree.fromstring(text).iter() if g.get("data-n")]
    assert sorted(groups) == ["n f", "n p", "n p leaf"]
    assert "MulBackward0" in text
    assert "train.py:7" in text


def test_a_notebook_is_no_script(tmp_path: Path) -> None:
    notebook = tmp_path / "a.ipynb"
    notebook.write_text('{"cells": [{"execution_count": null}]}')
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CALL, str(notebook)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert "a.ipynb is a notebook" in done.stderr
    assert "Traceback" not in done.stderr
