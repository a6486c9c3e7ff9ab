"""Whole projects before the linter: what torch raised is told in the file where it was raised, however they are asked for."""

from __future__ import annotations

import importlib.util
import os
import pickle
import shutil
from pathlib import Path

import pytest
from project_fixtures import Project, projects, recorded

from retainlint.checking import linter
from retainlint.config import Configs, Settings
from retainlint.diagnostic import Diagnostic, Severity
from retainlint.text.files import Held

HAS_TORCH = importlib.util.find_spec("torch") is not None
VERDICTS = recorded()
PLAIN = Configs.alike(Settings())


def place(diagnostic: Diagnostic) -> tuple[str, int, str]:
    span = diagnostic.primary.span
    return span.source.name, span.row, diagnostic.code


def errors(*paths: str) -> list[tuple[str, int, str]]:
    found = linter.check(paths, PLAIN)
    assert not found.crashes
    return [place(each) for each in found.diagnostics if each.severity is Severity.ERROR]


def wanted(project: Project) -> list[tuple[str, int, str]]:
    verdict = VERDICTS[project.name]
    return [(verdict["file"], verdict["line"], verdict["code"])] if verdict["raises"] else []


@pytest.fixture(params=projects(), ids=lambda project: project.name)
def project(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Project:
    found: Project = request.param
    monkeypatch.chdir(found.path)
    return found


def test_the_tree_is_told_of_what_torch_raised(project: Project) -> None:
    assert errors(".") == wanted(project)


TOLD_BY_OTHERS = {
    "launcher_names_an_agent_that_shares_a_graph",
    "plugin_makes_a_class_that_remembers",
    "trainer_steps_before_the_policy_walks",
}
"""Projects whose main script names by a text what it runs, or whose failure its module shows by itself."""


def test_the_main_script_alone_is_told_of_its_own_places_and_of_its_calls(project: Project) -> None:
    main = project.main.relative_to(project.path).as_posix()
    told, all_told = errors(main), wanted(project)
    own = [each for each in all_told if each[0] == main]
    assert told == own if own or project.path.name in TOLD_BY_OTHERS else {file for file, *_ in told} <= {main}
    if project.path.name not in TOLD_BY_OTHERS:
        assert [code for *_, code in told] == [code for *_, code in all_told]


def test_the_marks_tell_the_story(project: Project) -> None:
    """Each mark is a label of the finding, in the file where it stands."""
    for diagnostic in linter.check(["."], PLAIN).diagnostics:
        if diagnostic.severity is Severity.ERROR:
            told = {(label.span.source.name, label.span.row) for label in diagnostic.labels}
            assert {(file, mark.line) for file, mark in project.marks()} <= told


def test_each_witness_raises_in_torch(project: Project, tmp_path: Path) -> None:
    for diagnostic in linter.check(["."], PLAIN).diagnostics:
        if diagnostic.severity is not Severity.ERROR:
            continue
        assert diagnostic.witness is not None
        if HAS_TORCH:
            from judge_torch import judge

            script = tmp_path / "witness.py"
            script.write_text(diagnostic.witness.script, encoding="utf-8")
            assert judge(script).sentence == VERDICTS[project.name]["sentence"]


# -- what was asked for -------------------------------------------------------------------------------------------

ENGINE = Path("raises") / "engine_walks_one_graph_in_each_epoch"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy whose finding lies in `engine.py`, while `main.py` leads to it."""
    from project_fixtures import ROOM

    copy = tmp_path / "project"
    shutil.copytree(ROOM / ENGINE, copy)
    monkeypatch.chdir(copy)
    return copy


def test_a_finding_shows_where_its_file_was_asked_for(engine: Path) -> None:
    told = ("engine.py", 8, "RTL101")
    assert errors("engine.py") == [told]  # who calls is found in its project
    assert [(file, code) for file, _, code in errors("main.py")] == [("main.py", "RTL101")]  # where that calls it
    assert errors("main.py", "engine.py") == errors("engine.py", "main.py") == [told]
    assert errors(".") == [told]


def test_it_shows_under_the_name_that_was_asked_for(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = engine / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert errors("../main.py", "../engine.py") == [(os.path.join("..", "engine.py"), 8, "RTL101")]


def test_comments_and_settings_are_those_of_its_file(engine: Path) -> None:
    text = (engine / "engine.py").read_text(encoding="utf-8")
    row = "    loss.backward()  #~ freed #~ reused RTL101"
    assert row in text
    (engine / "engine.py").write_text(text.replace(row, "    loss.backward()  # retainlint: ignore"), encoding="utf-8")
    found = linter.check(["."], Configs.alike(Settings()))
    assert [place(each) for each in found.diagnostics] == []  # nor is the comment called useless
    found = linter.check(["."], Configs.alike(Settings(suppressions=False)))
    assert [place(each) for each in found.diagnostics] == [("engine.py", 8, "RTL101")]


def test_a_check_is_a_function_of_what_it_is_given(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same from memory as from the disk; what goes in and comes out can go to another process."""
    from_disk = linter.check_file("main.py", Settings())
    files = Held({path.relative_to(engine).as_posix(): path.read_bytes() for path in sorted(engine.rglob("*.py"))})
    data = (engine / "main.py").read_bytes()
    monkeypatch.setattr("builtins.open", lambda *_: pytest.fail("a file was opened"))
    from_memory = linter.check_source("main.py", data, Settings(), pickle.loads(pickle.dumps(files)))
    assert [place(each) for each in from_memory.beyond] == [place(each) for each in from_disk.beyond]
    again = pickle.loads(pickle.dumps(from_memory))
    assert [place(each) for each in again.beyond] == [("engine.py", 8, "RTL101")]
    assert again.lookups == from_memory.lookups
    read = {os.path.relpath(name) for name, digest in from_memory.lookups.items() if len(digest or "") == 64}
    assert read == {"engine.py", "models.py"}


def test_a_result_depends_on_no_other_file_of_the_run(engine: Path) -> None:
    first = linter.check_file("main.py", Settings())
    for name in ("models.py", "engine.py"):
        linter.check_file(name, Settings())
    assert pickle.dumps(linter.check_file("main.py", Settings())) == pickle.dumps(first)


def test_an_imported_file_that_is_no_python_is_told_only_where_it_was_asked_for(engine: Path) -> None:
    (engine / "engine.py").write_text("def train_one_epoch(:\n    loss.backward()\n", encoding="utf-8")
    assert errors("main.py") == []
    assert [code for _, _, code in errors("main.py", "engine.py")] == ["RTL900"]
