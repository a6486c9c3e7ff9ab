"""What is kept between runs: used only where nothing changed, whatever stands in the cache's directory."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import BAD, write
from fake_pipeline import fake_pipeline

from retainlint.cache.cache import Cache, tool
from retainlint.cache.store import DAY, TAG, Store, clean, plain, prepared, small
from retainlint.checking import linter
from retainlint.checking.scheduler import Running
from retainlint.config import Configs, Settings
from retainlint.text import files

CONFIGS = Configs.alike(Settings())
USES = "from nets import loss\nloss.backward()\nloss.backward()\n"
NETS = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\n"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def age(*names: str) -> None:
    """Make files older than the time in which a change may go unseen."""
    for name in names:
        then = time.time() - 100
        os.utime(name, (then, then))


@pytest.fixture
def aged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as old enough for its times to be trusted."""
    monkeypatch.setattr("retainlint.cache.cache.YOUNG", -(10**12))


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that weren't taken from the cache."""
    names: list[str] = []
    check = linter.check_source

    def noted(name: str, *rest: object) -> linter.FileResult:
        names.append(name)
        return check(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(linter, "check_source", noted)
    return names


def run(directory: str = "cache", tool: Callable[[], str] = str, settings: Settings | None = None) -> list[str]:
    configs = CONFIGS if settings is None else Configs.alike(settings)
    found = linter.check(["."], configs, None, Running(Cache(directory, tool)))
    return [f"{d.primary.span} {d.code} {d.message}" for d in found.diagnostics]


def packs(directory: str = "cache") -> list[Path]:
    return sorted(Path(directory).glob("*/*.found"))


def records(pack: Path) -> dict[int, bytes]:
    """What a pack of no version holds, without its head."""
    found: dict[int, bytes] = {}
    data = pack.read_bytes()
    while data:
        head, _, data = data.partition(b"\n")
        _, number, size = head.split()
        found[int(number)], data = plain(data[: int(size)]), data[int(size) :]
    return found


def forge(pack: Path, change: Callable[[dict[int, bytes]], object]) -> None:
    """Put other records into a pack, whole."""
    found = records(pack)
    key = found.pop(-1).decode().split("\n", 2)[2]
    before = dict(found)
    change(found)
    assert found != before
    assert Store("cache", "").file("found", key).write({number: small(data) for number, data in found.items()})


def entries(pack: Path) -> dict[str, list[object]]:
    """What a pack holds of each file."""
    found: dict[str, list[object]] = json.loads(records(pack)[0])[1]
    return found


@pytest.mark.usefixtures("aged")
def test_what_did_not_change_is_not_checked_again(checked: list[str]) -> None:
    write("a.py", USES)
    write("nets.py", NETS)
    first = run()
    assert len(first) == 1 and checked == ["a.py"]
    assert run() == first
    assert checked == ["a.py"]


def test_a_young_file_is_told_by_its_content(checked: list[str]) -> None:
    """Within one tick of the clock a file may change twice: its times prove nothing."""
    write("a.py", BAD)
    run()
    assert entries(packs()[0])["a.py"][0] == ""
    run()
    assert checked == ["a.py"]
    size = os.stat("a.py")
    write("a.py", BAD.replace("bad", "sad"))
    os.utime("a.py", ns=(size.st_atime_ns, size.st_mtime_ns))
    run()
    assert checked == ["a.py", "a.py"]


@pytest.mark.usefixtures("aged")
@pytest.mark.parametrize(
    ("change", "again", "findings"),
    [
        (lambda: write("a.py", USES.replace("loss.backward()\nloss", "loss")), True, 0),
        (lambda: write("nets.py", NETS.replace("(w * w).sum()", "w.sum()")), True, 0),
        (lambda: os.unlink("nets.py"), True, None),
        (lambda: write("nets/__init__.py", NETS.replace("w * w", "w * 1")), True, None),
        (lambda: write("setup.cfg", ""), True, 1),
        (lambda: os.utime("a.py"), False, 1),
        (lambda: os.utime("nets.py"), False, 1),
        (lambda: write("other.py", "x = 1\n"), False, 1),
    ],
    ids=[
        "itself",
        "a module",
        "a module is gone",
        "a package comes first",
        "a root",
        "touched",
        "module touched",
        "else",
    ],
)
def test_what_a_result_depends_on(
    change: Callable[[], object], again: bool, findings: int | None, checked: list[str]
) -> None:
    write("a.py", USES)
    write("nets.py", NETS)
    run()
    change()
    checked.clear()
    found = run()
    assert (checked == ["a.py"]) is again
    assert findings is None or len(found) == findings
    assert found == run("afresh")


LOADS = """\
import json, torch
try:
    with open("hp.json") as file:
        hp = json.load(file)
except FileNotFoundError:
    hp = {"keep": False}
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
loss.backward(retain_graph=hp["keep"])
loss.backward()
"""


@pytest.mark.usefixtures("aged")
def test_a_result_depends_on_the_settings_that_are_loaded(checked: list[str]) -> None:
    write("a.py", LOADS)
    changes: tuple[tuple[Callable[[], object], bool, int], ...] = (
        (lambda: None, True, 1),
        (lambda: write("hp.json", '{"keep": true}'), True, 0),
        (lambda: os.utime("hp.json"), False, 0),
        (lambda: write("other.json", "{}"), False, 0),
        (lambda: write("hp.json", '{"keep": false}'), True, 1),
        (lambda: write("hp.json", '{"keep": true}'), True, 0),
        (lambda: os.unlink("hp.json"), True, 1),
    )
    for change, again, findings in changes:
        change()
        checked.clear()
        found = run()
        assert (checked == ["a.py"], len(found)) == (again, findings)
        assert found == run("afresh")


@pytest.mark.usefixtures("aged")
def test_what_was_not_in_a_directory_beyond_is_told_by_one_look_at_it(
    checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"m{number}" for number in range(40)]
    write("setup.cfg", "")
    write("inner/a.py", "\n".join([*(f"import {name}" for name in names), USES]))
    asked: list[str] = []

    def noted(place: str) -> str | None:
        asked.append(place)
        return files.stamp(place)

    monkeypatch.setattr("retainlint.cache.cache.stamp", noted)

    def again() -> int:
        asked.clear()
        linter.check(["inner"], CONFIGS, None, Running(Cache("cache", str), patience=0))
        return len(checked)

    assert (again(), again()) == (1, 1)
    assert not any(os.path.basename(place).startswith("m") for place in asked)
    write("m7.py", "x = 1\n")
    assert (again(), again()) == (2, 2)


@pytest.mark.usefixtures("aged")
def test_settings_versions_and_directories_are_told_apart(checked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write("x/a.py", USES.replace("from nets import loss", NETS))
    cache = os.path.abspath("cache")
    assert len(run(cache)) == 1
    assert run(cache, settings=Settings(codes=frozenset({"RTL104"}))) == []
    assert len(run(cache, lambda: "another version")) == 1
    monkeypatch.chdir("x")
    (found,) = run(cache)
    assert found.startswith("a.py:")
    assert checked == ["x/a.py", "x/a.py", "x/a.py", "a.py"]
    monkeypatch.chdir("..")
    assert run(cache)[0].startswith("x/a.py:")
    assert len(checked) == 4


SPOILT = [
    (0, lambda data: b"[]"),
    (0, lambda data: b"[" * 100_000),
    (0, lambda data: b'{"a": 1}'),
    (0, lambda data: re.sub(rb"\[0,\d+\],", b"[0,1000000000000],", data)),
    (0, lambda data: re.sub(rb"\[0,\d+\],", b'["0",{}],', data)),
    (0, lambda data: re.sub(rb"\[0,\d+\],", b"[-9,-8],", data)),
    (0, lambda data: data.replace(b",1]}", b",7]}")),
    (1, lambda data: b"[" * 100_000),
    (1, lambda data: b"[]"),
    (1, lambda data: b"{}"),
    (1, lambda data: b"\xff\xfe"),
    (1, lambda data: re.sub(rb'\[\d+,"RTL102"', b'[9,"RTL102"', data)),
    (1, lambda data: re.sub(rb'\[\d+,"RTL102"', b'[9999,"RTL102"', data)),
    (1, lambda data: data.replace(b'"RTL102"', b"5")),
    (1, lambda data: data.replace(b"true", b"false")),
    (1, lambda data: re.sub(rb"\[0,\[(\d+),0,", rb"[0,[\1,7,", data)),
    (1, lambda data: re.sub(rb"\[0,\[(\d+),0,\d+,\d+", rb"[0,[\1,0,5,9999", data)),
]
"""The number of a record, and how it is changed: the first holds the entries, the other what was found."""


@pytest.mark.usefixtures("aged")
@pytest.mark.parametrize(("number", "spoil"), SPOILT)
def test_a_pack_that_is_not_as_we_wrote_it_is_made_again(number: int, spoil: Callable[[bytes], bytes]) -> None:
    write("a.py", USES)
    write("nets.py", NETS)
    first = run()
    (pack,) = packs()
    forge(pack, lambda found: found.update({number: spoil(found[number])}))
    assert run() == first
    assert run() == first


@pytest.mark.usefixtures("aged")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + b"x",
        lambda data: b"\0" * len(data),
    ],
)
def test_a_pack_that_is_not_whole_is_made_again(spoil: Callable[[bytes], bytes]) -> None:
    write("a.py", USES)
    write("nets.py", NETS)
    first = run()
    (pack,) = packs()
    pack.write_bytes(spoil(pack.read_bytes()))
    assert run() == first
    assert run() == first


