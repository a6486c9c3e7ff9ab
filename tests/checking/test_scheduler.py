"""The same findings cold and warm, in one process and in many, here and on machines with another disk."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from command_line import write

from retainlint.cache.cache import Cache
from retainlint.checking import executor, linter, pipeline, watched, worker
from retainlint.checking.executor import NoExecutor, named, processes, spread
from retainlint.checking.scheduler import Running
from retainlint.checking.worker import Task, work
from retainlint.config import Configs, Settings
from retainlint.report.json import entries
from retainlint.report.run import Run
from retainlint.startup import process

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = Configs.alike(Settings())
PATHS = tuple(
    sorted(
        str(path.relative_to(ROOT))
        for pattern in ("projects/raises/[abe-i]*", "projects/runs/[bc]*", "raises/v*.py")
        for path in ROOT.glob(f"fixtures/{pattern}")
    )
)
TWICE = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\nloss.backward()\n"


def told(way: Running | None, *paths: str) -> str:
    """All that a run says, as JSON."""
    result = linter.check(paths or PATHS, CONFIGS, None, way)
    gaps = sorted((str(gap.span), gap.reason) for gap in result.gaps)
    cures = [str([type(cure).__name__ for cure in d.cures]) for d in result.diagnostics]
    return json.dumps([list(entries(result.diagnostics, Run())), gaps, cures, result.files])


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    """What a run says that checks one file after the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        yield told(None)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def many(jobs: int = 2, **more: Any) -> Running:
    """Other processes at once, whether that pays or not."""
    return Running(jobs=jobs, gaps=True, patience=0, worth=0, **more)


def test_there_is_something_to_find(plain: str) -> None:
    found, _, cures, files = json.loads(plain)
    assert len(found) > 10 and files > 20
    assert {len({place["filename"] for place in [one, *one["related"]]}) for one in found} >= {1, 2}
    assert any(one["witness"] for one in found) and any(cures)


def test_cold_and_warm(plain: str, tmp_path: Path) -> None:
    for _ in range(2):
        assert told(Running(Cache(str(tmp_path / "cache")), 1, gaps=True)) == plain


def test_a_warm_run_checks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: str) -> None:
    told(Running(Cache(str(tmp_path / "cache")), 1, gaps=True))
    monkeypatch.setattr(linter, "check_source", lambda *_: pytest.fail("checked again"))
    assert told(Running(Cache(str(tmp_path / "cache")), 1, gaps=True)) == plain


