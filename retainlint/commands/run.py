"""`retainlint run`: runs a torch script on the reference core, and tells the story of a graph error."""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from retainlint.commands import need_core
from retainlint.report.terminal import safe
from retainlint.text import is_notebook

if TYPE_CHECKING:
    from retainlint.numeric.story import Places

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def run(script: Path, args: Sequence[str], *, trace: bool = False, graph: Path | None = None) -> int:
    """Run `script` as `__main__` with torch's names resolved to the core; the exit code Python would give.

    With `trace` the life of each graph is told on standard error as it happens; with `graph` all graphs are drawn
    there, as SVG, at the end, also of a run that failed.
    """
    need_core("retainlint run")
    if is_notebook(str(script)):
        print(
            f"retainlint run: {safe(str(script))} is a notebook; `retainlint check` and `retainlint why` can read it",
            file=sys.stderr,
        )
        return 2
    try:
        code = compile(script.read_bytes(), str(script), "exec")
    except OSError as error:
        print(f"retainlint run: can't open {safe(str(script))}: {error.strerror}", file=sys.stderr)
        return 2
    except (SyntaxError, ValueError) as error:
        _print_error(error)
        return 1
    from retainlint.numeric.namespace import installed
    from retainlint.numeric.story import Places, watched

    places = Places(_tell if trace else None, keep=graph is not None)
    with installed(), watched(places), _as_main(script, args) as module:
        status = execute(code, module.__dict__, places)
    if graph is not None:
        from retainlint.commands.picture import draw

        graph.write_text(draw(places), encoding="utf-8")
    return status


def _tell(line: str) -> None:
    sys.stdout.flush()
    print(f"trace: {line}", file=sys.stderr)


def execute(code: CodeType, names: dict[str, Any], places: Places) -> int:
    """Execute a script in a namespace; the exit code Python would give. An error is told with its story."""
    try:
        exec(code, names)
    except SystemExit as stop:
        return status_of(stop)
    except BaseException as error:  # noqa: BLE001 -- as Python does for a script
        sys.stdout.flush()
        _print_error(error)
        if places.story is not None and str(error) == places.story.message:
            print(f"\nhow it came about:\n{places.story}", file=sys.stderr)
        if isinstance(error, KeyboardInterrupt):
            return 130
        return 1
    sys.stdout.flush()
    return 0


def status_of(stop: SystemExit) -> int:
    """The exit code Python would give, and what it would print."""
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


@contextmanager
def _as_main(script: Path, args: Sequence[str]) -> Iterator[ModuleType]:
    """A fresh `__main__`, argv and path as Python sets them for a script; afterwards all is as it was."""
    module = ModuleType("__main__")
    module.__file__ = str(script)
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    before = sys.modules["__main__"], sys.argv, list(sys.path)
    sys.modules["__main__"], sys.argv = module, [str(script), *args]
    sys.path.insert(0, str(script.resolve().parent))
    linecache.checkcache(str(script))
    try:
        yield module
    finally:
        sys.modules["__main__"], sys.argv = before[:2]
        sys.path[:] = before[2]


def _print_error(error: BaseException) -> None:
    """The traceback as Python prints it, without the core's own frames."""
    _hide(error, set())
    sys.stderr.write("".join(traceback.format_exception(type(error), error, error.__traceback__)))


def _hide(error: BaseException, seen: set[int]) -> None:
    if id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = _users(error.__traceback__)
    for other in (error.__cause__, error.__context__):
        if other is not None:
            _hide(other, seen)


def _users(start: TracebackType | None) -> TracebackType | None:
    """The same traceback with only the frames outside this package."""
    if start is None:
        return None
    rest = _users(start.tb_next)
    if start.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        return rest
    return TracebackType(rest, start.tb_frame, start.tb_lasti, start.tb_lineno)
