"""Looks at many files, shared with a copy of the process: by one and by two the same is told, whatever becomes of the copy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest
from command_line import write

from retainlint.checking import linter, prescan
from retainlint.checking.executor import shared
from retainlint.checking.prescan import glanced, skimmed
from retainlint.config import Settings
from retainlint.startup import process
from retainlint.text.files import Disk

BACKWARD = "import torch\nw = torch.ones(2, requires_grad=True)\n(w * w).sum().backward()\n"
SPEAKS = "# loss.backward()\nx = 1\n"
PLAIN = "x = 1\n"


@pytest.fixture(params=[False, True])
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param and not process.forks():
        pytest.skip("processes are not forked here")
    monkeypatch.setattr(prescan, "MANY", 1)
    return bool(request.param)


def tree(folder: Path) -> list[str]:
    names = []
    for number in range(300):
        text = (PLAIN, SPEAKS, BACKWARD)[number % 3] + "#" * number
        write(name := str(folder / f"m{number}.py"), text)
        names.append(name)
    return [*names, str(folder / "missing.py")]


@pytest.mark.parametrize("digests", [False, True])
def test_bytes(both: bool, digests: bool, tmp_path: Path) -> None:
    names = tree(tmp_path)
    found = {name: (size, digest) for name, size, digest in skimmed(names, digests, both)}
    assert len(found) == len(names)
    for name in names[:-1]:
        data = Path(name).read_bytes()
        digest = sha256(data).hexdigest() if digests else ""
        assert found[name] == (len(data), None if linter.may_matter(name, data) else digest)
    assert found[names[-1]] == (0, None)
    assert sum(digest is not None for _, digest in found.values()) == 100


def test_names(both: bool, tmp_path: Path) -> None:
    names = [name for name in tree(tmp_path) if not name.endswith("missing.py")]
    settings = dict.fromkeys(names, Settings())
    pending = [(name, Path(name).stat().st_size) for name in names]
    found = {name: answer for (name, _), answer in glanced(pending, settings, Disk(), 10**6, both)}
    assert [found[name] is None for name in names] == [number % 3 == 2 for number in range(300)]
    answer = found[names[1]]
    assert answer is not None
    assert (answer.digest, answer.found) == (sha256(Path(names[1]).read_bytes()).hexdigest(), "")
    assert all(answer is None for _, answer in glanced(pending, settings, Disk(), 0, both))


forked = pytest.mark.skipif(not process.forks(), reason="processes are not forked here")

ROOT = Path(__file__).resolve().parents[2]
PIECES = list(range(40))


def slow(piece: int) -> tuple[int, int]:
    time.sleep(0.005)
    return os.getpid(), piece * piece


@forked
def test_both_take_part_and_each_piece_is_done_once() -> None:
    found = list(shared(PIECES, slow))
    assert sorted((piece, done[1]) for piece, done in found) == [(piece, piece * piece) for piece in PIECES]
    assert len({done[0] for _, done in found}) == 2


@forked
def test_nothing_and_as_much_as_may_be() -> None:
    assert list(shared([], slow)) == []
    every = range(1000)
    assert sorted(done for _, done in shared(every, lambda piece: piece)) == list(every)


@forked
def test_long_answers() -> None:
    found = dict(shared(PIECES, lambda piece: "x" * (1 << 20) + slow.__name__ + str(piece)))
    assert {piece: done[(1 << 20) + 4 :] for piece, done in found.items()} == {piece: str(piece) for piece in PIECES}


@pytest.mark.parametrize("end", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: sys.exit(3), lambda: 1 / 0])
@forked
def test_what_the_copy_loses_is_done_here(end: object) -> None:
    this = os.getpid()

    def deadly(piece: int) -> int:
        if os.getpid() != this and piece > 5:
            assert callable(end)
            end()
        return slow(piece)[1]

    assert sorted(shared(PIECES, deadly)) == [(piece, piece * piece) for piece in PIECES]


@forked
def test_the_copy_ends_with_the_work_and_with_whoever_gives_it_up(tmp_path: Path) -> None:
    def told(piece: int) -> int:
        (tmp_path / str(os.getpid())).touch()
        return slow(piece)[1]

    def failing(piece: int) -> int:
        if piece > 8:
            raise KeyError(piece)
        return told(piece)

    list(shared(PIECES, told))
    given_up = shared(PIECES, told)
    next(given_up)
    given_up.close()
    for _ in range(1000):
        if process.forks():  # what watched over the copy has ended, too
            break
        time.sleep(0.01)
    with pytest.raises(KeyError):
        list(shared(PIECES, failing))
    others = {int(path.name) for path in tmp_path.iterdir()} - {os.getpid()}
    assert others
    for other in others:
        with pytest.raises(ProcessLookupError):
            os.kill(other, 0)


@forked
def test_where_there_can_be_no_copy_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    for _ in range(1000):
        if process.forks():  # what other tests left running in this process has ended
            break
        time.sleep(0.01)
    else:
        pytest.skip("another test's thread is left, beside which nothing is forked")
    monkeypatch.setattr(os, "fork", refuse)
    assert list(shared(PIECES, lambda piece: piece)) == list(zip(PIECES, PIECES))


@forked
def test_a_process_that_hears_of_no_ends() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert len(list(shared(PIECES, slow))) == len(PIECES)
    finally:
        signal.signal(signal.SIGCHLD, before)


@forked
def test_the_copy_ends_when_the_other_is_killed() -> None:
    """It doesn't wait for ever until its answers, which are longer than a pipe, are taken."""
    script = (
        "import os, sys, time\nfrom retainlint.checking.executor import shared\nthis = os.getpid()\n"
        "def work(piece):\n"
        "    if os.getpid() == this: time.sleep(60)\n"
        "    os.write(1, b'%d\\n' % os.getpid())\n"
        "    return 'x' * (1 << 20)\n"
        "list(shared(range(9), work))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment, text=True
    ) as started:
        assert started.stdout is not None
        copy = int(started.stdout.readline())
        started.kill()
        assert {int(line) for line in started.stdout} <= {copy}  # its end is read when the copy, too, is gone
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.kill(copy, 0)
            time.sleep(0.05)


@forked
def test_what_waits_to_be_written_is_written_once() -> None:
    script = (
        "import sys\nfrom retainlint.checking.executor import shared\nsys.stdout.write('once\\n')\n"
        "assert len(list(shared(range(9), str))) == 9\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "once\n"
