"""`retainlint check -`: a text through standard input, under a file's name."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from command_line import Run, write

from retainlint import cli

HEAD = "import torch\nw = torch.ones(3, requires_grad=True)\n"
TWICE = HEAD + "loss = (w * w).sum()\nloss.backward()\nloss.backward()\n"
LOOP = HEAD + "h = torch.zeros(3)\nfor i in range(3):\n    h = torch.tanh(w * h)\n    h.sum().backward()  # é\n"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    monkeypatch.chdir(tmp_path)
    write("pyproject.toml", "")

    def called(text: str, *args: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        with pytest.raises(SystemExit) as ended:
            cli.main(["check", *args])
        told = capfdbinary.readouterr()
        return int(ended.value.code or 0), told.out.decode(), told.err.decode()

    return called


def test_it_is_told_under_its_name(run: Run) -> None:
    code, out, _ = run(TWICE, "-", "--output-format", "concise")
    assert (code, out.split(" ")[0]) == (1, "-:5:1:")
    assert run(TWICE, "-", "--stdin-filename", "./a/b.py", "--output-format", "concise")[1].startswith("a/b.py:5:1:")
    assert run(TWICE, "--stdin-filename", "b.py", "--output-format", "json")[1].count("RTL102") == 1
    assert run("x = 1\n", "-")[:2] == (0, "All checks passed! 1 file checked.\n")


def test_settings_are_those_of_its_name(run: Run) -> None:
    write("a/retainlint.toml", 'per-file-ignores = { "b.py" = ["RTL1"] }\n')
    assert [run(TWICE, "-", "--stdin-filename", name)[0] for name in ("a/b.py", "a/c.py")] == [0, 1]
    code, out, err = run(TWICE, "-", "--stdin-filename", "x.py", "--extend-exclude", "x.py", "--force-exclude", "--fix")
    assert (code, out) == (0, TWICE)
    assert "no Python files" in err
    assert run(TWICE, "-", "--stdin-filename", "x.py", "--extend-exclude", "x.py")[0] == 1


def test_imports_are_found_beside_its_name(run: Run) -> None:
    write("a/lib.py", "def make(w):\n    return (w * w).sum().detach()\n")
    text = HEAD + "from lib import make\nmake(w).backward()\n"
    assert "RTL112" in run(text, "-", "--stdin-filename", "a/b.py")[1]
    assert run(text, "-", "--stdin-filename", "b.py")[0] == 0


def test_fixed_it_goes_to_standard_output(run: Run) -> None:
    write("a.py", "x = 1\n")
    code, out, err = run(LOOP, "-", "--stdin-filename", "a.py", "--fix", "--unsafe-fixes")
    assert code == 0
    assert out == LOOP.replace("range(3):\n", "range(3):\n    h = h.detach()\n")
    assert "Fixed 1 finding in 1 file." in err
    assert Path("a.py").read_text() == "x = 1\n"
    assert run(TWICE, "-", "--fix")[:2] == (1, TWICE)
    assert "+    h = h.detach()\n" in run(LOOP, "-", "--diff", "--unsafe-fixes")[1]


def test_a_notebook_may_come_too(run: Run) -> None:
    data = json.dumps({"cells": [{"cell_type": "code", "source": LOOP}]})
    out = run(data, "-", "--stdin-filename", "a.ipynb", "--fix", "--unsafe-fixes")[1]
    assert "h = h.detach()" in json.loads(out)["cells"][0]["source"]


@pytest.mark.parametrize("args", [("-", "a.py"), ("a.py", "--stdin-filename", "b.py"), ("-", "--add-noqa")])
def test_it_comes_alone(run: Run, args: tuple[str, ...]) -> None:
    write("a.py", TWICE)
    code, out, err = run(TWICE, *args)
    assert (code, out) == (2, "")
    assert "Standard input" in err or "standard input" in err
