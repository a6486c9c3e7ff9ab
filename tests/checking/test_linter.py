"""The pipeline around the machine: what is read, what is skipped, what goes on when something breaks."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from fake_pipeline import fake_pipeline

from retainlint.checking import linter
from retainlint.config import Configs, Settings
from retainlint.diagnostic import Diagnostic

BAD = b"bad.backward()\n"


@pytest.fixture(autouse=True)
def pipeline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_pipeline(monkeypatch)
    monkeypatch.chdir(tmp_path)


def places(diagnostics: list[Diagnostic] | tuple[Diagnostic, ...]) -> list[tuple[str, int, int, str]]:
    spans = [(d, d.primary.span) for d in diagnostics]
    return [(span.source.name, span.row, span.column, d.code) for d, span in spans]


def check(data: bytes, settings: Settings | None = None) -> linter.FileResult:
    return linter.check_source("m.py", data, settings or Settings())


def test_findings_come_once_and_in_order() -> None:
    found = places(check(b"bad.backward(); bad.backward()\n" + BAD).diagnostics)
    assert found == [("m.py", 1, 1, "RTL101"), ("m.py", 1, 17, "RTL101"), ("m.py", 2, 1, "RTL101")]


def test_files_come_in_order(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "a/z.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        if not (tmp_path / name).exists():
            (tmp_path / name).write_bytes(BAD * 2)
    result = linter.check(["b.py", "."], Configs.alike(Settings()))
    assert [(place[0], place[1]) for place in places(result.diagnostics)] == [
        ("a.py", 1), ("a.py", 2), ("a/z.py", 1), ("a/z.py", 2), ("b.py", 1), ("b.py", 2),
    ]  # fmt: skip
    assert result.files == 3


def test_a_file_without_a_walk_is_never_read_as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retainlint.lowering.lower", lambda source: pytest.fail("parsed"))
    assert check(b"def f((: \xff").diagnostics == ()


@pytest.mark.parametrize(
    ("data", "row", "column", "words"),
    [
        (b"x = 1\nf((x.backward()\n", 2, 2, "never closed"),
        (b"x.backward = '\xe9'\n", 1, 1, "not valid utf-8"),
        (b"#\n#\nx.backward = '\xe9'\n", 1, 1, "utf-8"),
        (b"# coding: nonsense\nx.backward\n", 1, 1, "nonsense"),
        (b"# coding: idna\nx.backward = '\xff'\n", 1, 1, "idna"),
        ("backward".encode("utf-16"), 1, 1, "null bytes"),
    ],
)
def test_what_is_no_python_is_one_finding(data: bytes, row: int, column: int, words: str) -> None:
    result = check(data)
    assert places(result.diagnostics) == [("m.py", row, column, "RTL900")]
    assert words in result.diagnostics[0].message
    assert not result.crash


def test_a_declared_encoding_is_understood() -> None:
    assert check("# coding: latin-1\né = 1; bad.backward()\n".encode("latin-1")).diagnostics[0].primary.span.column == 8


def test_an_unreadable_file_is_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_bytes(BAD)
    (tmp_path / "b.py").write_bytes(BAD)

    def deny(name: str, mode: str) -> object:
        if name == "a.py":
            raise PermissionError(13, "Permission denied")
        return (tmp_path / name).open(mode)

    monkeypatch.setattr("builtins.open", deny)
    result = linter.check(["."], Configs.alike(Settings()))
    assert places(result.diagnostics) == [("a.py", 1, 1, "RTL900"), ("b.py", 1, 1, "RTL101")]
    assert "Permission denied" in result.diagnostics[0].message


@pytest.mark.parametrize("error", [RecursionError("too deep"), MemoryError(), KeyError("k"), AssertionError()])
def test_a_bug_of_ours_is_told_and_the_rest_goes_on(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from retainlint import symbolic

    explore = symbolic.explore

    def broken(program: Any, **more: object) -> object:
        if "BUG" in program.source.text:
            raise error
        return explore(program, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(symbolic, "explore", broken)
    (tmp_path / "a.py").write_bytes(b"BUG.backward()\n")
    (tmp_path / "b.py").write_bytes(BAD)
    result = linter.check(["."], Configs.alike(Settings()))
    assert places(result.diagnostics) == [("a.py", 1, 1, "RTL900"), ("b.py", 1, 1, "RTL101")]
    assert type(error).__name__ in result.diagnostics[0].message
    assert "report" in result.diagnostics[0].help
    assert [crash.name for crash in result.crashes] == ["a.py"]
    assert "Traceback" in result.crashes[0].crash


def test_an_internal_error_is_told_whatever_is_selected() -> None:
    result = check(b"BUG.backward()", Settings(codes=frozenset()))
    assert result.crash
    assert len(result.diagnostics) == 1


def test_only_selected_codes_are_kept() -> None:
    assert check(BAD, Settings(codes=frozenset({"RTL102"}))).diagnostics == ()
    assert check(BAD, Settings(codes=frozenset({"RTL101"}))).diagnostics != ()
    assert check(b"backward((", Settings(codes=frozenset({"RTL101"}))).diagnostics == ()


def test_comments_suppress() -> None:
    data = b"bad.backward()  # noqa: RTL101\nbad.backward()  # retainlint: ignore[backward-twice]\n"
    result = check(data)
    assert places(result.diagnostics) == [("m.py", 2, 1, "RTL101"), ("m.py", 2, 17, "RTL901")]
    assert len(check(data, Settings(suppressions=False)).diagnostics) == 2


def test_a_result_can_be_sent_to_another_process() -> None:
    result = pickle.loads(pickle.dumps(check(BAD * 2)))
    assert places(result.diagnostics) == [("m.py", 1, 1, "RTL101"), ("m.py", 2, 1, "RTL101")]
    first, second = (d.primary.span.source for d in result.diagnostics)
    assert first is second


def test_progress_is_told_after_each_file(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_bytes(BAD)
    told: list[object] = []
    watching: Any = Mock(side_effect=lambda *said: told.append(said), close=lambda: told.append("closed"))
    linter.check(["."], Configs.alike(Settings()), watching)
    assert told == [(1, 3, 1), (2, 3, 2), (3, 3, 3), "closed"]


def test_an_unlisted_directory_is_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_bytes(BAD)
    (tmp_path / "shut").mkdir()
    import os

    scandir = os.scandir

    def deny(path: str) -> object:
        if path.endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr("os.scandir", deny)
    result = linter.check(["."], Configs.alike(Settings()))
    assert places(result.diagnostics) == [("a.py", 1, 1, "RTL101"), ("shut", 1, 1, "RTL900")]


def test_a_report_of_a_bug_holds_nothing_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where on the machine it lies: it is there to be pasted."""

    def fail(*_: object, **__: object) -> None:
        raise KeyError(own)

    own = "a secret of the file"
    monkeypatch.setattr("retainlint.checking.pipeline.diagnose", fail)
    result = linter.check_source("secret/a.py", b"loss.backward()\n", Settings())
    (found,) = result.diagnostics
    assert "KeyError" in found.message and "KeyError" in result.crash
    assert "secret" not in found.message + result.crash
    assert os.path.expanduser("~") not in result.crash and 'File "retainlint/checking/linter.py"' in result.crash
    assert result.crash.startswith("retainlint ") and "Python 3." in result.crash
