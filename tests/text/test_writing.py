"""A file is replaced whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from retainlint.text.writing import replace

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
def test_when_it_fails_all_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(OSError, match="No space"):
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
