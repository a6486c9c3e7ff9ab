"""Each fixture without convolutions, run on the core: it ends as real torch recorded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
RECORD: dict[str, dict[str, Any]] = json.loads((FIXTURES / "verdicts.json").read_text(encoding="utf-8"))
OUT_OF_SCOPE = re.compile(r"Conv\d|ConvTranspose|MaxPool\d|conv\dd|max_pool")
LACKING = re.compile(
    r"Beta\(|linalg\.eigh|jacrev|rot90|std_mean|Hardshrink|parametrizations|searchsorted|torch\.save\(|import jvp|import prune"
    r"|TransformedDistribution|import hvp|CTCLoss|torch\.jit\.|nn\.Transformer\(|utils\.rnn"
)
"""Beyond what the core's face is meant to know: an error says so."""


def in_scope(name: str) -> bool:
    """Whether the core claims to run it."""
    path = FIXTURES / name
    return path.exists() and not OUT_OF_SCOPE.search(path.read_text(encoding="utf-8"))


NAMES = sorted(filter(in_scope, RECORD))


@pytest.fixture(scope="session")
def endings() -> dict[str, dict[str, Any]]:
    """How all of them end on the core."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("endings.py"))],
        input="\n".join(str(FIXTURES / name) for name in NAMES),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.xdist_group("endings")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("name", NAMES)
def test_fixture_ends_as_under_torch(name: str, endings: dict[str, dict[str, Any]]) -> None:
    ending = endings[str(FIXTURES / name)]
    if LACKING.search((FIXTURES / name).read_text(encoding="utf-8")):
        assert ending["error"] in ("LackingName", "LackingModule", "LackingUse") and "has no" in ending["sentence"]
    else:
        assert ending == {key: RECORD[name][key] for key in ("line", "error", "sentence")}
