"""Paths of Windows, wherever this runs: drives, backslashes, shares, and names whose case doesn't count."""

from __future__ import annotations

import ntpath
import os
from pathlib import PureWindowsPath
from types import SimpleNamespace
from typing import Any

import pytest

from retainlint.commands import fix
from retainlint.config import globs
from retainlint.report import places
from retainlint.text import files


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the modules that write paths for others see Windows."""
    seen: Any = SimpleNamespace(path=ntpath, sep="\\", altsep="/", curdir=".", fspath=os.fspath)
    for module in (places, fix, files, globs):
        monkeypatch.setattr(module, "os", seen)


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(
    "path",
    ["C:\\a b\\é.py", "c:\\x", "D:\\", "\\\\server\\share\\a.py", "\\\\server\\share\\a b\\#.py", "C:\\100%\\a.py"],
)
def test_a_uri_is_that_of_pathlib(path: str) -> None:
    assert places.uri(path) == PureWindowsPath(path).as_uri()


@pytest.mark.usefixtures("windows")
def test_a_relative_uri_has_slashes() -> None:
    assert places.uri("a b\\c.py") == "a%20b/c.py"


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("C:\\proj\\src\\a.py", "src/a.py"),
        ("c:\\PROJ\\src\\a.py", "src/a.py"),
        ("C:\\other\\a.py", "C:/other/a.py"),
        ("D:\\proj\\a.py", "D:/proj/a.py"),
        ("\\\\server\\share\\a.py", "//server/share/a.py"),
    ],
)
def test_reports_name_files_with_slashes(name: str, told: str) -> None:
    assert places.relative(name, "C:\\proj") == told


@pytest.mark.usefixtures("windows")
def test_a_diff_names_files_with_slashes() -> None:
    assert fix.quoted("src\\a.py") == "src/a.py"
    assert fix.quoted("C:\\my files\\a.py") == "C:/my files/a.py\t"


@pytest.mark.usefixtures("windows")
def test_the_directories_above() -> None:
    assert list(files.ancestors("C:\\a\\b\\c.py")) == ["C:\\a\\b", "C:\\a", "C:\\"]
    assert list(files.ancestors("\\\\server\\share\\a\\c.py")) == ["\\\\server\\share\\a", "\\\\server\\share\\"]


@pytest.mark.usefixtures("windows")
def test_patterns_are_matched_with_slashes() -> None:
    assert globs._slashed("C:\\proj\\src\\") == "C:/proj/src"
