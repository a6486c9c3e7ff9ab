"""Lowered modules that were kept are used for the same text only, whatever stands in the cache's directory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import write

from retainlint import lowering
from retainlint.cache import store
from retainlint.cache.cache import Cache
from retainlint.cache.store import Store
from retainlint.checking.linter import check
from retainlint.checking.scheduler import Running
from retainlint.config import Configs, Settings
from retainlint.project import module_loading
from retainlint.text.source import Source

USES = "from nets import loss\nfor _ in range(2):\n    loss.backward()\n"
NETS = """import torch
w = torch.ones(2, requires_grad=True)
def scaled(x):
    factor = b"\\x02"[0]
    return x * factor * x
def unused(x):
    return [x for _ in range(10_000_000)]
loss = scaled(w).sum()
"""


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    write("setup.cfg", "")
    write("a.py", USES)
    write("nets.py", NETS)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was lowered from its text: the names of files, and of functions of modules that were kept without them."""
    names: list[str] = []
    lower, lower_partly, lower_body = lowering.lower, lowering.lower_partly, lowering.lower_body

    def noted(source: Source, *rest: object, **named: object) -> object:
        names.append(source.name)
        return lower(source, *rest, **named)  # type: ignore[arg-type]

    def noted_parts(source: Source) -> object:
        names.append(source.name)
        return lower_partly(source)

    def noted_body(source: Source, head: object) -> object:
        names.append(head.name)  # type: ignore[attr-defined]
        return lower_body(source, head)  # type: ignore[arg-type]

    monkeypatch.setattr(lowering, "lower", noted)
    monkeypatch.setattr(lowering, "lower_partly", noted_parts)
    monkeypatch.setattr(lowering, "lower_body", noted_body)
    return names


def run(tool: str = "1", directory: str = "cache", jobs: int = 1) -> list[str]:
    """What is found by a process that has lowered nothing yet, and has no results of earlier ones."""
    module_loading._lowered.clear()
    for pack in Path(directory).glob("*/*.found"):
        pack.unlink()
    way = Running(Cache(directory, lambda: tool), jobs, patience=0, worth=0)
    found = check(
        ["a.py", "b.py"] if os.path.exists("b.py") else ["a.py"], Configs.alike(Settings(tried=False)), None, way
    )
    return [f"{d.primary.span} {d.code} {d.message}" for d in found.diagnostics]


def kept(directory: str = "cache") -> list[Path]:
    return sorted(Path(directory).glob("*.kept/*[rs]"))


def test_nothing_is_parsed_twice(parsed: list[str]) -> None:
    first = run()
    assert len(first) == 1 and parsed == ["a.py", "nets.py"]
    assert run() == first
    assert parsed == ["a.py", "nets.py"]
    assert len(kept()) == 2


def test_only_what_changed_is_parsed(parsed: list[str]) -> None:
    first = run()
    write("a.py", USES + "loss.backward()\n")
    assert len(run()) == len(first)
    assert parsed == ["a.py", "nets.py", "a.py"]
    write("a.py", USES)
    write("nets.py", NETS.replace("x * factor * x", "x + factor"))
    assert run() == []
    assert parsed == ["a.py", "nets.py", "a.py", "nets.py"]
    write("nets.py", NETS)
    assert run() == first and parsed == ["a.py", "nets.py", "a.py", "nets.py"]


def test_a_body_that_is_asked_for_later_is_added(parsed: list[str]) -> None:
    run()
    (nets,) = (path for path in kept() if path.suffix == ".parts")
    size = nets.stat().st_size
    write("a.py", USES.replace("loss\n", "loss, unused\n") + "unused(loss)\n")
    run()
    assert parsed == ["a.py", "nets.py", "a.py"]
    assert (grown := nets.stat().st_size) > size
    write("a.py", USES.replace("loss\n", "loss, unused\n") + "unused(unused(loss))\n")
    run()
    assert parsed == ["a.py", "nets.py", "a.py", "a.py"] and nets.stat().st_size == grown


def test_nothing_is_imported_to_parse_what_was_kept() -> None:
    script = (
        "import sys\nfrom retainlint.cache.cache import Cache\nfrom retainlint.config import Configs, Settings\n"
        "from retainlint.checking.linter import check\nfrom retainlint.checking.scheduler import Running\n"
        "found = check(['a.py'], Configs.alike(Settings(tried=False)), None, Running(Cache('cache')))\n"
        "print(len(found.diagnostics), 'libcst' in sys.modules)\n"
    )
    room = str(Path(__file__).resolve().parents[2])
    told = []
    for _ in range(2):
        for pack in Path("cache").glob("*/*.found"):
            pack.unlink()
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": room}
        )
        told.append(done.stdout.strip())
    assert told == ["1 True", "1 False"], done.stderr


def test_another_version_has_a_shelf_of_its_own(parsed: list[str]) -> None:
    run("1")
    run("2")
    assert parsed == ["a.py", "nets.py"] * 2 and len(kept()) == 4


def test_a_file_of_another_version_with_the_same_number_is_not_used(parsed: list[str]) -> None:
    """Its name is a checksum; what is in it decides."""
    first = run("1")
    os.rename(os.path.dirname(kept()[0]), Store("cache", "2").path)
    assert run("2") == first and parsed == ["a.py", "nets.py"] * 2


