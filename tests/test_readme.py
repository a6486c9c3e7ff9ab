"""The README shows what the tool prints now, and its commands are those that are checked."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from retainlint import cli
from retainlint.cli.words import WORDS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "train.py"
    program.write_text(blocks("python")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return program


def test_the_finding_shown_is_the_finding_made(
    train: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as exited:
        cli.main(["check", "train.py"])
    assert exited.value.code == 1
    assert capsys.readouterr().out == blocks("text")[0]


def test_torch_agrees_with_the_finding_shown(train: Path) -> None:
    pytest.importorskip("torch", reason="real torch is the judge here")
    done = subprocess.run([sys.executable, str(train)], capture_output=True, text=True, check=False)
    assert 'train.py", line 14' in done.stderr
    assert "Trying to backward through the graph a second time" in done.stderr


def test_the_second_command_is_the_one_that_ci_runs() -> None:
    command = "pip install '.[test]' && pytest"
    assert f"{command}\n" in blocks("sh")
    ci = ROOT / ".ci" / "run"
    pattern = re.search(r'grep -m1 -oE "(.+)" README', ci.read_text(encoding="utf-8"))
    assert pattern is not None
    assert re.findall(pattern[1], README) == [command]


def test_every_command_and_code_named_exists() -> None:
    assert set(re.findall(r"`retainlint ([a-z]+)\b", README)) - {"train"} == set(WORDS)
    assert (ROOT / "fixtures" / "raises").is_dir()


def test_the_configuration_shown_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text(blocks("toml")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exited:
        cli.main(["config"])
    assert exited.value.code == 0


def test_the_figures_are_those_that_were_measured() -> None:
    page = (ROOT / "benchmarks" / "truth" / "README.md").read_text(encoding="utf-8")
    programs = re.search(r"^([\d,]+) programs, `--seed", page, re.MULTILINE)
    recall, precision = (
        re.search(rf"^\| {name} \| .*: ([\d.]+%) \|$", page, re.MULTILINE) for name in ("recall", "precision")
    )
    assert programs and recall and precision
    told = re.search(
        r"On ([\d,]+) random training programs.* found ([\d.]+%) .*reported\s+([\d.]+%) was so", README, re.DOTALL
    )
    assert told is not None
    assert told.groups() == (programs[1], recall[1], precision[1])
