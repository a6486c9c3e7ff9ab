"""A text to a libcst tree with offsets, behind guards: libcst crashes the process on some texts and loses parts of others."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import libcst as cst

from retainlint.lowering.depth import too_deep
from retainlint.lowering.errors import LoweringError
from retainlint.lowering.positions import Offsets, measure
from retainlint.source import Source

FRAMES = 12_000
"""Python frames that the deepest text which `too_deep` lets through may need."""

_LONE_CARRIAGE = re.compile(r"\r(?!\n)")
_LEADING_FORM_FEED = re.compile(r"^[ \t\f]*\f", re.MULTILINE)
_ERROR_PLACE = re.compile(r"error at (\d+):(\d+)")


@dataclass(frozen=True)
class Tree:
    """A parsed text; `offsets` count in the characters of the source, whatever was parsed in its stead."""

    module: cst.Module
    offsets: Offsets


def parse(source: Source) -> Tree:
    """The tree of a text; raises LoweringError for one that isn't Python or can't be read safely."""
    text = source.text
    if (null := text.find("\0")) >= 0:
        raise LoweringError(source, "the source contains a null byte", null)
    if (deep := too_deep(text)) is not None:
        raise LoweringError(source, "the code is nested too deeply to be checked", deep)
    parsed, cuts = _readable(text)
    try:
        module = cst.parse_module(parsed)
    except UnicodeEncodeError as error:
        raise LoweringError(source, "the source contains a character that can't be encoded", error.start) from error
    except Exception as error:  # libcst raises errors of its own, and those of its tokenizer and validation
        raise _explained(source, error) from error
    offsets, length = measure(module)
    if length != len(parsed):
        raise LoweringError(source, "the source has white space whose place can't be told", 0)
    return Tree(module, _shifted(offsets, cuts) if cuts else offsets)


@contextmanager
def room_to_recurse() -> Iterator[None]:
    """Lift the recursion limit while a tree is walked, so that what is checked doesn't depend on who asks."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _readable(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text as libcst gives it back in full, and what was cut from it: (offset in what is left, total cut so far)."""
    if "\r" in text:
        text = _LONE_CARRIAGE.sub("\n", text)
    text = text.rstrip(" \t\f")  # libcst loses blanks that no line end follows
    if "\f" not in text and not text.startswith("\ufeff"):
        return text, []
    pieces, cuts, at, gone = [], [], 0, 0
    for start, end in _droppable(text):
        pieces.append(text[at:start])
        cuts.append((start - gone, gone + end - start))
        at, gone = end, gone + end - start
    return "".join([*pieces, text[at:]]), cuts


def _droppable(text: str) -> Iterator[tuple[int, int]]:
    """What Python skips and libcst loses: a byte-order mark, and white space that a form feed ends at a row's start."""
    start = 1 if text.startswith("\ufeff") else 0
    if start:
        yield 0, 1
    for found in _LEADING_FORM_FEED.finditer(text[start:]):
        yield found.start() + start, found.end() + start


def _shifted(offsets: Offsets, cuts: list[tuple[int, int]]) -> Offsets:
    places = [place for place, _ in cuts]
    totals = [0, *(total for _, total in cuts)]
    return {
        node: (start + totals[bisect_right(places, start)], end + totals[bisect_right(places, end - 1)])
        for node, (start, end) in offsets.items()
    }


def _explained(source: Source, error: Exception) -> LoweringError:
    """Say in Python's own words what is wrong, where this Python's parser agrees that something is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source.text)
    except SyntaxError as syntax:
        row = min(max(syntax.lineno or 1, 1), len(source.row_starts))
        return LoweringError(source, f"not valid Python: {syntax.msg}", source.offset(row, max(syntax.offset or 1, 1)))
    except (ValueError, RecursionError, MemoryError):
        pass
    if (found := _ERROR_PLACE.search(str(error))) is not None:
        row = min(int(found[1]), len(source.row_starts))
        return LoweringError(source, "not Python that libcst can read", source.offset(row, int(found[2])))
    return LoweringError(source, "not Python that libcst can read", 0)