def test_a_file_under_the_name_of_another_is_not_used(parsed: list[str]) -> None:
    first = run()
    one, other = kept()
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)
    assert run() == first and parsed == ["a.py", "nets.py"] * 2


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("harm", ["cut", "changed", "doubled", "emptied"])
def test_what_is_not_whole_is_replaced(share: float, harm: str, parsed: list[str]) -> None:
    first = run()
    whole = {file: file.read_bytes() for file in kept()}
    for file, data in whole.items():
        at = int(len(data) * share)
        changed = {
            "cut": data[:at],
            "changed": data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :],
            "doubled": data[:at] + data,
            "emptied": data[:at] + bytes(len(data) - at),
        }
        file.write_bytes(changed[harm])
    assert run() == first
    assert run() == first
    assert sorted(parsed) in (2 * ["a.py"] + 2 * ["nets.py"], ["a.py", "nets.py"])
    assert {file: file.read_bytes() for file in kept()} == whole or harm == "doubled"


def forged(line: bytes, file: Path) -> None:
    data = {-2: store.small(line)}
    assert Store("cache", "1").file(file.suffix[1:], file.stem, file.stem).write(data)


@pytest.mark.parametrize(
    "line",
    [b"", b"null", b"[[],[0,[99],[0]]]", b"[[],[0,[14,1],[0]]]", b"[[],[-1]]", b"[[],[0]]", b"[[],3]", b"[" * 100_000,
     b'["os", "system", "ls"]', b"[[],[0,[0,1],[0,2],[0,3],[0,4]]]"],
)  # fmt: skip
def test_what_we_did_not_write_is_not_used(line: bytes) -> None:
    first = run()
    for file in kept():
        forged(line, file)
    assert run() == first


@pytest.mark.parametrize(
    "header", [b"00000000 -1 -1\n", b"00000000 0 -14\n", b"0 0\n", b"x\n", b"\n" * 50, b"00000000 0 9999999999\n"]
)
def test_a_row_that_leads_nowhere_ends_it(header: bytes) -> None:
    first = run()
    for file in kept():
        file.write_bytes(header)
    assert run() == first


def test_no_cache_keeps_nothing() -> None:
    module_loading._lowered.clear()
    assert len(check(["a.py"], Configs.alike(Settings(tried=False)), None, Running(None)).diagnostics) == 1
    assert len(check(["a.py"], Configs.alike(Settings(tried=False)), None, Running(Cache())).diagnostics) == 1
    assert sorted(os.listdir()) == ["a.py", "nets.py", "setup.cfg"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="whoever may write everywhere is not kept from it")
def test_a_directory_that_may_not_be_written_is_done_without() -> None:
    os.makedirs("cache", mode=0o500)
    assert run() == run("1", "elsewhere")


def test_a_full_disk_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    monkeypatch.setattr("os.write", full)
    assert run() == run() != []
    assert kept() == []


def test_many_processes_use_one_shelf(parsed: list[str]) -> None:
    write("b.py", "import os\n" + USES)
    one = run(directory="one")
    assert run(jobs=2, directory="two") == one
    assert [file.name for file in kept("two")] == [file.name for file in kept("one")]
    parsed.clear()
    assert run(directory="two") == one and parsed == []


def test_runs_at_the_same_time_do_no_harm() -> None:
    script = (
        "from retainlint.cache.cache import Cache\nfrom retainlint.config import Configs, Settings\nimport glob, os\n"
        "from retainlint.project import module_loading as project\nfrom retainlint.checking.linter import check\nfrom retainlint.checking.scheduler import Running\n"
        "for number in range(8):\n"
        " project._lowered.clear()\n"
        " for file in glob.glob('cache/*.kept/*.ir'):\n"
        "  if number % 3 == 0 and os.path.exists(file): os.truncate(file, os.path.getsize(file) // 2)\n"
        " print(len(check(['a.py'], Configs.alike(Settings(tried=False)), None, Running(Cache('cache', lambda: str(number)))).diagnostics))\n"
    )
    room = str(Path(__file__).resolve().parents[2])
    runs = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": room})
        for _ in range(2)
    ]
    assert [run.communicate()[0].split() for run in runs] == [[b"1"] * 8] * 2


def test_what_nobody_used_for_long_is_removed() -> None:
    for tool in "12345":
        run(tool)
        for file in [*Path("cache").glob("*.kept/used"), *Path("cache").glob("*.kept/*.ir")]:
            then = file.stat().st_mtime - store.DAY
            os.utime(file, (then, then))
    assert len(list(Path("cache").glob("*.kept"))) == 1 + store.MOST_OTHERS
    assert len(kept()) == 2 * (1 + store.MOST_OTHERS)
    mine = Path(Store("cache", "5").path)
    then = time.time() - store.UNUSED - 100
    for name in ("0" * 64 + ".ir", "1" * 64 + ".ir.123.new", "notes"):
        (mine / name).write_bytes(b"")
        os.utime(mine / name, (then, then))
    write("a.py", USES + "\n")
    run("5")
    assert sorted(file.name for file in mine.iterdir() if file.stat().st_size == 0) == ["notes", "used"]
    used = [file for file in kept() if file.parent == mine and file.stat().st_mtime > time.time() - 100]
    assert len(used) == 2  # `nets.py` was read, `a.py` written


def test_clean_takes_the_shelves_too() -> None:
    run("1")
    run("2")
    assert store.clean("cache") > 4 and not os.path.exists("cache")
