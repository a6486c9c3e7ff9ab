"""What is read of the disk in one run is kept as far as there is room, and is what lies there."""

from __future__ import annotations

from pathlib import Path

import pytest

from retainlint.text import files
from retainlint.text.files import Disk


def test_what_was_read_is_kept_as_far_as_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "KEPT", 25)
    texts = {str(tmp_path / name): name.encode() * 10 for name in "abcd"} | {str(tmp_path / "long"): b"x" * 26}
    for place, text in texts.items():
        Path(place).write_bytes(text)
    read: list[str] = []
    plain = files.read

    def noted(place: str) -> bytes | None:
        read.append(Path(place).name)
        return plain(place)

    monkeypatch.setattr(files, "read", noted)
    disk = Disk()
    for name in ("a", "b", "a", "c", "a", "b", "long", "long", "a", "nothing", "nothing"):
        place = str(tmp_path / name)
        assert disk.read(place) == texts.get(place)
    assert read == ["a", "b", "c", "b", "long", "long", "nothing", "nothing"]


def test_no_two_runs_share_what_they_read(tmp_path: Path) -> None:
    place = tmp_path / "a.py"
    for text in (b"x = 1\n", b"x = 2\n"):
        place.write_bytes(text)
        assert Disk().read(str(place)) == text
