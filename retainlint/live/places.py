"""Where a running program is: the calls of its own code that lead to a place, and that place as a span of its text."""

from __future__ import annotations

import itertools
import linecache
import os
import site
import sys
import sysconfig
from functools import cache
from types import CodeType, FrameType
from typing import NamedTuple, TypeAlias

from retainlint.text.source import Source, Span

MOST_CALLS = 12
"""So many of the user's calls are remembered of a place, the innermost."""


class Call(NamedTuple):
    """A call that is under way: the code, and the offset of its instruction, as a frame has them."""

    code: CodeType
    instruction: int


Stack: TypeAlias = tuple[Call, ...]
"""The user's calls that lead to a place, the innermost first."""


def _libraries() -> tuple[str, ...]:
    """The folders whose code isn't the user's: Python's, installed packages, and ours."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    found = {sysconfig.get_path(name) for name in names} | {os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}
    if site.ENABLE_USER_SITE:
        found.add(site.getusersitepackages())
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__ is not None:
        found.add(os.path.dirname(torch.__file__))
    return tuple(os.path.join(path, "") for path in found if path)


@cache
def _is_of_user(path: str) -> bool:
    no_file = path.startswith("<") and not path.startswith("<ipython-input")
    return not no_file and not os.path.abspath(path).startswith(_libraries())


def stack_of(frame: FrameType | None) -> Stack:
    """The user's calls from a frame outward."""
    return tuple(Call(each.f_code, each.f_lasti) for each in users_frames(frame))


def users_frames(frame: FrameType | None) -> list[FrameType]:
    """The same as frames, whose variables can be looked at."""
    found: list[FrameType] = []
    while frame is not None and len(found) < MOST_CALLS:
        if _is_of_user(frame.f_code.co_filename):
            found.append(frame)
        frame = frame.f_back
    return found


def fork(first: Stack, second: Stack) -> tuple[Call | None, Call | None]:
    """The calls at which the ways to two places part, in the innermost function that both ways go through; where they
    never part, the innermost call twice."""
    pair: tuple[Call | None, Call | None] = (first[0] if first else None, second[0] if second else None)
    for one, other in zip(reversed(first), reversed(second), strict=False):
        if one.code is not other.code and not _of_one_cell(one.code, other.code):
            break
        pair = one, other
        if one != other:
            break
    return pair


def _of_one_cell(one: CodeType, other: CodeType) -> bool:
    """Whether two codes are statements of one cell: IPython compiles each alone."""
    return one.co_name == other.co_name == "<module>" and one.co_filename == other.co_filename


@cache
def source_of(path: str) -> Source:
    """The text of a code object's file; empty where nobody has it."""
    name = os.path.abspath(path).removeprefix(os.path.join(os.getcwd(), ""))
    return Source(name if os.path.isfile(path) else path, "".join(linecache.getlines(path)))


def span_of(call: Call) -> Span:
    """The expression that is being computed, or its row where Python (before 3.11) doesn't say more."""
    source = source_of(call.code.co_filename)
    row, end_row, column, end_column = _position(call)
    if not 1 <= row <= end_row <= len(source.row_starts) or not source.text:
        return Span(source, 0, 0)
    text, end_text = source.row_text(row), source.row_text(end_row)
    start = _characters(text, column) if column is not None else len(text) - len(text.lstrip())
    end = _characters(end_text, end_column) if end_column is not None else len(end_text.rstrip())
    return Span(source, source.offset(row, start + 1), source.offset(end_row, end + 1))


def row_of(call: Call) -> int:
    """The row, from 1, in which what is being computed begins."""
    return _position(call)[0]


def _position(call: Call) -> tuple[int, int, int | None, int | None]:
    if sys.version_info >= (3, 11):
        found = next(itertools.islice(call.code.co_positions(), call.instruction // 2, None), None)
        if found is not None and found[0] is not None:
            return found[0], found[1] or found[0], found[2], found[3]
    for start, end, row in call.code.co_lines():
        if start <= call.instruction < end and row is not None:
            return row, row, None, None
    return call.code.co_firstlineno, call.code.co_firstlineno, None, None


def _characters(row: str, column: int) -> int:
    """A column in bytes of UTF-8 as one in characters."""
    return len(row.encode("utf-8")[:column].decode("utf-8", "replace"))
