"""Asks real torch: runs a program as `__main__` in a forked child and tells whether, where and how it raised."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import re
import runpy
import select
import signal
import sys
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import NoReturn

import torch
import torch._dynamo  # optimisers import it at their first use: 0.9 s in every child if the parent hasn't
import torch.distributions
import torch.func
import torch.utils.checkpoint

TIMEOUT = 60.0
"""Seconds that one program may take; reached only by one that hangs."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What torch said: `line` is the innermost line of the program that the traceback names, counted from 1; of a
    project, `file` is the one it stands in."""

    raises: bool
    line: int | None
    error: str | None
    sentence: str | None
    stdout: str
    file: str | None = None


def judge(path: Path, timeout: float = TIMEOUT, project: Path | None = None) -> Verdict:
    """Run the program at `path` and return its verdict; `TimeoutError` if it takes longer than `timeout` seconds.

    With `project`, the directory of the modules that it imports, it runs there, as a script of that project.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        _answer(path, sending, project)
    os.close(sending)
    try:
        text = _receive(receiving, time.monotonic() + timeout)
        if text is None:
            os.kill(child, signal.SIGKILL)
            raise TimeoutError(f"{path} ran for more than {timeout:g} seconds")
    finally:
        os.close(receiving)
        os.waitpid(child, 0)
    if not text:
        raise ChildProcessError(f"{path} ended its process without an answer")
    return Verdict(**json.loads(text))


def first_sentence(message: str) -> str:
    """The part of an error message that doesn't hold shapes and versions, without its full stop."""
    return re.split(r"[.:](?:\s|$)|\n", message.strip(), maxsplit=1)[0]


def _receive(descriptor: int, deadline: float) -> bytes | None:
    """All that the child writes until it closes the pipe, or None at the deadline."""
    parts: list[bytes] = []
    while select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(descriptor, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return None


def _answer(path: Path, descriptor: int, project: Path | None) -> NoReturn:
    """In the child: run the program, write its verdict as JSON, and leave without the parent's exit handlers."""
    try:
        torch.set_num_threads(1)
        with os.fdopen(descriptor, "w", encoding="utf-8") as pipe:
            json.dump(dataclasses.asdict(_run(path, project)), pipe)
    finally:
        os._exit(0)


def _run(path: Path, project: Path | None) -> Verdict:
    sys.argv = [str(path)]
    files = [path]
    if project is not None:
        os.chdir(project)
        sys.path[:0] = [str(path.parent), str(project), str(project / "src")]
        sys.dont_write_bytecode = True
        files = sorted(project.rglob("*.py"))
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as stop:
            if stop.code not in (None, 0):
                return _failure(files, stop, stdout.getvalue())
        except Exception as error:  # noqa: BLE001 -- whatever the program raises is its verdict
            return _failure(files, error, stdout.getvalue())
    return Verdict(raises=False, line=None, error=None, sentence=None, stdout=stdout.getvalue())


def _failure(files: list[Path], error: BaseException, stdout: str) -> Verdict:
    file, line = _innermost_line(error.__traceback__, {str(path) for path in files})
    return Verdict(True, line, type(error).__name__, first_sentence(str(error)), stdout, file)


def _innermost_line(traceback: TracebackType | None, files: set[str]) -> tuple[str | None, int | None]:
    """The innermost line of the program itself; a Function's backward that is refused what it saved is inside the walk."""
    file, line = None, None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename in files:
            if code.co_name == "backward" and "ctx" in code.co_varnames and traceback.tb_next is None:
                break
            file, line = code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    return file, line
