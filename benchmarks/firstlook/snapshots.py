"""Trees of text files out of git directories without a work tree, each with the commit that it was taken from."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

ENDINGS = (b".py", b".ipynb", b".toml", b".cfg", b".ini", b".md")
LARGEST = 3_000_000
"""Bytes of a file that is written: notebooks with pictures are larger, and their code is small."""
COMMITS = "commits.json"
"""Beside the trees: which commit each was taken from."""


def export(git_directories: Sequence[Path], out: Path) -> dict[str, str]:
    """Write each newest commit's text files under `out`, and tell the commits by the trees' names. An empty `.git` marks a tree as
    a project's root, as in a clone."""
    out.mkdir(parents=True, exist_ok=True)
    commits = known_commits(out)
    for directory in git_directories:
        name = named(directory)
        if name not in commits:
            commits[name] = _written(directory, out / name)
            (out / name / ".git").mkdir(parents=True, exist_ok=True)
    (out / COMMITS).write_text(json.dumps(commits, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return commits


def known_commits(trees: Path) -> dict[str, str]:
    path = trees / COMMITS
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def named(directory: Path) -> str:
    """The repository's name: that of the innermost folder that isn't git's own or a plain `repo`."""
    parts = [part for part in directory.absolute().parts if part not in (".git", "repo")]
    return parts[-1].removesuffix(".git")


def _written(directory: Path, tree: Path) -> str:
    commit = _git(directory, "rev-parse", "HEAD").decode().strip()
    wanted = list(_wanted(_git(directory, "ls-tree", "-r", "-z", "-l", "HEAD")))
    asked = b"".join(object_name + b"\n" for object_name, _ in wanted)
    answer = _git(directory, "cat-file", "--batch", said=asked)
    at = 0
    for _, path in wanted:
        line_end = answer.index(b"\n", at)
        head = answer[at:line_end].split()
        at = line_end + 1
        if len(head) < 3:  # listed, but not in the snapshot
            continue
        size = int(head[2])
        target = tree / os.fsdecode(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(answer[at : at + size])
        at += size + 1
    return commit


def _wanted(listing: bytes) -> Iterator[tuple[bytes, bytes]]:
    for entry in listing.split(b"\0"):
        described, _, path = entry.partition(b"\t")
        if not path.lower().endswith(ENDINGS) or b".." in path.split(b"/"):
            continue
        mode, kind, object_name, size = described.split()
        if kind == b"blob" and mode != b"120000" and size.isdigit() and int(size) <= LARGEST:
            yield object_name, path


def _git(directory: Path, *arguments: str, said: bytes = b"") -> bytes:
    command = ["git", "--git-dir", str(directory), *arguments]
    return subprocess.run(command, input=said, capture_output=True, check=True).stdout
