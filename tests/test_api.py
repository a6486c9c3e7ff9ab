"""What a program can ask of retainlint from Python."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import retainlint
from retainlint import CommandError, Severity, check, check_source, render

ROOT = Path(__file__).resolve().parent.parent

BAD = """\
import torch

w = torch.ones(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
"""
HELPER = """\
import torch


def squares(w: torch.Tensor) -> torch.Tensor:
    return (w * w).sum()
"""
IMPORTING = BAD.replace("import torch", "import torch\nfrom helper import squares").replace(
    "(w * w).sum()", "squares(w)"
)


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_text_gives_its_findings() -> None:
    (found,) = check_source(BAD)
    assert (found.code, found.name, found.severity) == ("RTL102", "backward-twice", Severity.ERROR)
    assert (found.primary.span.row, found.primary.span.column) == (6, 1)
    assert [label.span.row for label in found.labels] == [4, 5, 6]
    assert found.witness is not None and "backward" in found.witness.script


def test_bytes_are_decoded_as_python_would() -> None:
    text = "# -*- coding: latin-1 -*-\nname = 'é'\n" + BAD
    assert [each.primary.span.row for each in check_source(text.encode("latin-1"))] == [8]
    assert [each.primary.span.row for each in check_source(text)] == [8]


def test_imports_are_followed_only_from_a_place(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER, encoding="utf-8")
    placed = check_source(IMPORTING, tmp_path / "train.py")
    assert [label.span.source.name for label in placed[0].labels] != ["<text>"] * 3
    assert any(label.span.source.name.endswith("helper.py") for label in placed[0].labels)
    assert not any("helper" in label.span.source.name for each in check_source(IMPORTING) for label in each.labels)


def test_files_and_trees_are_checked(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(BAD, encoding="utf-8")
    (tmp_path / "a.py").write_text(BAD, encoding="utf-8")
    assert [each.primary.span.source.name for each in check(".")] == ["a.py", "b.py"]
    assert len(check([tmp_path / "a.py", "b.py"])) == 2


def test_selection_and_configuration(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BAD, encoding="utf-8")
    assert check("a.py", ignore=["backward-twice"]) == [] == check("a.py", select=["RTL101"])
    (tmp_path / "retainlint.toml").write_text('ignore = ["RTL102"]\n', encoding="utf-8")
    assert check("a.py") == [] == check_source(BAD, "a.py")
    assert [each.code for each in check("a.py", isolated=True)] == ["RTL102"]
    (tmp_path / "other.toml").write_text("", encoding="utf-8")
    assert [each.code for each in check("a.py", config="other.toml")] == ["RTL102"]


def test_what_cannot_be_checked_is_a_finding() -> None:
    assert [each.code for each in check_source("loss.backward(\n")] == ["RTL900"]


def test_errors_are_for_people(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"gone\.py: no such file"):
        check("gone.py")
    with pytest.raises(CommandError, match="unknown rule 'RTL99'"):
        check_source(BAD, select=["RTL99"])
    with pytest.raises(TypeError, match=r"select=\['RTL101'\]"):
        check(".", select="RTL101")
    with pytest.raises(AttributeError, match="chek"):
        retainlint.chek  # type: ignore[attr-defined]  # noqa: B018


def test_the_work_can_be_shared_out(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(BAD)
    with ThreadPoolExecutor(2) as pool:
        found = check(tmp_path, isolated=True, executor=pool)
    assert [d.code for d in found] == [d.code for d in check(tmp_path, isolated=True)] == ["RTL102", "RTL102"]


def test_what_is_public_is_there_and_no_more() -> None:
    for name in retainlint.__all__:
        assert getattr(retainlint, name) is not None
    assert set(retainlint.__all__) <= set(dir(retainlint))


def test_the_import_itself_loads_the_version_alone() -> None:
    script = "import sys, retainlint; print(*[m for m in sys.modules if m.startswith('retainlint.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["retainlint.startup", "retainlint.startup.version"]


def test_the_documented_example_prints_what_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
    program, printed = re.findall(r"```python\n(.*?)```.*?```text\n(.*?)```", page, re.DOTALL)[0]
    exec(compile(program, "example.py", "exec"), {})
    assert capsys.readouterr().out == printed


def test_a_typed_program_is_checked_by_mypy(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    (tmp_path / "use.py").write_text("from retainlint import check\nreveal_type(check('.'))\n", encoding="utf-8")
    out, _, _ = api.run([str(tmp_path / "use.py"), "--cache-dir", str(tmp_path / "cache")])
    assert 'list[retainlint.diagnostic.Diagnostic]"' in out
    assert (ROOT / "retainlint" / "py.typed").exists()


def test_a_finding_as_text_and_as_data() -> None:
    (found,) = check_source(BAD, "a\x1b.py", isolated=True)
    assert str(found) == (
        "a\\x1b.py:6:1: error[RTL102] `loss.backward()` backpropagates through a graph that `loss.backward()` (line 5) "
        "already freed"
    )
    told = found.to_dict()
    assert (told["code"], told["location"], told["severity"]) == ("RTL102", {"row": 6, "column": 1}, "error")
    assert told["fix"] is not None and json.loads(json.dumps(told)) == told


def test_findings_are_rendered_as_the_command_does() -> None:
    found = check_source(BAD, "a.py", isolated=True)
    assert render(found).startswith("a.py:6:1: error[RTL102] backward-twice: ")
    assert "\x1b[1;31m" in render(found, color=True)
    assert json.loads(render(found, "json"))[0] == found[0].to_dict()
    assert json.loads(render(found, "sarif"))["runs"][0]["results"][0]["ruleId"] == "RTL102"
    with pytest.raises(CommandError, match="no output format 'jsn'"):
        render(found, "jsn")
