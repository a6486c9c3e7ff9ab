"""The options that say how the work is done, `clean`, and `--watch`."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Run, write

ROOT = Path(__file__).resolve().parent.parent.parent
USES = "from nets import loss\nloss.backward()\nloss.backward()\n"
NETS = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = w.sum()\n"


@pytest.fixture
def kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line with its cache."""
    monkeypatch.delenv("RETAINLINT_NO_CACHE")
    return run


def test_results_are_kept_beside_the_configuration(kept: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("retainlint.toml", "")
    write("below/a.py")
    monkeypatch.chdir("below")
    assert kept("check")[0] == 1
    assert os.path.isdir("../.retainlint_cache") and not os.path.exists(".retainlint_cache")


@pytest.mark.parametrize("way", ["option", "environment", "setting"])
def test_the_cache_is_where_one_wants_it(way: str, kept: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("x/a.py")
    options = ["--cache-dir", "mine"] if way == "option" else []
    if way == "environment":
        monkeypatch.setenv("RETAINLINT_CACHE_DIR", "mine")
    if way == "setting":
        write("retainlint.toml", 'cache-dir = "mine"\n')
    first = kept("check", *options)
    assert kept("check", *options) == first
    assert os.path.isdir("mine") and not os.path.exists(".retainlint_cache")
    assert kept("clean", *options) == (0, "Removed the cache in mine.\n", "")
    assert not os.path.exists("mine")
    assert kept("clean", *options) == (0, "No cache in mine.\n", "")


def test_without_a_cache_nothing_is_written(kept: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py")
    kept("check", "--no-cache")
    kept("check", "-n")
    monkeypatch.setenv("RETAINLINT_NO_CACHE", "1")
    kept("check")
    assert os.listdir() == ["a.py"]


def test_a_kept_finding_is_reported_as_a_fresh_one(kept: Run) -> None:
    write("a.py")
    for options in (
        (),
        ("--output-format", "json"),
        ("--output-format", "sarif"),
        ("--statistics",),
        ("--show-unknown",),
    ):
        assert kept("check", *options) == kept("check", *options) == kept("check", "-n", *options)


def test_a_wrong_executor(run: Run) -> None:
    write("a.py")
    code, out, err = run("check", "--executor", "ray://host")
    assert (code, out) == (2, "")
    assert err == "error: there is no executor 'ray://host'; write local or dask://HOST:PORT\n"


def test_no_number_of_jobs(run: Run) -> None:
    assert run("check", "-j", "0")[0] == 2


@pytest.mark.parametrize("options", [("-",), ("--diff",), ("--add-noqa",)])
def test_what_can_not_be_watched(options: tuple[str, ...], run: Run) -> None:
    assert run("check", "--watch", *options)[0] == 2


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], queue.Queue[str]]]:
    """A watch over an empty directory, and what it prints, line by line."""
    pytest.importorskip("watchfiles", reason="watchfiles isn't installed")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "retainlint", "check", "--watch", "--output-format", "concise"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tmp_path, env=environment, text=True,
    )  # fmt: skip
    lines: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)

    listener = threading.Thread(target=listen)
    listener.start()
    yield process, lines
    process.kill()
    process.wait()
    listener.join()


def heard(lines: queue.Queue[str], end: str = "Watching") -> str:
    """What is printed until it watches again."""
    found: list[str] = []
    while not found or not found[-1].startswith(end):
        found.append(lines.get(timeout=60))
    return "".join(found)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_watch_checks_again_what_changed_and_what_depends_on_it(
    watched: tuple[subprocess.Popen[str], queue.Queue[str]], tmp_path: Path
) -> None:
    process, lines = watched
    assert "no Python files" in heard(lines)
    (tmp_path / "nets.py").write_text(NETS)
    assert "All checks passed" in heard(lines)
    (tmp_path / "a.py").write_text(USES)
    assert "All checks passed" in heard(lines)
    (tmp_path / "nets.py").write_text(NETS.replace("w.sum()", "(w * w).sum()"))
    assert "a.py:3:1: RTL102 error:" in heard(lines)
    (tmp_path / "a.py").unlink()
    assert "All checks passed" in heard(lines)
    (tmp_path / "retainlint.toml").write_text("selekt = []\n")
    assert "unknown setting" in heard(lines)
    (tmp_path / "retainlint.toml").unlink()
    assert "All checks passed" in heard(lines)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0
    assert lines.empty()
