"""Looks at many files: by one process and by two they tell the same."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from command_line import write

from retainlint.checking import linter, prescan
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
    assert (answer.digest, answer.texts) == (sha256(Path(names[1]).read_bytes()).hexdigest(), ("", "", ""))
    assert all(answer is None for _, answer in glanced(pending, settings, Disk(), 0, both))
