"""What was ignored in an earlier run is only believed of the same patterns, directories and names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from config.building import configs
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from retainlint.cache import ignore_cache as answers_module
from retainlint.cache.cache import Cache
from retainlint.cache.store import Store, clean, plain, small
from retainlint.config import Configs, Settings
from retainlint.config.table import SettingValue
from retainlint.project.discovery import Ignores, discover, ignored

PACKAGE = Path(__file__).resolve().parents[2]
PLACES = ("", "a", "b", "a/b", "a/a", "a/b/a")
NAMES = ("a.py", "b.py", "c.ipynb", "a/a.py", "a/b.py", "b/a.py", "a/b/a.py", "a/b/b.py", "a/a/b.py", "a/b/a/b.py")
LINES = (
    "a", "a/", "/a", "!a", "!a/", "b", "/b/", "a/b", "/a/b/", "!a/b", "a.py", "!a.py", "*.py", "!*.py", "/*.py", "/*", "!/a",
    "**/b", "**/a.py", "a/**", "!a/**", "a/**/b.py", "**", "[ab].py", "?.py", "*/b.py", "!/a/b/a.py", "# a", "", " ",
    "\\!a", "a.py ", "b\\ ", "***", "[", "!", "/",
)  # fmt: skip

patterns = st.lists(st.sampled_from(LINES), min_size=1, max_size=5).map("\n".join)
ignore_files = st.tuples(st.sampled_from([".gitignore", ".git/info/exclude"]), st.sampled_from(PLACES)).map(
    lambda one: f"{one[1]}/{one[0]}".lstrip("/")
)
changes = st.one_of(
    st.tuples(st.just("write"), ignore_files, patterns),
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("remove"), st.one_of(ignore_files, st.sampled_from(NAMES)), st.just("")),
    st.tuples(st.just("exclude"), st.sampled_from(["a", "b", "*.py", "a.py", "a/b"]), st.just("")),
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """The directories and names for which patterns were matched."""
    questions: list[tuple[str, list[str]]] = []

    def noted(ignores: Ignores, directory: str, names: list[str]) -> set[str]:
        questions.append((os.path.basename(directory), sorted(names)))
        return ignored(ignores, directory, names)

    monkeypatch.setattr(answers_module, "ignored", noted)
    return questions


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.chdir(room)
    return room


def write(name: str, text: str = "") -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def listed(paths: list[str], configs: Configs | None = None, version: str = "1", cache: str = "../cache") -> list[str]:
    """The files that a run finds which knows of earlier ones."""
    return discover(paths, configs or chosen({}), Cache(cache, lambda: version).answers).files


def chosen(values: dict[str, SettingValue]) -> Configs:
    return configs(**values) if values else Configs.alike(Settings())


def files_of_answers() -> list[Path]:
    return sorted(Path("../cache").glob("*/*.ignored"))


def change(kind: str, name: str, text: str, values: dict[str, SettingValue]) -> None:
    if kind == "exclude":
        values["extend-exclude"] = (name,)
    elif kind == "remove":
        Path(name).unlink(missing_ok=True)
    else:
        write(name, text)


@given(
    st.sets(st.sampled_from(NAMES), min_size=3),
    st.dictionaries(ignore_files, patterns, min_size=1, max_size=4),
    st.lists(changes, max_size=6),
    st.sampled_from([".", "a", "a/b"]),
)
@hypothesis_settings(max_examples=150, deadline=None)
def test_what_is_known_is_what_would_be_found(
    names: set[str], ignores: dict[str, str], later: list[tuple[str, str, str]], path: str
) -> None:
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as room:
        try:
            os.mkdir(os.path.join(room, "tree"))
            os.chdir(os.path.join(room, "tree"))
            for name in [*names, "a/b/a.py", ".git/HEAD"]:
                write(name)
            for name, text in ignores.items():
                write(name, text)
            values: dict[str, SettingValue] = {}
            for step in [("write", "a.py", ""), *later]:
                change(*step, values)
                plain = discover([path], chosen(values)).files
                assert listed([path], chosen(values)) == plain
                assert listed([path], chosen(values)) == plain
        finally:
            os.chdir(here)


@pytest.mark.usefixtures("tree")
def test_what_did_not_change_is_not_asked_again(asked: list[tuple[str, list[str]]]) -> None:
    for name in ("a.py", "out/b.py", "sub/c.py", "sub/d.py", "sub/x.txt"):
        write(name)
    write(".gitignore", "out/\n")
    write("sub/.gitignore", "d.py\n")
    assert listed(["."]) == ["a.py", "sub/c.py"]
    assert asked == [("room", ["a.py", "out/", "sub/"]), ("sub", ["c.py", "d.py"])]
    asked.clear()
    assert listed(["."]) == ["a.py", "sub/c.py"] and asked == []
    write("sub/e.txt")  # which isn't asked for
    assert listed(["."]) == ["a.py", "sub/c.py"] and asked == []
    write("sub/e.py")
    assert listed(["."]) == ["a.py", "sub/c.py", "sub/e.py"] and asked == [("sub", ["c.py", "d.py", "e.py"])]
    asked.clear()
    write("sub/.gitignore", "e.py\n")
    assert listed(["."]) == ["a.py", "sub/c.py", "sub/d.py"] and [directory for directory, _ in asked] == ["sub"]
    asked.clear()
    write(".gitignore", "a.py\n")
    assert listed(["."]) == ["out/b.py", "sub/c.py", "sub/d.py"]
    assert sorted(directory for directory, _ in asked) == ["out", "room", "sub"]
    asked.clear()
    assert listed(["."], version="2") == ["out/b.py", "sub/c.py", "sub/d.py"] and len(asked) == 3


@pytest.mark.usefixtures("tree")
def test_directories_of_one_name_have_their_own_answers() -> None:
    for name in ("a/x.py", "b/a/x.py", "b/x.py"):
        write(name)
    write(".gitignore", "/a/x.py\n")
    for _ in range(2):
        assert listed(["."]) == ["b/a/x.py", "b/x.py"]


@pytest.mark.usefixtures("tree")
def test_each_tree_has_its_own_answers(asked: list[tuple[str, list[str]]]) -> None:
    for name in (".git/HEAD", "a/x.py", "b/x.py", "b/y.py"):
        write(name)
    write(".gitignore", "y.py\n")
    for _ in range(2):
        assert listed(["a"]) == ["a/x.py"]
        assert listed(["b"]) == ["b/x.py"]
        assert listed(["."]) == ["a/x.py", "b/x.py"]
    assert len(asked) == 2 + 2 + 3
    assert len(files_of_answers()) == 3
    assert clean("../cache") == 4 and not os.path.exists("../cache")


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + b"x",
        lambda data: b"\0" * len(data),
    ],
)
def test_answers_that_are_not_whole_are_asked_anew(spoil: Callable[[bytes], bytes]) -> None:
    for name in ("a.py", "out/b.py"):
        write(name)
    write(".gitignore", "out/\n")
    assert listed(["."]) == ["a.py"]
    (file,) = files_of_answers()
    good = file.read_bytes()
    spoilt = spoil(good)
    assert spoilt != good
    file.write_bytes(spoilt)
    assert listed(["."]) == ["a.py"]
    assert file.read_bytes() == good


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: b"[]",
        lambda body: b"[" * 100_000,
        lambda body: b"{}",
        lambda body: b"\xff\xfe",
        lambda body: body.replace(b"[[-1", b"[[[]"),
        lambda body: body.replace(b'["out/"]', b"7"),
    ],
)
def test_answers_that_are_not_as_we_wrote_them_are_asked_anew(spoil: Callable[[bytes], bytes]) -> None:
    for name in ("a.py", "out/b.py"):
        write(name)
    write(".gitignore", "out/\n")
    assert listed(["."]) == ["a.py"]
    file = Store("../cache", "1").file("ignored", os.getcwd())
    good = file.read()
    body = plain(good[0])
    assert spoil(body) != body
    assert file.write({0: small(spoil(body))})
    assert listed(["."]) == ["a.py"]
    assert file.read() == good


def test_a_tree_that_was_moved_is_asked_anew(tree: Path, asked: list[tuple[str, list[str]]]) -> None:
    write(".gitignore", "/a.py\n")
    write("a.py")
    write("sub/a.py")
    assert listed(["."]) == ["sub/a.py"]
    os.chdir("..")
    shutil.move(tree, "elsewhere")
    os.chdir("elsewhere")
    asked.clear()
    assert listed(["."]) == ["sub/a.py"] and len(asked) == 2


@pytest.mark.usefixtures("tree")
@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="needs file names of any bytes")
def test_names_and_patterns_that_are_no_utf_8_are_kept(asked: list[tuple[str, list[str]]]) -> None:
    for name in (b"\xff.py", b"\xfe.py", b"a\nb.py"):
        Path(os.fsdecode(name)).write_text("")
    Path(".gitignore").write_bytes(b"\xff.py\n")
    found = discover(["."], chosen({})).files
    assert len(found) == 2
    assert listed(["."]) == found
    asked.clear()
    assert listed(["."]) == found and asked == []


@pytest.mark.usefixtures("tree")
def test_without_a_place_to_keep_them_answers_are_lost() -> None:
    write(".gitignore", "b.py\n")
    write("a.py")
    write("b.py")
    write("../file")
    assert listed(["."], cache="../file") == ["a.py"]
    assert listed(["."], cache="") == ["a.py"]
    assert sorted(os.listdir()) == [".gitignore", "a.py", "b.py"]


@pytest.mark.usefixtures("tree")
def test_a_tree_without_patterns_leaves_nothing() -> None:
    write("a.py")
    assert listed(["."]) == ["a.py"]
    assert not os.path.exists("../cache")


@pytest.fixture
def repository(tree: Path) -> Iterator[Path]:
    write(".git/HEAD")
    write(".gitignore", "out/\n")
    write("a.py", "x = 1\n")
    write("out/b.py", "x = 1\n")
    yield tree


@pytest.mark.usefixtures("repository")
def test_a_warm_run_matches_no_patterns() -> None:
    def imported(*options: str) -> bool:
        script = (
            "import sys\nfrom retainlint.cli import cli\n"
            "try: cli.main(['check', '-q', *sys.argv[1:], '.'])\n"
            "except SystemExit as end: print(end.code, 'pathspec' in sys.modules)\n"
        )
        command = [sys.executable, "-c", script, *options]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(PACKAGE)}
        )
        code, found = done.stdout.split()
        assert code == "0", done.stderr
        return found == "True"

    assert imported("--no-cache") and not os.path.exists(".retainlint_cache")
    assert imported()
    assert not imported()
    assert imported("--no-cache")
    write(".gitignore", "out\n")
    assert imported()
    assert not imported()
