"""Each fixture without convolutions, run on the core: it ends as real torch recorded."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import pytest
from autograd.differential import first_sentence

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RECORD: dict[str, dict[str, Any]] = json.loads((FIXTURES / "verdicts.json").read_text(encoding="utf-8"))
OUT_OF_SCOPE = re.compile(r"Conv\d|ConvTranspose|MaxPool\d|conv\dd|max_pool")


def in_scope(name: str) -> bool:
    """Whether the core claims to run it."""
    path = FIXTURES / name
    return path.exists() and not OUT_OF_SCOPE.search(path.read_text(encoding="utf-8"))


def run(path: Path) -> dict[str, Any]:
    """How a fixture ends on the core, in a forked child."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        try:
            os.write(sending, json.dumps(_ending(path)).encode())
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(text)
    return found


def _ending(path: Path) -> dict[str, Any]:
    from retainlint.autograd.face.namespace import installed

    sys.argv = [str(path)]
    with installed(), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            runpy.run_path(str(path), run_name="__main__")
        except Exception as error:  # noqa: BLE001 -- whatever it raises is its verdict
            return {
                "line": _line(error, str(path)),
                "error": type(error).__name__,
                "sentence": first_sentence(str(error)),
            }
    return {"line": None, "error": None, "sentence": None}


def _line(error: Exception, filename: str) -> int | None:
    """The innermost line of the program; a Function's own backward is inside the walk, and doesn't count."""
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == filename:
            if frame.f_code.co_name == "backward" and "ctx" in frame.f_code.co_varnames:
                break
            found = line
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("name", sorted(filter(in_scope, RECORD)))
def test_fixture_ends_as_under_torch(name: str) -> None:
    found = run(FIXTURES / name)
    assert found == {key: RECORD[name][key] for key in ("line", "error", "sentence")}