def test_a_record_of_more_than_we_write_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retainlint.cache.store.LARGEST", 1000)
    with pytest.raises(ValueError):
        plain(small(b"0" * 1001))


@pytest.mark.usefixtures("aged")
def test_a_forged_pack_shows_no_other_file() -> None:
    """The texts that a finding points into are shown only if they are those that it was found in."""
    write("secret.txt", "the password\n")
    write("a.py", USES)
    write("nets.py", NETS)
    first = run()
    place = json.dumps(os.path.abspath("a.py")).strip('"').encode()
    other = place.replace(b"a.py", b"secret.txt")
    forge(packs()[0], lambda found: found.update({1: found[1].replace(place, other)}))
    assert run() == first


def test_no_crash_is_kept(monkeypatch: pytest.MonkeyPatch, checked: list[str]) -> None:
    fake_pipeline(monkeypatch)
    write("a.py", "BUG.backward()\n")
    for _ in range(2):
        assert "internal error" in run()[0]
    assert checked == ["a.py", "a.py"]


@pytest.mark.usefixtures("aged")
def test_what_is_no_python_is_kept_too(checked: list[str]) -> None:
    write("a.py", "f((x.backward()\n")
    first = run()
    assert "never closed" in first[0]
    assert run() == first and checked == ["a.py"]


