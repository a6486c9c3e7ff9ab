"""`python -m retainlint.live train.py ...`: run a program and tell of its graphs when an error of autograd's ends it."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from types import ModuleType, TracebackType
from typing import TextIO

from retainlint.commands.run import status_of
from retainlint.live.recorder import Recording
from retainlint.report.terminal import safe_start


def main(arguments: list[str] | None = None) -> int:
    """Run the program and give its exit code, 1 if an exception ended it."""
    options = _options().parse_args(arguments)
    sys.argv = [options.program, *options.arguments]
    code = 0
    recording = Recording()
    try:
        with recording:
            run_program(options.program, options.module)
    except SystemExit as end:
        code = status_of(end)
    except Exception as error:  # noqa: BLE001 -- the program's, told as Python would
        traceback.print_exception(type(error), error, _users_part(error.__traceback__))
        code = 1
    sys.stdout.flush()
    tell(recording, sys.stderr, options.check)
    return code


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m retainlint.live",
        description="Run a PyTorch program, record the life of its graphs, and tell which one failed if it fails.",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module's name, as in python -m")
    parser.add_argument(
        "--no-check", dest="check", action="store_false", help="don't compare with what `retainlint check` says"
    )
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER)
    return parser


def run_program(program: str, is_module: bool) -> None:
    """The program as Python would run it."""
    if is_module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    with open(program, "rb") as file:
        code = compile(file.read(), program, "exec")
    main_module = ModuleType("__main__")
    main_module.__file__ = program
    sys.modules["__main__"] = main_module  # classes of the program are found there when they are pickled
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    exec(code, main_module.__dict__)


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's own first call on."""
    here = os.path.dirname(os.path.abspath(__file__))
    part = trace
    while part is not None:
        path = part.tb_frame.f_code.co_filename
        if "runpy" not in path and os.path.dirname(os.path.abspath(path)) != here:
            return part
        part = part.tb_next
    return trace


def tell(recording: Recording, out: TextIO, checks: bool) -> None:
    """What was recorded, in a few rows; and, with `checks`, what the linter had said of it."""
    failed = sum(map(len, recording.failed.values()))
    told = f", {failed} of which failed" if failed else ""
    passes = recording.backward_passes
    out.write(f"retainlint recorded {passes} backward pass{'es' * (passes != 1)}{told}.\n")
    if recording.defects:
        out.write(f"Recording went wrong {recording.defects} times, so something may not be told.\n")
    if not checks or not passes:
        return
    from retainlint.live.predictions import predictions

    for each in predictions(recording):
        finding = each.finding
        out.write(f"{safe_start(str(finding.primary.span))}: {finding.code} {finding.name}: {each}\n")


if __name__ == "__main__":
    sys.exit(main())
