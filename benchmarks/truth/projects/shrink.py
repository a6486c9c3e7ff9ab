"""Finds the smallest project that still shows a difference: `python -m benchmarks.truth.projects.shrink 7.12 7.80`."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.truth.projects import judging
from benchmarks.truth.projects.project import Project, generate
from benchmarks.truth.score import Result
from benchmarks.truth.shrink import Shrinker


@dataclass
class ProjectShrinker(Shrinker):
    """Makes one file of a project smaller, the others as they are."""

    project: Project = field(default_factory=lambda: Project("", {}, (), (), frozenset()))
    file: str = ""

    def judge(self, text: str) -> Result:
        changed = replace(self.project, files={**self.project.files, self.file: text})
        return judging.compare(changed, self.folder)


def shrunk(project: Project, folder: Path) -> Project:
    """Every file in turn, until none gets smaller."""
    smaller = True
    while smaller:
        before = project.files
        for file, text in before.items():
            if text.strip():
                work = ProjectShrinker(project.name, folder, limit=250, project=project, file=file)
                project = replace(project, files={**project.files, file: work.shrink(text)})
        smaller = sum(map(len, project.files.values())) < sum(map(len, before.values()))
    return project


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("seeds", nargs="+")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for seed in chosen.seeds:
            small = shrunk(generate(seed), Path(folder))
            result = judging.compare(small, Path(folder))
            lines = {judging.shown(small, at): kind for at, kind in result.truth.lines.items()}
            found = {judging.shown(small, at): kind for at, kind in result.reading.lines.items()}
            print(f"----- {seed}: {result.verdict}: torch {lines}, linter {found}")
            for file, text in small.files.items():
                if text.strip():
                    print(f"# {file}\n{text}")
            print(small.drivers[0].rpartition("try:\n")[2].partition("except")[0].rstrip(), flush=True)


if __name__ == "__main__":
    main()
