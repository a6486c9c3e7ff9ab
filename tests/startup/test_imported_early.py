"""What is imported before it is needed is what makes a hook slow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COSTLY = {
    "ast", "asyncio", "dataclasses", "distributed", "hashlib", "json", "libcst", "locale", "logging", "multiprocessing",
    "numpy", "pathlib", "pathspec", "shutil", "tomllib", "zlib",
    "retainlint.suppressions.baseline", "retainlint.diagnostic", "retainlint.checking.executor", "retainlint.fixes", "retainlint.incident", "retainlint.ir",
    "retainlint.lowering", "retainlint.text.notebook", "retainlint.report.drawing", "retainlint.report.json",
    "retainlint.project.import_resolution", "retainlint.cache.finding_codec", "retainlint.cache.results", "retainlint.cache.store", "retainlint.cache.codec", "retainlint.checking.pipeline", "retainlint.startup.records",
    "retainlint.rules", "retainlint.project.remote_files", "retainlint.text.source", "retainlint.suppressions", "retainlint.symbolic",
    "retainlint.checking.worker",
}  # fmt: skip


def test_a_file_without_a_walk_needs_nothing_of_the_pipeline(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    before = _imported("pass", tmp_path)
    script = "from retainlint.cli import cli; cli.main(['check', 'a.py'], standalone_mode=False)"
    assert (_imported(script, tmp_path) - before) & COSTLY - _imported("import click", tmp_path) == set()


def test_no_command_but_the_one_asked_for_is_imported(tmp_path: Path) -> None:
    script = "from retainlint.cli import cli; cli.main(['clean'], standalone_mode=False)"
    words = {name for name in _imported(script, tmp_path) if name.startswith("retainlint.cli.words.")}
    assert words == {"retainlint.cli.words.upkeep"}


def _imported(script: str, where: Path) -> set[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = f"{script}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=where, env=environment
    )
    return set(done.stdout.split())
