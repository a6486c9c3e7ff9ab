"""A file is replaced whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from retainlint import check
from retainlint.text import writing
from retainlint.text.writing import replace, rewrite

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes and links")


def test_new_bytes_stand_in_the_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "a"
    replace(str(path), b"1")
    replace(str(path), b"2\r\n")
    assert path.read_bytes() == b"2\r\n"
    assert os.listdir(tmp_path) == ["a"]


@posix
def test_the_mode_stays_and_that_of_a_new_file_is_the_usual_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"")
    path.chmod(0o751)
    replace(str(path), b"x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    (tmp_path / "usual").write_bytes(b"")
    replace(str(tmp_path / "new"), b"")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.chown(path, 12_345, 54_321)
    replace(str(path), b"new")
    assert (path.stat().st_uid, path.stat().st_gid, path.read_bytes()) == (12_345, 54_321, b"new")


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "a").write_bytes(b"old")
    (tmp_path / "link").symlink_to("room/a")
    replace(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "room" / "a").read_bytes() == b"new"


@posix
def test_a_pipe_or_a_device_is_written_to_and_stays_what_it_is(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    replace(f"/dev/fd/{writing}", b"into a pipe that has no name")
    assert os.read(reading, 100) == b"into a pipe that has no name"
    named = tmp_path / "named"
    os.mkfifo(named)
    reader = os.open(named, os.O_RDONLY | os.O_NONBLOCK)
    replace(str(named), b"into one that has")
    assert os.read(reader, 100) == b"into one that has"
    assert stat.S_ISFIFO(named.stat().st_mode)
    assert os.listdir(tmp_path) == ["named"]
    for descriptor in (reading, writing, reader):
        os.close(descriptor)


@pytest.mark.parametrize("name", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt("No space")])
def test_when_it_fails_or_is_asked_to_end_all_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(*args: object) -> None:
        raise error

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(type(error), match="No space"):
        replace(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_file_or_tree_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        replace(str(path), b"new")
    path.chmod(0o644)
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(PermissionError):
            replace(str(path), b"new")
    finally:
        tmp_path.chmod(0o755)
    assert path.read_bytes() == b"old"


# -- in place of what was read -------------------------------------------------------------------------------------


def test_what_was_changed_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the last moment, when the new text lies beside the old one."""
    path = tmp_path / "a"
    path.write_bytes(b"theirs")
    with pytest.raises(ValueError, match="changed meanwhile"):
        rewrite(str(path), b"old", b"new")
    path.write_bytes(b"old")
    real = os.chmod

    def chmod(*given: Any) -> None:
        real(*given)
        path.write_bytes(b"theirs")

    monkeypatch.setattr(os, "chmod", chmod)
    with pytest.raises(ValueError, match="changed meanwhile"):
        rewrite(str(path), b"old", b"new")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"theirs", ["a"])


def test_what_is_gone_meanwhile_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        rewrite(str(tmp_path / "a"), b"old", b"new")
    assert os.listdir(tmp_path) == []


@posix
def test_a_link_out_of_the_tree_is_not_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tree" / "inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "tree")
    for place in (tmp_path / "a", tmp_path / "tree" / "inner" / "a"):
        place.write_bytes(b"old")
    os.symlink("../a", "out")
    os.symlink("inner/a", "in")
    with pytest.raises(ValueError, match="a file elsewhere"):
        rewrite("out", b"old", b"new")
    rewrite("in", b"old", b"new")
    rewrite("../a", b"old", b"new")
    assert (tmp_path / "tree" / "inner" / "a").read_bytes() == (tmp_path / "a").read_bytes() == b"new"


@posix
def test_of_two_runs_at_once_one_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    Path(path).write_bytes(b"old")
    script = "import sys\nfrom retainlint.text.writing import rewrite\ntry: rewrite(sys.argv[1], b'old', b'new ' * 99999)\nexcept ValueError: sys.exit(3)"
    runs = [subprocess.Popen([sys.executable, "-c", script, path]) for _ in range(3)]
    codes = sorted(run.wait() for run in runs)
    assert codes[0] == 0 and set(codes) <= {0, 3}
    assert Path(path).read_bytes() == b"new " * 99999
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes")
def test_attributes_stay(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    Path(path).write_bytes(b"old")
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError:
        pytest.skip("not on this file system")
    replace(path, b"new")
    assert os.getxattr(path, "user.note") == b"mine"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on how large files may be")
def test_a_full_disk(tmp_path: Path) -> None:
    """Behind such a limit writing fails in the middle."""
    path = str(tmp_path / "a")
    Path(path).write_bytes(b"old" * 1000)
    script = (
        "import resource, signal, sys\nfrom retainlint.text.writing import rewrite\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "try: rewrite(sys.argv[1], b'old' * 1000, b'new' * 9999)\nexcept OSError as error: print(error.strerror)"
    )
    told = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True).stdout
    assert told == "File too large\n"
    assert Path(path).read_bytes() == b"old" * 1000
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_what_a_killed_run_left_is_cleared_by_a_later_one(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    child = os.fork()
    if child == 0:
        try:
            os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            replace(str(path), b"new")
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    (scrap,) = (each for each in tmp_path.iterdir() if each != path)
    assert (path.read_bytes(), scrap.read_bytes()) == (b"old", b"new")
    assert check(tmp_path, isolated=True) == []  # it is no file that anybody checks
    own = tmp_path / ".a.py.12345678"
    own.write_bytes(b"mine")
    replace(str(path), b"other")
    assert scrap.exists()  # somebody may be writing it
    hours_ago = time.time() - 2 * writing.ABANDONED
    for each in (scrap, own):
        os.utime(each, (hours_ago, hours_ago))
    replace(str(tmp_path / "report.json"), b"{}")
    assert sorted(os.listdir(tmp_path)) == [".a.py.12345678", "a.py", "report.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_nothing_is_cleared_through_links(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "tree" / ".a.py.12345678.retainlint").symlink_to(tmp_path / "other")
    replace(str(tmp_path / "tree" / "a.py"), b"new")
    assert (tmp_path / "other").is_dir() and (tmp_path / "tree" / ".a.py.12345678.retainlint").is_symlink()
