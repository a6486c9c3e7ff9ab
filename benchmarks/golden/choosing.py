"""What a record is made of: folders that are checked as trees, and random programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ALONE = ("raises", "runs", "unknown", "wastes")
"""Folders of fixtures of one file each."""

TOGETHER = 25
"""So many random programs are handed to a process at once."""


@dataclass(frozen=True)
class Tree:
    """A folder; `prefix` is where it lies within its part of the record."""

    part: str
    prefix: str
    folder: Path


@dataclass(frozen=True)
class Programs:
    """Random programs, by the seeds that they are generated from."""

    seeds: tuple[str, ...]
    part: str = "generated"
    prefix: str = ""


def fixtures(folder: Path) -> Iterator[Tree]:
    """The fixtures, each project as its own tree."""
    for kind in ALONE:
        yield Tree("fixtures", kind, folder / kind)
    for kind in ("raises", "runs"):
        yield Tree("frameworks", kind, folder / "frameworks" / kind)
        for project in _folders(folder / "projects" / kind):
            yield Tree("projects", f"{kind}/{project.name}", project)


def repositories(folder: Path) -> Iterator[Tree]:
    """Each folder in it."""
    for repository in _folders(folder):
        yield Tree(f"repositories/{repository.name}", "", repository)


def generated(count: int, seed: int) -> Iterator[Programs]:
    """The programs that `benchmarks.truth` would measure with these options."""
    seeds = [f"{seed}.{number}" for number in range(count)]
    for start in range(0, count, TOGETHER):
        yield Programs(tuple(seeds[start : start + TOGETHER]))


def chosen(programs: Path, count: int, seed: int, corpus: Path | None) -> list[Tree | Programs]:
    """All of a record's pieces, the longest first, so that none keeps the others waiting at the end."""
    trees = [tree for tree in fixtures(programs) if tree.folder.is_dir()]
    if corpus is not None:
        trees += repositories(corpus)
    return [*sorted(trees, key=lambda tree: -_work(tree.folder)), *generated(count, seed)]


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _work(folder: Path) -> int:
    """Bytes of the files below a folder that speak of a walk: the others take no time."""
    names = (os.path.join(above, name) for above, _, names in os.walk(folder) for name in names)
    texts = (Path(name).read_bytes() for name in names if name.endswith((".py", ".ipynb")) and os.path.isfile(name))
    return sum(len(text) for text in texts if b"backward" in text)
