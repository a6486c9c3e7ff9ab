"""Whole projects among the fixtures: several modules and a main script, their marks, and what real torch says of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixture_marks import Mark, marks

ROOM = Path(__file__).resolve().parent.parent / "fixtures" / "projects"
RECORD = ROOM / "verdicts.json"


@dataclass(frozen=True)
class Project:
    """A directory in `raises/` or `runs/`; its main script is the one called `main.py`, else `train.py`."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOM).as_posix()

    @property
    def raises(self) -> bool:
        return self.path.parent.name == "raises"

    @property
    def main(self) -> Path:
        """The script that is run."""
        for name in ("main.py", "train.py"):
            found = sorted(self.path.rglob(name))
            if found:
                (only,) = found
                return only
        raise ValueError(f"{self.path} has no main script")

    def marks(self) -> list[tuple[str, Mark]]:
        """Every mark, with the file in which it stands."""
        files = sorted(self.path.rglob("*.py"))
        named = ((file.relative_to(self.path).as_posix(), file) for file in files)
        return [(name, mark) for name, file in named for mark in marks(file.read_text(encoding="utf-8"), str(file))]

    def failing(self) -> tuple[str, Mark] | None:
        """Where the marks say that it raises."""
        coded = [(file, mark) for file, mark in self.marks() if mark.code]
        if len(coded) != self.raises:
            raise ValueError(f"{self.path}: {len(coded)} marks with a code")
        return coded[0] if coded else None


def projects() -> list[Project]:
    return [Project(path) for kind in ("raises", "runs") for path in sorted((ROOM / kind).iterdir()) if path.is_dir()]


def recorded() -> dict[str, dict[str, Any]]:
    verdicts: dict[str, dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return verdicts
