"""The hooks of `.pre-commit-hooks.yaml`, installed and run by the real pre-commit on a real git repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("retainlint", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".pre-commit-hooks.yaml")

FAILS = """\
import torch

w = torch.ones(3, requires_grad=True)
for _ in range(2):
    loss = (w * w).sum()
    loss.backward()
    loss.backward()
"""
RUNS = FAILS.replace("    loss.backward()\n", "", 1)
WASTES = RUNS.replace("backward()", "backward(retain_graph=True)")


@dataclass
class Git:
    """A repository at `place`; `run` gives the exit code and all that was printed."""

    place: Path
    env: dict[str, str] = field(default_factory=dict)

    def run(self, *args: str) -> tuple[int, str]:
        done = subprocess.run(
            args, cwd=self.place, env=self.env, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        return done.returncode, done.stdout

    def must(self, *args: str) -> str:
        code, out = self.run(*args)
        assert code == 0, out
        return out.strip()

    def commit(self, name: str, text: str) -> tuple[int, str]:
        (self.place / name).write_text(text, encoding="utf-8")
        self.must("git", "add", "-A")
        return self.run("git", "commit", "-m", name)

    def start(self) -> None:
        self.place.mkdir(exist_ok=True)
        self.must("git", "init", "--quiet")
        for key, value in (("user.name", "nobody"), ("user.email", "nobody@example.org")):
            self.must("git", "config", key, value)


def reachable(room: Path, env: dict[str, str]) -> bool:
    """Whether pip finds, here and now and with these variables, what an environment is built from."""
    asked = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(room), "hatchling"]
    return subprocess.run(asked, capture_output=True, check=False, env=env).returncode == 0


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Git:
    """An empty repository whose hooks come from a repository of this checkout."""
    pytest.importorskip("pre_commit", reason="pre-commit runs the hooks")
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    room = tmp_path_factory.mktemp("hook")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))}
    env |= {"PRE_COMMIT_HOME": str(room / "cache"), "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(room), "COLUMNS": "100"}
    if not reachable(room, env):
        pytest.skip("pip can't reach an index, so pre-commit can't build an environment")
    tool, user = Git(room / "tool", env), Git(room / "user", env)
    for each in (tool, user):
        each.start()
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tool.place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tool.place / name)
    tool.must("git", "add", "-A")
    tool.must("git", "commit", "--quiet", "-m", "the tool")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    recipe = readme[readme.index("# .pre-commit-config.yaml\n") :].partition("```")[0]
    (user.place / ".pre-commit-config.yaml").write_text(
        filled_in(recipe, tool.place, tool.must("git", "rev-parse", "HEAD")), encoding="utf-8"
    )
    user.must("git", "add", "-A")
    user.must("git", "commit", "--quiet", "-m", "the hook")
    user.must(sys.executable, "-m", "pre_commit", "install", "--install-hooks")
    return user


@pytest.fixture
def git(repository: Git) -> Git:
    """The repository as it was at its first commit."""
    first = repository.must("git", "rev-list", "--max-parents=0", "HEAD")
    repository.must("git", "reset", "--quiet", "--hard", first)
    return repository


def filled_in(recipe: str, tool: Path, revision: str) -> str:
    """The README's recipe with an address and a revision that are there."""
    yaml = pytest.importorskip("yaml")
    config = yaml.safe_load(recipe)
    config["repos"][0].update(repo=str(tool), rev=revision)
    text: str = yaml.safe_dump(config)
    return text


def test_a_commit_is_blocked_until_it_is_mended(git: Git) -> None:
    code, out = git.commit("train.py", FAILS)
    assert code == 1, out
    assert "retainlint...." in out and "Failed" in out
    assert "train.py:7:5: error[RTL102] backward-twice" in out
    code, out = git.commit("train.py", RUNS)
    assert code == 0, out
    assert "Passed" in out


def test_a_notebook_is_looked_at(git: Git) -> None:
    code, out = git.commit("study.ipynb", notebook(FAILS))
    assert code == 1, out
    assert "study.ipynb" in out and "RTL102" in out


def test_other_files_are_none_of_its_business(git: Git) -> None:
    code, out = git.commit("notes.txt", "loss.backward(); loss.backward()\n")
    assert code == 0, out
    assert "Skipped" in out


def test_a_hook_from_a_repository_fixes(git: Git) -> None:
    tool = Git(git.place.parent / "tool", git.env)
    source = f"  - repo: {tool.place}\n    rev: {tool.must('git', 'rev-parse', 'HEAD')}\n    hooks:\n      - id: retainlint-fix\n"
    (git.place / ".pre-commit-config.yaml").write_text(f"repos:\n{source}", encoding="utf-8")
    code, out = git.commit("waste.py", WASTES)
    assert code == 1 and "files were modified by this hook" in out, out
    mended = (git.place / "waste.py").read_text(encoding="utf-8")
    assert mended == RUNS
    code, out = git.commit("waste.py", mended)
    assert code == 0, out


def notebook(code: str) -> str:
    cell: dict[str, object] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": code,
    }
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_the_hooks_are_such_as_pre_commit_takes_and_as_the_pages_name(tmp_path: Path) -> None:
    pytest.importorskip("pre_commit", reason="judges the file")
    yaml = pytest.importorskip("yaml")
    file = ROOT / ".pre-commit-hooks.yaml"
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    hooks = {hook["id"]: hook for hook in yaml.safe_load(file.read_text(encoding="utf-8"))}
    assert set(hooks) == {"retainlint", "retainlint-fix"}
    assert all(hook["require_serial"] and hook["types_or"] == ["python", "jupyter"] for hook in hooks.values())
    for page in (ROOT / "README.md", ROOT / "docs" / "integrations.md"):
        named = re.findall(r"- id: ([\w-]+)", page.read_text(encoding="utf-8"))
        assert named and set(named) <= set(hooks)
