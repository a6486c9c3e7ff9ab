"""Programs on frameworks among the fixtures: which package each is for, its marks, and what real torch says of it with
that package installed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixture_marks import Mark, marks

ROOM = Path(__file__).resolve().parent.parent / "fixtures" / "frameworks"
RECORD = ROOM / "verdicts.json"
PACKAGES = {
    "accelerate": "accelerate", "deepspeed": "deepspeed", "einops": "einops", "higher": "higher",
    "ignite": "pytorch-ignite", "lightning": "lightning", "pytorch_lightning": "pytorch-lightning",
    "skorch": "skorch", "timm": "timm", "transformers": "transformers",
}  # fmt: skip
"""Modules, and the package that brings each; a program that imports none needs torch alone."""
ALONE = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
"""What DeepSpeed reads to learn that it is the only process."""
_IMPORT = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A program in `raises/` or `runs/`.

    None calls `destroy_process_group`: under load torch 2.13 hangs there about once in forty runs, as gloo's threads and
    the interpreter's lock wait for each other.
    """

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOM).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def raises(self) -> bool:
        return self.path.parent.name == "raises"

    @property
    def module(self) -> str:
        """The framework that it imports, "torch" if none."""
        return next((name for name in _IMPORT.findall(self.text) if name in PACKAGES), "torch")

    @property
    def environment(self) -> dict[str, str]:
        """Variables that it needs."""
        return ALONE if self.module == "deepspeed" else {}

    def marks(self) -> list[Mark]:
        return marks(self.text, self.name)

    def told(self) -> list[tuple[int, str]]:
        """Where the linter should tell of what, by the marks."""
        return [(mark.line, mark.code) for mark in self.marks() if mark.code]

    def version(self) -> str | None:
        """That of its package, None if it isn't installed; torch's is recorded beside it."""
        if importlib.util.find_spec(self.module) is None:
            return None
        return importlib.metadata.version(PACKAGES.get(self.module, "torch")).partition("+")[0]


def examples() -> list[Example]:
    return [Example(path) for kind in ("raises", "runs") for path in sorted((ROOM / kind).glob("*.py"))]


def recorded() -> dict[str, dict[str, Any]]:
    verdicts: dict[str, dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return verdicts
