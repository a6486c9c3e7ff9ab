"""What is told of a file doesn't depend on which other files were named, nor on the door by which it is asked for."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from retainlint import check, check_source
from retainlint.cache.cache import Cache
from retainlint.checking import linter
from retainlint.checking.scheduler import Running
from retainlint.commands import CommandError
from retainlint.commands.reproduce import reproduce
from retainlint.config import Configs, Settings

MEMORY = """
import torch


class Memory:
    def __init__(self, size):
        self.state = torch.zeros(size)

    def update(self, cell, x):
        self.state = torch.tanh(cell(x) + self.state)
        return self.state
"""
LOOP = """
def fit(model, memory, batches):
    for x in batches:
        loss = memory.update(model, x).sum()
        loss.backward()
"""
TRAIN = """
import torch
from torch import nn

from engine.loop import fit
from engine.memory import Memory


def main():
    model = nn.Linear(3, 3)
    fit(model, Memory(3), [torch.ones(3)] * 3)


main()
"""
WALKED, CALLED = ("engine/loop.py", 5), ("train.py", 11)
FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"
HAS_TORCH = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return _project(tmp_path, monkeypatch, TRAIN)


def _project(room: Path, monkeypatch: pytest.MonkeyPatch, train: str, marker: str = "pyproject.toml") -> Path:
    (room / "engine").mkdir()
    texts = {
        "engine/__init__.py": "",
        "engine/memory.py": MEMORY,
        "engine/loop.py": LOOP,
        "train.py": train,
        marker: "",
    }
    for name, text in texts.items():
        (room / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(room)
    return room


def _told(*names: str) -> list[tuple[str, int, str]]:
    return [(each.place[0], each.place[1], each.code) for each in check(names, isolated=True)]


@pytest.mark.skipif(not HAS_TORCH, reason="asks torch")
def test_torch_raises_there(project: Path) -> None:
    said = subprocess.run([sys.executable, "train.py"], cwd=project, capture_output=True, text=True, check=False).stderr
    assert "a second time" in said
    assert all(f'{name}", line {row},' in said for name, row in (WALKED, CALLED))


@pytest.mark.parametrize("names", [(".",), ("engine/loop.py",), ("train.py", "engine/loop.py")])
def test_a_walk_is_told_in_its_file_whoever_else_was_named(project: Path, names: tuple[str, ...]) -> None:
    assert _told(*names) == [(*WALKED, "RTL104")]


def test_where_its_file_was_not_asked_for_it_is_told_where_it_is_called(project: Path) -> None:
    assert _told("train.py") == [(*CALLED, "RTL104")]
    (found,) = check("train.py", isolated=True)
    assert "(loop.py:5)" in found.message
    assert found.labels[0].text == "called here"
    assert not found.cures
    assert _told("engine/memory.py") == []


def test_a_comment_at_either_place_means_it(project: Path) -> None:
    loop = (project / "engine/loop.py").read_text(encoding="utf-8")
    (project / "engine/loop.py").write_text(loop.replace("backward()", "backward()  # noqa: RTL104"), encoding="utf-8")
    assert _told("train.py") == _told(".") == []
    (project / "engine/loop.py").write_text(loop, encoding="utf-8")
    train = TRAIN.replace("* 3)", "* 3)  # noqa: RTL104")
    (project / "train.py").write_text(train, encoding="utf-8")
    assert _told("train.py") == []
    assert _told(".") == [(*WALKED, "RTL104")]  # and the comment is of use where only its file is asked for


def test_a_text_that_is_given_is_told_the_same(project: Path) -> None:
    told = [each.place[:2] for each in check_source(LOOP, "engine/loop.py", isolated=True)]
    assert told == [WALKED]
    assert [each.place[:2] for each in check_source(TRAIN, "train.py", isolated=True)] == [CALLED]


@pytest.mark.parametrize(("name", "row"), [WALKED, CALLED])
def test_reproduce_knows_both_places(project: Path, name: str, row: int) -> None:
    out = io.StringIO()
    assert reproduce(f"{name}:{row}", out) == 0
    assert "tanh" in out.getvalue()


def test_what_nobody_imports_is_no_program_of_it(project: Path) -> None:
    (project / "train.py").write_text(TRAIN.replace("engine.loop", "other.loop"), encoding="utf-8")
    assert _told("engine/loop.py") == []
    with pytest.raises(CommandError):
        reproduce("engine/loop.py:5", io.StringIO())


def test_without_a_marker_the_files_beside_it_are_its_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _project(tmp_path, monkeypatch, TRAIN, marker="notes.txt")
    assert _told("engine/loop.py") == [(*WALKED, "RTL104")]


def test_without_a_marker_so_is_what_these_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _project(tmp_path, monkeypatch, TRAIN.replace("engine.loop", "tasks.fitting"), marker="notes.txt")
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "__init__.py").touch()
    (tmp_path / "tasks" / "fitting.py").write_text("from engine.loop import fit\n", encoding="utf-8")
    assert _told("engine/loop.py") == [(*WALKED, "RTL104")]


def test_many_names_and_directories_are_told_the_same(project: Path) -> None:
    more = [f"engine/more_{number}.py" for number in range(60)]
    for name in more:
        (project / name).write_text(LOOP, encoding="utf-8")
    assert _told("engine/loop.py", *more) == [(*WALKED, "RTL104")]
    assert _told("engine") == [(*WALKED, "RTL104")]


def test_each_file_has_programs_of_its_own(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retainlint.project.importers.PROGRAMS", 1)
    (project / "other.py").write_text(LOOP, encoding="utf-8")
    (project / "script.py").write_text(TRAIN.replace("engine.loop", "other"), encoding="utf-8")
    both = [WALKED, ("other.py", 5)]
    assert [place for place in both for told in _told(place[0]) if told[:2] == place] == both
    assert [told[:2] for told in _told("engine/loop.py", "other.py")] == both


def test_a_program_may_be_far_away(project: Path) -> None:
    for number in range(6):
        below = f"from step_{number - 1}" if number else "from engine.loop"
        (project / f"step_{number}.py").write_text(f"{below} import fit\n", encoding="utf-8")
    (project / "train.py").write_text(TRAIN.replace("engine.loop", "step_5"), encoding="utf-8")
    assert _told(".") == _told("engine/loop.py") == [(*WALKED, "RTL104")]


@pytest.mark.parametrize("where", ["build/train.py", "scratch/train.py"])
def test_what_a_check_of_the_project_leaves_out_is_no_program_of_it(project: Path, where: str) -> None:
    (project / ".git").mkdir()
    (project / ".gitignore").write_text("scratch/\n", encoding="utf-8")
    (project / where).parent.mkdir()
    (project / "train.py").rename(project / where)
    assert _told(".") == _told("engine/loop.py") == []
    assert _told(where) == [(where, CALLED[1], "RTL104")]


def test_a_project_that_is_checked_as_a_whole_is_not_searched(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retainlint.project.importers.Importers.leading_to", lambda *_: pytest.fail("searched"))
    assert _told(".") == _told(str(project)) == [(*WALKED, "RTL104")]


@pytest.mark.parametrize(
    "call",
    ["main()", "import sys\n\nsys.exit(main())", 'if __name__ == "__main__":\n    main()', "for _ in [0]:\n    main()"],
)
def test_a_script_is_known_by_its_syntax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    text = '"""A script:\n\nfrom . import nothing\n"""\n' + TRAIN.replace("\nmain()", f"\n{call}")
    _project(tmp_path, monkeypatch, text)
    assert _told(".") == [(*WALKED, "RTL104")]


@pytest.mark.parametrize(
    ("made", "names", "row", "told"),
    [
        ("pair", ("pair.py", "main.py"), 15, ("pair.py", 15, "RTL103")),
        ("heir", ("base.py", "heir.py", "main.py"), 12, ("base.py", 12, "RTL103")),
    ],
)
def test_no_other_call_is_assumed_of_what_a_program_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, names: tuple[str, ...], row: int, told: object
) -> None:
    kept = FIXTURES / "projects" / "runs" / f"main_makes_the_{made}_so_that_its_graph_is_kept"
    for name in names:
        (tmp_path / name).write_text((kept / name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def kept_and_told() -> list[int]:
        configs = Configs.alike(Settings(tried=False))
        return [each.place[1] for each in linter.check(["."], configs, None, Running(Cache("cache", str))).diagnostics]

    assert [kept_and_told(), kept_and_told(), _told(names[0])] == [[], [], []]
    (tmp_path / "main.py").write_text((kept / "main.py").read_text(encoding="utf-8").replace("True", "False"))
    assert kept_and_told() == [row]
    (tmp_path / "main.py").unlink()
    assert _told(names[0]) == [told]


def test_what_runs_by_default_is_a_warning_though_its_file_knows_no_default(project: Path) -> None:
    loop = LOOP.replace("def fit(model, memory, batches):", "def fit(model, memory, batches, keep):")
    loop = loop.replace("memory.update(model, x).sum()", "(memory.update(model, x) if keep else model(x)).sum()")
    parsed = (
        "def main():\n    options = argparse.ArgumentParser()\n    options.add_argument('--keep', action='store_true')"
    )
    train = "import argparse\n" + TRAIN.replace("def main():", parsed).replace(
        "* 3)", "* 3, options.parse_args().keep)"
    )
    (project / "engine/loop.py").write_text(loop, encoding="utf-8")
    (project / "train.py").write_text(train, encoding="utf-8")
    for names in (".", "engine/loop.py"):
        assert [(each.place[:2], each.severity.value) for each in check(names, isolated=True)] == [(WALKED, "warning")]