def test_a_directory_that_can_not_be_written_is_done_without() -> None:
    write("file", "")
    write("a.py", BAD)
    assert run("file") == run("file/below") == run("cache")


def test_a_full_disk_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    write("a.py", BAD)
    run()
    assert [name for name in os.listdir("cache") if name.endswith(".new")] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_what_a_killed_run_left_is_in_nobodys_way(monkeypatch: pytest.MonkeyPatch, checked: list[str]) -> None:
    """The next one may have its number, as in containers."""
    write("a.py", BAD)
    prepared("cache")
    with monkeypatch.context() as patched:
        patched.setattr("os.replace", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        child = os.fork()
        if child == 0:
            try:
                run()
            finally:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert [*Path("cache").rglob("*.new")]
    monkeypatch.setattr("os.getpid", lambda: child)
    first = run()
    assert run() == first and checked == ["a.py"]


def test_the_directory_is_marked() -> None:
    write("a.py", BAD)
    run()
    assert Path("cache", ".gitignore").read_text() == "*\n"
    assert Path("cache", TAG).read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_a_directory_of_someone_else_is_left_as_it_is() -> None:
    write("a.py", BAD)
    write("cache/notes.new", "mine\n")
    run()
    assert os.listdir("cache") == ["notes.new"]
    assert clean("cache") == 0
    assert os.listdir("cache") == ["notes.new"]


@pytest.mark.parametrize("marked", [False, True])
def test_a_directory_that_is_empty_or_marked_is_used(marked: bool) -> None:
    """Made by whoever restores a cache, say; what else lies in one that is marked stays."""
    os.mkdir("cache")
    if marked:
        write("a.py", BAD)
        run()
        clean("cache")
        run()
        write("cache/notes.new", "mine\n")
    write("b.py", BAD)
    run()
    assert packs()
    clean("cache")
    assert [name for name in os.listdir("cache") if name == "notes.new"] == ["notes.new"] * marked


def test_clean_removes_all_that_we_wrote() -> None:
    write("a.py", BAD)
    run()
    assert clean("cache") == 3 and not os.path.exists("cache")
    assert clean("cache") == clean("a.py") == 0


@pytest.mark.usefixtures("aged")
def test_two_runs_at_a_time_keep_what_both_found(checked: list[str]) -> None:
    for name in ("a.py", "b.py"):
        write(name, BAD)
    caches = [Cache("cache"), Cache("cache")]
    for cache, name in zip(caches, ("a.py", "b.py")):
        assert cache.get(name, Settings()) is None
    for cache, name in zip(caches, ("a.py", "b.py")):
        linter.check([name], CONFIGS, None, Running(cache))
    checked.clear()
    run()
    assert checked == []


def test_many_runs_at_a_time_leave_a_whole_pack() -> None:
    for number in range(4):
        write(f"m{number}.py", USES.replace("from nets import loss", NETS))
    script = (
        "from retainlint.checking import linter\nfrom retainlint.cache.cache import Cache\nfrom retainlint.config import Configs, Settings\n"
        "from retainlint.checking.scheduler import Running\n"
        "for _ in range(5): print(len(linter.check(['.'], Configs.alike(Settings()), None, Running(Cache('cache'))).diagnostics))\n"
    )
    room = str(Path(__file__).resolve().parents[2])
    runs = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": room})
        for _ in range(3)
    ]
    assert [run.communicate()[0].split() for run in runs] == [[b"4"] * 5] * 3
    assert len(packs()) == 1 and len(run()) == 4