@pytest.mark.parametrize("gaps", [False, True])
def test_backward_passes_that_nobody_judged_are_counted_warm_and_cold(gaps: bool, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from lib import x\n\ndef train():\n    x.compute(3)[0].backward()\n")
    for _ in range(2):
        running = Running(Cache(str(tmp_path / "cache")), 1, gaps=gaps)
        result = linter.check([str(tmp_path / "a.py")], Configs.alike(Settings()), running=running)
        assert (result.unjudged, sum(gap.backward for gap in result.gaps)) == (1, int(gaps))


def test_many_processes_fill_the_cache(plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(many(cache=Cache(str(tmp_path / "cache")))) == plain
    monkeypatch.setattr(linter, "check_source", lambda *_: pytest.fail("checked again"))
    assert told(Running(Cache(str(tmp_path / "cache")), 1, gaps=True)) == plain


@pytest.mark.parametrize("jobs", [1, 2])
def test_large_trees(jobs: int, plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their files are looked at before any is checked."""
    monkeypatch.setattr("retainlint.checking.scheduler.FEW", 0)
    monkeypatch.setattr("retainlint.checking.prescan.MANY", 1)
    assert told(many(jobs)) == plain
    assert told(many(jobs, cache=Cache(str(tmp_path / "cache")))) == plain
    monkeypatch.setattr(linter, "check_source", lambda *_: pytest.fail("checked again"))
    monkeypatch.setattr(linter, "may_matter", lambda *_: pytest.fail("read again"))
    assert told(many(jobs, cache=Cache(str(tmp_path / "cache")))) == plain


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_many_processes(way: str, plain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "fork" and not process.forks():
        pytest.skip("processes are not forked here")
    monkeypatch.setattr(process, "forks", lambda: way == "fork")
    assert told(many()) == plain


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes with names")
@pytest.mark.parametrize("way", ["alone", "cache", "pool"])
def test_a_pipe_is_read_but_once(way: str, tmp_path: Path) -> None:
    pool = Carried(tmp_path) if way == "pool" else None
    pipe = str(tmp_path / "pipe.py")
    os.mkfifo(pipe)
    writer = threading.Thread(target=write, args=(pipe, TWICE))
    writer.start()
    found = told(Running(Cache() if way == "cache" else None, 1, pool), pipe)
    assert len(json.loads(found)[0]) == 1
    writer.join()


def test_a_small_run_starts_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(watched, "watched", lambda *_: pytest.fail("started"))
    for name in "abc":
        write(str(tmp_path / f"{name}.py"), TWICE)
    assert len(json.loads(told(Running(), str(tmp_path)))[0]) == 3


def test_only_what_has_to_be_followed_is_shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A look at names tells the others, here, before anything is begun."""
    for name in "abc":
        write(str(tmp_path / f"{name}.py"), TWICE)
        write(str(tmp_path / f"speaks_{name}.py"), "# loss.backward()\nx = 1\n")
    shared: list[str] = []
    plain = worker.portioned

    def portioned(pending: list[tuple[str, int]], settings: Any) -> list[Task]:
        shared.extend(os.path.basename(name) for name, _ in pending)
        return plain(pending, settings)

    monkeypatch.setattr(worker, "portioned", portioned)
    found, _, _, files = json.loads(told(many(), str(tmp_path)))
    assert (len(found), files, sorted(shared)) == (3, 6, ["a.py", "b.py", "c.py"])


def test_much_work_is_shared_before_all_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("retainlint.checking.scheduler.SURE", 0)
    monkeypatch.setattr(linter, "glance", lambda *_: pytest.fail("looked at"))
    for name in "abc":
        write(str(tmp_path / f"{name}.py"), TWICE)
    assert len(json.loads(told(many(), str(tmp_path)))[0]) == 3


def test_a_comment_that_suppresses_nothing_is_told_after_a_glance(tmp_path: Path) -> None:
    for name in "abc":
        write(str(tmp_path / f"{name}.py"), "# loss.backward()\nx = 1  # retainlint: ignore[RTL102]\n")
    assert told(many(), str(tmp_path)) == told(None, str(tmp_path))
    assert [one["code"] for one in json.loads(told(many(), str(tmp_path)))[0]] == ["RTL901"] * 3


def forbidden(*_: object) -> None:
    raise AssertionError("a worker looked at its own disk")


class Carried(Executor):
    """Workers that get nothing but what is pickled, in another directory, without a disk to read from."""

    def __init__(self, elsewhere: Path, lose: Callable[[int], bool] = lambda _: False) -> None:
        self._elsewhere, self._lose, self.count = elsewhere, lose, 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.count += 1
        before = os.getcwd()
        os.chdir(self._elsewhere)
        try:
            if self._lose(self.count):
                raise BrokenExecutor("its worker died")
            function, args = pickle.loads(pickle.dumps((function, args)))
            with pytest.MonkeyPatch.context() as patch:
                for name in ("exists", "read", "real"):
                    patch.setattr(f"retainlint.project.import_resolution.Disk.{name}", forbidden)
                future.set_result(pickle.loads(pickle.dumps(function(*args))))
        except Exception as error:  # noqa: BLE001 -- as a pool does
            future.set_exception(error)
        finally:
            os.chdir(before)
        return future


def test_workers_elsewhere_need_nothing_but_what_they_are_sent(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Running, "_checked", lambda *_: pytest.fail("checked here"))
    pool = Carried(tmp_path)
    assert told(Running(pool=pool, gaps=True)) == plain
    assert pool.count > 3


@pytest.mark.parametrize("lose", [lambda _: True, lambda n: n % 3 == 0, lambda n: n > 2], ids=["all", "some", "later"])
def test_what_is_lost_is_checked_here(lose: Callable[[int], bool], plain: str, tmp_path: Path) -> None:
    assert told(Running(pool=Carried(tmp_path, lose), gaps=True)) == plain


def test_a_pool_that_takes_nothing_is_done_without(plain: str) -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    assert told(Running(pool=pool, gaps=True)) == plain


def test_threads_do(plain: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        assert told(Running(pool=pool, gaps=True)) == plain


def test_a_worker_of_another_version_takes_nothing() -> None:
    with pytest.raises(worker.OtherVersion, match="is asked for"):
        work(Task((), version="0.0.0"))


@pytest.fixture
def forked() -> None:
    if not process.forks():
        pytest.skip("processes are not forked here")


def large(folder: Path, count: int = 6) -> None:
    """Files of which each is a task of its own."""
    for number in range(count):
        write(str(folder / f"m{number}.py"), TWICE + "#" * worker.CHUNK)


def doing(monkeypatch: pytest.MonkeyPatch, deed: Callable[[], object], name: str = "m3.py") -> None:
    """Have other processes do something when they come to a file."""
    this, check = os.getpid(), linter.check_source

    def odd(asked: str, *rest: object) -> linter.FileResult:
        if os.getpid() != this and asked.endswith(name):
            deed()
        return check(asked, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(linter, "check_source", odd)


def run_of(folder: Path) -> tuple[list[str], list[str]]:
    """The codes of a run's findings, and why files were not checked."""
    result = linter.check([str(folder)], CONFIGS, None, many())
    assert result.files == 6
    return [each.code for each in result.diagnostics], [one.crash for one in result.crashes]


@pytest.mark.usefixtures("forked")
def test_a_process_that_dies_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is tried again, alone."""
    large(tmp_path)

    def die_once() -> None:
        if not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    doing(monkeypatch, die_once)
    assert run_of(tmp_path) == (["RTL102"] * 6, [])


@pytest.mark.parametrize("deed", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: os._exit(3)])
@pytest.mark.usefixtures("forked")
def test_a_file_that_kills_twice_is_told_of(
    deed: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large(tmp_path)
    doing(monkeypatch, deed)
    codes, (story,) = run_of(tmp_path)
    assert sorted(codes) == ["RTL102"] * 5 + ["RTL900"]
    assert "ended twice" in story and ("SIGKILL" in story or "exit code 3" in story)


@pytest.mark.usefixtures("forked")
def test_a_file_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large(tmp_path)
    monkeypatch.setattr(watched, "FILE_SECONDS", 2.0)
    monkeypatch.setattr(watched, "BEAT", 0.1)

    def spin() -> None:
        while True:
            pass

    doing(monkeypatch, spin)
    codes, (story,) = run_of(tmp_path)
    assert sorted(codes) == ["RTL102"] * 5 + ["RTL900"]
    assert "more than 2.0 seconds" in story


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(("memory", "most"), [(1, 6), (2**40, 2)])
def test_a_process_that_holds_much_is_replaced(
    memory: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind its task; what it held is the system's again."""
    large(tmp_path)
    monkeypatch.setattr(process, "WORN", memory)
    monkeypatch.setattr(process, "ROOM", 2**40)

    def leave_a_mark() -> None:
        (tmp_path / f"{os.getpid()}.pid").touch()

    doing(monkeypatch, leave_a_mark, ".py")
    assert run_of(tmp_path) == (["RTL102"] * 6, [])
    processes = len(list(tmp_path.glob("*.pid")))
    assert processes == most if most == 6 else processes <= most


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("running", [many(), Running(jobs=1)])
def test_a_file_that_wants_all_memory_is_told_of(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another process, or by that of the command line."""
    large(tmp_path)
    monkeypatch.setattr(process, "ours", True)
    monkeypatch.setattr(process, "FILE_MEMORY", 300 * 2**20)

    def grow(*_: object, hasty: bool) -> None:
        if hasty:
            raise pipeline.Costly
        bytearray(10**9)

    monkeypatch.setattr(pipeline, "diagnose", grow)
    result = linter.check([str(tmp_path / "m1.py"), str(tmp_path / "m2.py")], CONFIGS, None, running)
    assert [each.code for each in result.diagnostics] == ["RTL900"] * 2
    assert "MemoryError" in result.crashes[0].crash


@pytest.mark.usefixtures("forked")
def test_what_a_pool_loses_is_tried_apart_from_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that killed its worker elsewhere would kill the command, too."""
    large(tmp_path)
    monkeypatch.setattr(process, "ours", True)
    doing(monkeypatch, lambda: os._exit(1))
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    result = linter.check([str(tmp_path)], CONFIGS, None, Running(pool=pool))
    assert sorted(each.code for each in result.diagnostics) == ["RTL102"] * 5 + ["RTL900"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_an_interrupt_ends_all_processes_quietly(tmp_path: Path) -> None:
    script = (
        "import os, sys, time\nfrom retainlint.checking import linter\nfrom retainlint.config import Configs, Settings\n"
        "from retainlint.checking.scheduler import Running\n"
        "def slow(*_):\n    os.write(1, b'%d\\n' % os.getpid())\n    time.sleep(60)\n"
        "linter.check_source = slow\n"
        "try: linter.check(sys.argv[1:], Configs.alike(Settings()), None, Running(jobs=2, patience=0, worth=0))\n"
        "except KeyboardInterrupt: print('interrupted', flush=True)\n"
    )
    for number in range(4):
        write(str(tmp_path / f"m{number}.py"), TWICE + "#" * worker.CHUNK)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    workers = [int(process.stdout.readline()) for _ in range(2)]
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (out.split()[-1], err) == ("interrupted", "")
    assert not any(_lives(worker) for worker in workers)


def _lives(process: int) -> bool:
    for _ in range(50):
        try:
            os.kill(process, 0)
        except OSError:
            return False
        time.sleep(0.1)
    return True


def test_tasks_are_handed_out_a_few_at_a_time() -> None:
    """A scan of many files doesn't carry them all at once."""
    handed, done = 0, 0

    def pieces() -> Iterator[int]:
        nonlocal handed
        for number in range(1000):
            handed += 1
            yield number

    with ThreadPoolExecutor(1) as pool:
        for piece, result in spread(pool, str, pieces()):
            done += 1
            assert result == str(piece)
            assert handed - done <= executor.AHEAD
    assert done == 1000


def test_processes_are_gone_when_the_run_is() -> None:
    with processes(1) as pool:
        worker = pool.submit(os.getpid).result()
    assert not _lives(worker)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_processes_are_gone_when_the_run_is_killed(tmp_path: Path) -> None:
    told = tmp_path / "worker"
    run = os.fork()
    if run == 0:
        try:
            with processes(1) as pool:
                told.with_suffix(".new").write_text(str(pool.submit(os.getpid).result()))
                told.with_suffix(".new").rename(told)
                time.sleep(60)
        finally:
            os._exit(0)
    while not told.exists():
        time.sleep(0.01)
    os.kill(run, signal.SIGKILL)
    os.waitpid(run, 0)
    assert not _lives(int(told.read_text()))


# -- by name ----------------------------------------------------------------------------------------------------------


def test_names() -> None:
    with named("local") as pool:
        assert pool is None
    with pytest.raises(NoExecutor, match="no executor 'ray'"), named("ray"):
        pass


@contextmanager
def cluster() -> Iterator[Any]:
    """A scheduler of Dask's on this machine with two workers, each a process in a directory of its own."""
    distributed = pytest.importorskip("distributed", reason="Dask isn't installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, scheduler_port=0
    ) as found:
        yield found


def test_dask_with_workers_that_are_killed(plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with cluster() as found:
        address = found.scheduler_address.replace("tcp://", executor.DASK)
        with named(address) as pool:
            assert told(Running(pool=pool, gaps=True)) == plain
        killed: list[int] = []

        def kill(done: int, total: int, _: int) -> None:
            if done == total // 2 and not killed:
                killed.append(next(iter(found.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        with named(address) as pool:
            result = linter.check(PATHS, CONFIGS, Mock(side_effect=kill), Running(pool=pool, gaps=True))
        assert killed
        assert json.dumps(list(entries(result.diagnostics, Run()))) == json.dumps(json.loads(plain)[0])


def test_one_process_many_and_dask_over_one_shelf(plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever lowered a module that is kept, and whoever reads it; and the results that are kept of each."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    cache = tmp_path / "cache"

    def kept() -> Cache:
        return Cache(str(cache), str)

    with cluster() as found, named(found.scheduler_address.replace("tcp://", executor.DASK)) as pool:
        ways = {
            "one": lambda: Running(kept(), 1, gaps=True),
            "many": lambda: many(cache=kept()),
            "dask": lambda: Running(kept(), pool=pool, gaps=True),
        }
        for way in ("dask", "one", "many"):
            assert told(ways[way]()) == plain, way
            with monkeypatch.context() as patch:
                patch.setattr(linter, "check_source", lambda *_: pytest.fail("checked again"))
                assert told(Running(kept(), 1, gaps=True)) == plain, way
            for pack in cache.glob("*/*.found"):
                pack.unlink()
        assert list(cache.glob("*.kept/*.ir"))
