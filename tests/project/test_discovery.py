"""Which files are checked: trees, .gitignore, links, odd names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from config.building import configs

from retainlint.config import Configs, Settings
from retainlint.config.table import EXCLUDED, SettingValue
from retainlint.project.discovery import Found, MissingPath
from retainlint.project.discovery import discover as discover_with


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.chdir(room)
    return room


def discover(paths: list[str]) -> Found:
    return discover_with(paths, Configs.alike(Settings()))


def write(*names: str, text: str = "") -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def test_a_tree_gives_its_python_files_in_order() -> None:
    write("b.py", "a/c.py", "a/b.py", "a.txt", "c.pyi", "d.ipynb", ".hidden.py", ".dir/e.py")
    assert discover(["."]).files == [".dir/e.py", ".hidden.py", "a/b.py", "a/c.py", "b.py", "d.ipynb"]


def test_each_file_comes_once_however_often_it_is_named() -> None:
    write("a/b.py", "c.py")
    assert discover([".", "a", "./a/../a/b.py", os.path.abspath("c.py")]).files == ["a/b.py", "c.py"]


def test_names_are_relative_below_here_and_else_as_given(tree: Path) -> None:
    write("../far/x.py", "a/b.py")
    assert discover(["../far"]).files == ["../far/x.py"]
    assert discover([str(tree.parent / "far")]).files == [str(tree.parent / "far" / "x.py")]
    assert discover([str(tree)]).files == ["a/b.py"]


def test_a_missing_path_is_named_before_anything_is_listed() -> None:
    write("a.py")
    os.symlink("nowhere", "dangling.py")
    with pytest.raises(MissingPath, match=r"nosuch\.py: no such file or directory; dangling\.py: is a link to nothing"):
        discover(["a.py", "nosuch.py", "dangling.py"])


def test_default_excludes_are_not_entered_unless_named() -> None:
    write(*(f"{name}/x.py" for name in EXCLUDED), "sub/venv/y.py", "build.py")
    assert discover(["."]).files == ["build.py"]
    assert discover(["venv", "sub"]).files == ["venv/x.py"]


def test_a_named_file_is_taken_whatever_it_is_called_and_whoever_ignores_it() -> None:
    write(".gitignore", text="*.py\n")
    write("script", "ignored.py")
    assert discover([".", "script", "ignored.py"]).files == ["ignored.py", "script"]


def test_gitignore_files_nest() -> None:
    write(
        "a.py", "gen_a.py", "sub/gen_b.py", "sub/keep/gen_c.py", "out/d.py", "sub/out/e.py", "top/f.py", "sub/top/g.py"
    )
    write(".gitignore", text="# generated\ngen_*.py\nout/\n/top\n\n")
    write("sub/.gitignore", text="!gen_*.py\n")
    write("sub/keep/.gitignore", text="gen_c.py\r\n")
    assert discover(["."]).files == ["a.py", "sub/gen_b.py", "sub/top/g.py"]


def test_gitignore_above_counts_within_the_repository(tree: Path) -> None:
    write("../.gitignore", text="b.py\n")
    write("repo/.gitignore", text="sub/a.py\nnamed/\n")
    write("repo/.git/info/exclude", text="x.py\n")
    write("repo/sub/a.py", "repo/sub/b.py", "repo/sub/x.py", "repo/named/c.py", "repo/named/x.py")
    assert discover(["repo/sub"]).files == ["repo/sub/b.py"]
    assert discover(["repo/named"]).files == ["repo/named/c.py"], "a directory that is named is entered"


def test_a_repository_inside_another_starts_afresh() -> None:
    write(".gitignore", text="a.py\n")
    write("inner/.git/config", "inner/a.py", "a.py")
    assert discover(["."]).files == ["inner/a.py"]


def test_a_wrong_pattern_is_left_out() -> None:
    write(".gitignore", text="!\na.py\n\\\n")
    write("a.py", "b.py")
    assert discover(["."]).files == ["b.py"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX file kinds")
def test_odd_entries_survive() -> None:
    write("dir.py/inner.py", "real.py")
    os.symlink("nowhere.py", "dangling.py")
    os.symlink("loop.py", "loop.py")
    os.symlink(".", "around")
    os.symlink("real.py", "linked.py")
    os.mkfifo("pipe.py")
    assert discover(["."]).files == ["dir.py/inner.py", "linked.py", "real.py"]
    assert discover(["dir.py"]).files == ["dir.py/inner.py"]
    assert discover(["around/dir.py"]).files == ["around/dir.py/inner.py"]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="needs file names of any bytes")
def test_a_name_that_is_no_utf_8_survives() -> None:
    Path(os.fsdecode(b"\xff\xfe.py")).write_text("")
    write(".gitignore", text="x\n")
    assert [os.fsencode(name) for name in discover(["."]).files] == [b"\xff\xfe.py"]


def test_git_agrees(tree: Path) -> None:
    """The judge of .gitignore is git itself."""
    patterns = ["*.py", "!keep*.py", "/a/*.py", "b/**/x.py", "**/c/", "d\\ .py", "!/a/keep.py", "e/*", "!e/f/"]
    write(".gitignore", text="\n".join(patterns[3:]) + "\n")
    write("a/.gitignore", text="\n".join(patterns[:3]) + "\n")
    names = [f"{top}{middle}{name}.py" for top in ("", "a/", "b/", "e/") for middle in ("", "c/", "f/", "a/")
             for name in ("x", "keep", "d ", "k")]  # fmt: skip
    write(*names)
    try:
        subprocess.run(["git", "init", "-q"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs git")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard", "*.py"], check=True, capture_output=True, text=True
    )
    assert discover(["."]).files == sorted(name for name in listed.stdout.split("\0") if name)


def chosen(*paths: str, texts: tuple[str, ...] = (), **values: SettingValue) -> list[str]:
    return discover_with(paths or ["."], configs(*texts, **values)).files


def test_patterns_leave_out_files_and_directories() -> None:
    write("a.py", "gen/b.py", "lib/c.py", "lib/sub/gen/d.py", "lib/sub/e_pb2.py", "venv/f.py")
    assert chosen(extend_exclude=("gen", "*_pb2.py")) == ["a.py", "lib/c.py"]
    assert chosen(extend_exclude=("lib/sub/*",)) == ["a.py", "gen/b.py", "lib/c.py"]
    assert chosen("lib", extend_exclude=("lib/sub",)) == ["lib/c.py"], "patterns are relative to the root, not the path"
    assert chosen(exclude=("gen",)) == ["a.py", "lib/c.py", "lib/sub/e_pb2.py", "venv/f.py"]


def test_what_is_included() -> None:
    write("a.py", "b.pyw", "src/c.py", "d")
    assert chosen(extend_include=("*.pyw",)) == ["a.py", "b.pyw", "src/c.py"]
    assert chosen(include=("src/*.py",)) == ["src/c.py"]
    assert chosen("d", include=()) == ["d"]


def test_a_named_file_is_left_out_only_by_force() -> None:
    write("gen/a.py", "b.py", "venv/c.py")
    assert chosen("gen/a.py", "b.py", extend_exclude=("gen",)) == ["b.py", "gen/a.py"]
    assert chosen("gen/a.py", "b.py", "venv/c.py", "venv", extend_exclude=("gen",), force_exclude=True) == ["b.py"]


def test_a_directory_above_the_root_is_not_forced_out(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("build/project/a.py")
    monkeypatch.chdir("build/project")
    assert chosen("a.py", force_exclude=True) == ["a.py"]


def test_git_may_be_told_to_mind_its_own_business() -> None:
    write(".gitignore", text="a.py\n")
    write("a.py", "b.py")
    assert chosen(respect_gitignore=False) == ["a.py", "b.py"]
    assert chosen(texts=("respect-gitignore = false",)) == ["a.py", "b.py"]


def test_each_directory_has_the_patterns_of_the_nearest_file() -> None:
    write("a.py", "x.py", "sub/x.py", "sub/y.py", "sub/deep/y.py")
    write("retainlint.toml", text='extend-exclude = ["x.py"]\n')
    write("sub/retainlint.toml", text='exclude = ["y.py"]\n')
    assert chosen() == ["a.py", "sub/x.py"]
