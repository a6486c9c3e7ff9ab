"""The plugin under flake8's own runner: its options, its `# noqa`, its handling of broken files."""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from retainlint.config import reading
from retainlint.flake8 import Checker

ROOT = Path(__file__).resolve().parent.parent
BAD = """\
import torch

w = torch.ones(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
"""
VARIABLE = """\
from torch.autograd import Variable
import torch

x = Variable(torch.ones(3), requires_grad=True)
(x * x).sum().backward()
"""

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def run(tmp_path: Path, place: Path) -> Run:
    """flake8 in an empty directory; it finds the plugin by the entry points that pyproject.toml declares."""
    pytest.importorskip("flake8", reason="the runner whose plugin this is")
    declared = reading.parse((ROOT / "pyproject.toml").read_text(encoding="utf-8"), "pyproject.toml")
    points = declared["project"]["entry-points"]["flake8.extension"]
    metadata = tmp_path / "site" / "retainlint-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: retainlint\nVersion: 0\n", encoding="utf-8")
    lines = [f"{name} = {where}\n" for name, where in points.items()]
    (metadata / "entry_points.txt").write_text("[flake8.extension]\n" + "".join(lines), encoding="utf-8")
    path = os.pathsep.join([str(metadata.parent), str(ROOT)])

    def run_it(*args: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "flake8", "--isolated", "--jobs", "1", *args],
            capture_output=True, text=True, check=False, cwd=place, input=text, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip

    return run_it


def test_a_finding_is_told_through_flake8(run: Run, place: Path) -> None:
    (place / "train.py").write_text(BAD, encoding="utf-8")
    done = run("train.py")
    assert done.stdout.startswith("train.py:6:1: RTL102 backward-twice: `loss.backward()` backpropagates through ")
    assert done.stdout.endswith("(line 4: built here: this product saves `w`; line 5: frees it)\n")
    assert (done.stdout.count("\n"), done.returncode, done.stderr) == (1, 1, "")
    assert run("--extend-ignore", "RTL102", "train.py").stdout == ""
    assert run("--per-file-ignores", "train.py:RTL1", "train.py").stdout == ""
    assert run("--select", "E,F", "train.py").stdout == ""


def test_comments(run: Run, place: Path) -> None:
    last = "loss.backward()\n"
    (place / "noqa.py").write_text(BAD.removesuffix(last) + "loss.backward()  # noqa: RTL102\n", encoding="utf-8")
    (place / "ours.py").write_text(
        BAD.removesuffix(last) + "loss.backward()  # retainlint: ignore[backward-twice]\n", encoding="utf-8"
    )
    assert run().stdout == ""
    assert [line[:9] for line in run("--disable-noqa").stdout.splitlines()] == ["./noqa.py"]


def test_a_broken_file_is_left_to_flake8(run: Run, place: Path) -> None:
    (place / "broken.py").write_text("loss.backward(\n", encoding="utf-8")
    codes = {line.split()[1] for line in run("broken.py").stdout.splitlines()}
    assert codes and not any(code.startswith("RTL") for code in codes)


def test_imports_of_the_project_are_followed_and_standard_input_is_read(run: Run, place: Path) -> None:
    (place / "helper.py").write_text("def squares(w):\n    return (w * w).sum()\n", encoding="utf-8")
    text = BAD.replace("import torch", "import torch\nfrom helper import squares").replace(
        "(w * w).sum()", "squares(w)"
    )
    (place / "train.py").write_text(text, encoding="utf-8")
    done = run("train.py")
    assert done.stdout.startswith("train.py:7:1: RTL102") and "helper.py:2: built here" in done.stdout
    piped = run("--stdin-display-name", "train.py", "-", text=text)
    assert piped.stdout == done.stdout


def test_a_rule_that_is_off_is_on_when_it_is_named(run: Run, place: Path) -> None:
    (place / "old.py").write_text(VARIABLE, encoding="utf-8")
    assert "RTL306" not in run("--select", "RTL", "old.py").stdout
    assert "old.py:4:5: RTL306" in run("--extend-select", "RTL306", "old.py").stdout
    assert "RTL306" in run("--select", "RTL3", "old.py").stdout


def test_a_source_is_what_flake8_read(tmp_path: Path) -> None:
    """Not what the disk holds, nor in another encoding; and its control characters don't reach the terminal."""
    Checker.parse_options(argparse.Namespace())
    text = "# coding: latin-1\nname = 'é'\n" + BAD.replace("loss", "löss")
    lines = text.splitlines(keepends=True)
    (found,) = Checker(ast.parse(text), str(tmp_path / "gone.py"), lines).run()
    assert found[:2] == (8, 0)
    assert "löss" in found[2]
    hostile = BAD.replace("loss.backward()\n", "loss.backward(\n\x0c)\n")
    told = [row[2] for row in Checker(ast.parse(hostile), "x.py", hostile.splitlines(keepends=True)).run()]
    assert told and "\x0c" not in told[0] and "\n" not in told[0]