@pytest.mark.usefixtures("aged")
def test_files_that_are_gone_are_forgotten() -> None:
    write("a.py", BAD)
    write("b.py", BAD)
    run()
    os.unlink("a.py")
    write("b.py", BAD * 2)
    run()
    assert list(entries(packs()[0])) == ["b.py"]


def test_a_notebook_comes_back_as_it_was() -> None:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": text} for text in ("%time 1\n" + NETS, USES[22:])
    ]
    write("n.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    first = run()
    assert len(first) == 1 and first[0].startswith("n.ipynb:cell 2")
    assert run() == first


def test_a_change_of_our_own_files_is_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tool("1.0") == tool("1.0") != tool("1.1")
    write("package/cache.py", "")
    write("package/__init__.py", "")
    monkeypatch.setattr("retainlint.cache.cache.__file__", os.path.abspath("package/cache/cache.py"))
    before = tool("1.0")
    age("package/cache.py")
    assert tool("1.0") == before, "where it is installed, its files don't change one by one"
    write("pyproject.toml", "")
    before = tool("1.0")
    write("package/cache.py", "#\n")
    assert tool("1.0") != before
    monkeypatch.setattr("retainlint.cache.cache.__file__", os.path.abspath("package/gone/cache/cache.py"))
    assert tool("1.0") == tool("1.0")


@pytest.mark.parametrize(
    ("names", "days", "left"),
    [
        (["0000000a.found"], 31, 0),
        (["0000000a.found"], 29, 1),
        (["0000000a.found.7.new", "../.gitignore.7.new"], 0.5, 2),
        (["0000000a.found.7.new", "../CACHEDIR.TAG.7.new"], 2, 0),
        (["mine.found", "0000000a.found.bak"], 400, 2),
    ],
    ids=["unused", "used this month", "young scraps", "scraps", "not ours"],
)
def test_packs_that_nobody_uses_are_removed(names: list[str], days: float, left: int) -> None:
    then = time.time() - days * DAY
    place = Path(Store("cache", "").path)
    prepared("cache")
    for name in names:
        write(str(place / name), "")
        os.utime(place / name, (then, then))
    write("a.py", BAD)
    run()
    assert sum((place / name).exists() for name in names) == left


@pytest.mark.usefixtures("aged")
def test_a_pack_that_is_used_is_not_old(checked: list[str]) -> None:
    write("a.py", BAD)
    run()
    then = time.time() - 29 * DAY
    os.utime(packs()[0], (then, then))
    run()
    assert checked == ["a.py"] and packs()[0].stat().st_mtime > time.time() - DAY


@pytest.mark.usefixtures("aged")
def test_a_pack_that_is_removed_under_a_run_is_written_again(checked: list[str]) -> None:
    write("a.py", USES.replace("from nets import loss\n", NETS))
    write("b.py", "x = 1\n")
    run()
    cache = Cache("cache")
    assert cache.get("a.py", Settings()) is not None
    assert clean("cache") == 3
    write("b.py", USES.replace("from nets import loss\n", NETS))
    linter.check(["."], CONFIGS, None, Running(cache))
    checked.clear()
    assert len(run()) == 2 and checked == []


def test_a_warm_run_imports_nothing_costly(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py", USES)
    write("nets.py", NETS)
    script = (
        "import sys; from retainlint.cache import cache; cache.tool = str\n"  # someone may be at work on this package
        "from retainlint.cli import cli; cli.main(['check', '-q', '.'], standalone_mode=False)\n"
        "costly = 'libcst numpy multiprocessing logging retainlint.lowering retainlint.symbolic retainlint.rules'.split()\n"
        "print('imported:', *[name for name in costly if name in sys.modules])"
    )
    room = str(Path(__file__).resolve().parents[2])
    told = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": room}
        )
        for _ in range(2)
    ]
    cold, warm = (one.stdout.rpartition("imported:") for one in told)
    assert "libcst" in cold[2] and "RTL102" in cold[0]
    assert warm[0] == cold[0]
    assert not {"libcst", "numpy", "multiprocessing", "retainlint.lowering", "retainlint.symbolic"} & set(
        warm[2].split()
    )
