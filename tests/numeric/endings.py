"""Runs programs on the core, each in a forked child of this small process, and prints how they end, as JSON.

Forking a process that has loaded torch costs ten times as much; so the tests start this one.
"""

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


def run(path: Path) -> dict[str, Any]:
    """How a program ends on the core: the line, class and first sentence of its error, or None."""
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
    found: dict[str, Any] = json.loads(text or '{"error": "ended without an answer"}')
    return found


def _ending(path: Path) -> dict[str, Any]:
    from retainlint.numeric.namespace import installed

    sys.argv = [str(path)]
    with installed(), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            runpy.run_path(str(path), run_name="__main__")
        except Exception as error:  # noqa: BLE001 -- whatever it raises is its verdict
            sentence = re.split(r"[.:](?:\s|$)|\n", str(error).strip(), maxsplit=1)[0]
            return {"line": _line(error, str(path)), "error": type(error).__name__, "sentence": sentence}
    return {"line": None, "error": None, "sentence": None}


def _line(error: Exception, filename: str) -> int | None:
    """The innermost line of the program; a Function's own backward that is refused what it saved is inside the walk."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    if frames[-1][0].co_name == "saved_tensors":
        del frames[-2:]
    return next((line for code, line in reversed(frames) if code.co_filename == filename), None)


if __name__ == "__main__":
    import retainlint.numeric.namespace  # noqa: F401 -- once, for all children

    json.dump({name: run(Path(name)) for name in sys.stdin.read().splitlines()}, sys.stdout)
