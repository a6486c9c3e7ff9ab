"""`--diff-base`: of what a change brought is told, in real repositories, whose hooks and filters aren't run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from retainlint.commands import CommandError
from retainlint.commands.brought import found_base

TWICE = """\
import torch


def {name}():
    w = torch.ones(3, requires_grad=True)
    loss = (w * {number}).sum()
    loss.backward()
    loss.backward()


{name}()
"""

LOSS = "def total(h):\n    return (h * h).mean()\n"
KEPT = "kept = []\n\n\ndef total(h):\n    kept.append((h * h).mean())\n    return sum(kept)\n"
TRAIN = """\
import torch
from losses import total

model = torch.nn.Linear(3, 1)
x = torch.randn(4, 3)
for step in range(3):
    loss = total(model(x))
    loss.backward()
"""


class Repository:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *names, *words], cwd=self.place, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.place / f"{name}.py").write_text(text)

    def commit(self, **files: str) -> str:
        self.write(**files)
        self.git("add", "-A")
        self.git("commit", "-qm", "a change")
        return self.git("rev-parse", "HEAD")

    def check(self, *words: str, code: int = 1, **environment: str) -> list[tuple[str, int, str]]:
        done = self.run(*words, "--output-format", "json", **environment)
        assert done.returncode == code, done.stderr
        rows = json.loads(done.stdout)
        return [(os.path.basename(row["filename"]), row["location"]["row"], row["code"]) for row in rows]

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        package = str(Path(__file__).resolve().parents[2])
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CI_"))}
        return subprocess.run(
            [sys.executable, "-m", "retainlint", "check", *words],
            cwd=self.place,
            env={**kept, "PYTHONPATH": package, **environment},
            capture_output=True,
            text=True,
        )


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_only_what_the_change_brought_is_told(repository: Repository) -> None:
    """Rows that were moved are no news; one more of the same is."""
    base = repository.commit(old=TWICE.format(name="run", number=2))
    repository.commit(old="# one\n# two\n" + TWICE.format(name="run", number=2), new=TWICE.format(name="go", number=3))
    assert repository.check() == [("new.py", 8, "RTL102"), ("old.py", 10, "RTL102")]
    assert repository.check("--diff-base", base) == [("new.py", 8, "RTL102")]
    done = repository.run("--diff-base", base)
    assert f"1 finding was there before, at {base[:12]}, and not shown." in done.stdout
    repository.write(new="")
    assert repository.check("--diff-base", base, code=0) == []


def test_the_base_is_where_the_branch_began(repository: Repository) -> None:
    """What was cured on the main branch since isn't taken for something that this branch brought."""
    repository.commit(old=TWICE.format(name="run", number=2))
    repository.git("checkout", "-qb", "feature")
    repository.commit(other="x = 1\n")
    repository.git("checkout", "-q", "main")
    repository.commit(old="")
    repository.git("checkout", "-q", "feature")
    assert repository.check("--diff-base", "main", code=0) == []
    repository.git("update-ref", "refs/remotes/origin/main", "main")
    assert repository.check("--diff-base", "auto", code=0, GITHUB_BASE_REF="main") == []


def test_a_change_elsewhere_that_brings_it_is_told(repository: Repository) -> None:
    base = repository.commit(losses=LOSS, train=TRAIN)
    repository.commit(losses=KEPT)
    assert repository.check("--diff-base", base) == [("train.py", 8, "RTL104")]
    assert repository.check("--diff-base", "HEAD", code=0) == []


def test_what_was_renamed_or_moved_is_no_news(repository: Repository) -> None:
    base = repository.commit(
        old=TWICE.format(name="run", number=2), part=TWICE.format(name="part", number=5) + "x = 1\n" * 9
    )
    repository.git("mv", "old.py", "young.py")
    repository.commit(young=TWICE.format(name="walk", number=2))
    assert repository.check("--diff-base", base, code=0) == []
    repository.commit(part="x = 1\n" * 9, elsewhere="y = 2\n" * 40 + TWICE.format(name="part", number=5))
    assert repository.check("--diff-base", base, code=0) == []
    repository.commit(part=TWICE.format(name="part", number=5))
    assert [row[2] for row in repository.check("--diff-base", base)] == ["RTL102"], "a copy is no move"


def test_hooks_and_filters_are_not_run(repository: Repository) -> None:
    base = repository.commit(old=TWICE.format(name="run", number=2))
    (repository.place / ".gitattributes").write_text("*.py filter=spy diff=spy export-ignore\n")
    for key in ("filter.spy.clean", "filter.spy.smudge", "filter.spy.process", "diff.spy.textconv", "diff.spy.command"):
        repository.git("config", key, "touch ran; cat")
    repository.git("config", "core.fsmonitor", "touch ran")
    hook = repository.place / ".git" / "hooks" / "post-index-change"
    hook.write_text("#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    repository.write(new=TWICE.format(name="go", number=3))
    assert repository.check("--diff-base", base) == [("new.py", 8, "RTL102")]
    assert not (repository.place / "ran").exists()


def test_what_git_ignores_counts_for_the_base_too(repository: Repository) -> None:
    """A generated module is in no commit, and was there all the same."""
    (repository.place / ".gitignore").write_text("losses.py\n")
    repository.write(losses=KEPT)
    base = repository.commit(train=TRAIN)
    assert repository.check("--diff-base", base, code=0) == []


def test_a_base_that_is_not_there_is_an_error(repository: Repository, tmp_path: Path) -> None:
    repository.commit(old="x = 1\n")
    for name in ("gone", "--output=x", "HEAD:old.py"):
        done = repository.run(f"--diff-base={name}")
        assert done.returncode == 2 and done.stderr.startswith(f"error: --diff-base {name}: "), done.stderr
    assert not (tmp_path / "x").exists()
    done = repository.run("--diff-base", "auto")
    assert done.returncode == 2 and "no build server says" in done.stderr
    assert repository.run("-", "--diff-base", "HEAD").returncode == 2


def test_build_servers_tell_the_base() -> None:
    assert found_base({"GITHUB_BASE_REF": "main"}) == "origin/main"
    assert found_base({"CI_MERGE_REQUEST_DIFF_BASE_SHA": "abc"}) == "abc"
    assert found_base({"SYSTEM_PULLREQUEST_TARGETBRANCH": "refs/heads/release/1"}) == "origin/release/1"
    with pytest.raises(CommandError):
        found_base({"GITHUB_BASE_REF": ""})
