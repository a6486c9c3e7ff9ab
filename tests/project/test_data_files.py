"""Which file a path leads to, and whether the program writes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from retainlint.project.call_index import CallIndex
from retainlint.project.data_files import MOST, DataFiles, writes
from retainlint.project.import_resolution import Modules
from retainlint.text.files import Disk, Held

ENTRY = "run/main.py"


def data_files(files: dict[str, str], main: str = "") -> tuple[DataFiles, Modules]:
    modules = Modules(
        ENTRY, Held({name: text.encode() for name, text in {"setup.py": "", ENTRY: main, **files}.items()})
    )
    return DataFiles(CallIndex(modules, main.encode())), modules


@pytest.mark.parametrize(
    ("files", "path", "said"),
    [
        ({"run/a.json": "1"}, "a.json", b"1"),
        ({"a.json": "2"}, "a.json", b"2"),
        ({"run/a.json": "1", "a.json": "2"}, "a.json", None),
        ({"run/a.json": "1", "a.json": "1"}, "a.json", b"1"),
        ({"a.json": "2"}, "../a.json", b"2"),
        ({"conf/a.json": "2"}, "conf/../conf/./a.json", b"2"),
        ({"conf/a.json": "2"}, os.path.abspath("conf/a.json"), b"2"),
        ({"../a.json": "2"}, "../a.json", None),
        ({"../a.json": "2"}, "../../a.json", None),
        ({"../a.json": "2"}, os.path.abspath("../a.json"), None),
        ({"site-packages/a.json": "2"}, "site-packages/a.json", None),
        ({"conf/a.json": "2"}, "conf", None),
        ({"conf/a.json": "2"}, "conf/", None),
        ({}, "a.json", None),
        ({"a.json": "1"}, "a.json\0", None),
        ({"a.json": "1"}, "", None),
        ({"a.json": "1"}, "~/a.json", None),
    ],
)
def test_where_a_path_leads(files: dict[str, str], path: str, said: bytes | None) -> None:
    assert data_files(files)[0].said(path) == said


def test_what_was_looked_up_is_told() -> None:
    files, modules = data_files({"a.json": "2"})
    files.said("a.json")
    assert modules.lookups[os.path.abspath("run/a.json")] is None
    assert len(modules.lookups[os.path.abspath("a.json")] or "") == 64


def test_so_many_files_are_looked_at() -> None:
    files, _ = data_files({f"{number}.json": "1" for number in range(MOST + 1)})
    assert [files.said(f"{number}.json") for number in range(MOST + 1)] == [b"1"] * MOST + [None]
    assert files.said("0.json") == b"1"


@pytest.mark.skipif(os.name == "nt", reason="needs links and pipes")
def test_links_lead_nowhere_out_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.json").write_text("1")
    project = tmp_path / "project"
    (project / "inner").mkdir(parents=True)
    monkeypatch.chdir(project)
    (project / "inner" / "a.json").write_text("2")
    for name, target in (
        ("out.json", "../secret.json"),
        ("in.json", "inner/a.json"),
        ("zero.json", "/dev/zero"),
        ("up", ".."),
    ):
        (project / name).symlink_to(target)
    os.mkfifo("pipe.json")
    modules = Modules("main.py", Disk())
    files = DataFiles(CallIndex(modules, b""))
    paths = ("out.json", "zero.json", "up/secret.json", "pipe.json", "in.json")
    assert [files.said(path) for path in paths] == [None] * 4 + [b"2"]


@pytest.mark.parametrize(
    ("text", "is_written"),
    [
        ('open("a.json", "w")', True),
        ('open("a.json", mode="a")', True),
        ('open("a.json", "rb+")', True),
        ('open(os.path.join(DIR, "a.json"),\n     "w")', True),
        ('Path("a.json").write_text(x)', True),
        ('A = "a.json"\nwith open(A, "wt") as f: pass', True),
        ('A = "a.json"\nP = os.path.join(D, A)\nP.write_bytes(x)', True),
        ('def save(path="a.json"):\n    path.open("w")', True),
        ('def save(path: Path = Path("a.json")):\n    path.open("w")', True),
        ('shutil.copyfile("b.json", "a.json")', True),
        ('save_config(config, "a.json")', True),
        ('json.dump(x, open("a.json", "w"))', True),
        ('open("a.json")\nopen("b.json", "w")', False),
        ('a = json.load(open("a.json"))\nopen(a["out"], "w")', False),
        ('a = copy.deepcopy(json.load(open("a.json", "rb")))', False),
        ('open("a.json", encoding="utf-8").read()', False),
        ('A = "a.json"\nopen(B, "w")', False),
    ],
)
def test_what_seems_to_write_a_file(text: str, is_written: bool) -> None:
    assert writes([text], "a.json") is is_written


def test_constants_are_known_in_other_modules() -> None:
    assert writes(['CONFIG = "a.json"\n', 'open(CONFIG, "w")\n'], "a.json")
    assert not writes(['path = "a.json"\n', 'open(path, "w")\n'], "a.json")


def test_a_module_that_writes_is_asked_too() -> None:
    files = {"a.json": "1", "run/store.py": 'open("a.json", "w")\n'}
    assert data_files(files, "import store\n")[0].said("a.json") is None
    assert data_files(files, "import stored\n")[0].said("a.json") == b"1"


@pytest.mark.parametrize(
    "text",
    ["x" * 200_000, "write" * 40_000, "a: " * 60_000, "a=" * 90_000, "open('" * 30_000, "(" * 200_000, "\n" * 200_000],
)
def test_long_rows_are_gone_through_once(text: str) -> None:
    assert not writes([f"{text}\n'a.json'"], "a.json") or "(" in text
