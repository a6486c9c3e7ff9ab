"""A text to a libcst tree with offsets, behind guards: libcst crashes the process on some texts and loses parts of others."""

from __future__ import annotations

import ast
import gc
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import libcst as cst

from retainlint.lowering import limits
from retainlint.lowering.guards import LoweringError, too_deep, words_in
from retainlint.lowering.positions import Offsets, align, measure
from retainlint.startup.libcst_import import parse_module
from retainlint.startup.records import record
from retainlint.text.source import Source


def _present(*names: str) -> tuple[type[cst.CSTNode], ...]:
    return tuple(getattr(cst, name) for name in names if hasattr(cst, name))


INTERPOLATED = _present("FormattedString", "TemplatedString")

TEMPLATES = _present("TemplatedString")

INTERPOLATIONS = _present("FormattedStringExpression", "TemplatedStringExpression")

UNPACKING_DICT_COMPREHENSIONS = _present("StarredDictComp")

IMPORTS = _present("Import", "LazyImport")

IMPORTS_FROM = _present("ImportFrom", "LazyImportFrom")


_LONE_CARRIAGE = re.compile(r"\r(?!\n)")

_LONE_BACKSLASH = re.compile(r"(?m)(?<!\\\n)^\\(?=\r?\n)")

_FEED_IN_INDENT = re.compile(r"(?<!\\)(\r?\n)([ \t\f]*\f)(?=[ \t]*\S)")
"""An indentation begins anew behind a form feed, which libcst doesn't know: what stands before it goes to the row above."""

_BACKSLASH_IN_INDENT = re.compile(r"(?m)(?<!\\\n)(?<!\\\r\n)^([ \t]+)\\(?=\r?\n)")
"""A row of blanks that is joined to the next: libcst loses the backslash."""

_TABS_IN_INDENT = re.compile(r"(?m)^ *\t[ \t]*")
"""Of blanks behind tabs libcst forgets, one block deeper, how far they went. Python takes only what is one order for tabs of
one column and of eight, so that a blank for each tab says the same."""

_COMMENT_ROW = re.compile(r"(?m)^[ \t]*#[^\r\n]*")
"""Of those that are indented less than the block before them, at a text's end, libcst loses all but the last."""

_BRACKETED_TARGET = re.compile(r"(?m)((?:^|;)[ \t]*\(*)\(([^(),:=\n]+)\)(?=[ \t)]*:)")
"""`(x): int`, which libcst doesn't know either: brackets around what is annotated."""

_NOT_GIVEN_BACK = "libcst doesn't give this text back, so no place in it can be told"

_HOLD = "if 1:\n"

_ERROR_PLACE = re.compile(r"error at (\d+):(\d+)")


@record
class Tree:
    """A parsed text; `offsets` count in its own characters, whatever libcst lost of them."""

    module: cst.Module
    offsets: Offsets


def parse(source: Source) -> Tree:
    """The tree of a text; raises LoweringError for one that isn't Python or can't be read safely."""
    text = source.text
    if (null := text.find("\0")) >= 0:
        raise LoweringError(source, "the source contains a null byte", null)
    text, module = _module(source, text, 0)
    return _placed(source, module, text, 0, 0)


def parse_around(source: Source, aside: Mapping[int, int], first: int = 0, last: int | None = None) -> Tree | None:
    """The tree of a text, or of its rows between two offsets, in which a number stands for each piece that is put aside,
    given by where it starts and ends.

    None where that can't be told from its places, and where the text has to be read as a whole to say what is wrong.
    """
    last = len(source.text) if last is None else last
    pieces: list[str] = []
    at = first
    for start in sorted(aside):
        pieces += (source.text[at:start], "0")
        at = aside[start]
    pieces.append(source.text[at:last])
    try:
        module = _module(source, "".join(pieces), first)[1]
    except LoweringError:
        return None
    offsets, end = measure(module, first, gaps=aside)
    return Tree(module, offsets) if end == last else None


def parse_rows(source: Source, first: int, last: int) -> Tree:
    """The tree of the rows between two offsets. Raises LoweringError where they can't be read safely."""
    text, module = _module(source, source.text[first:last], first)
    return _placed(source, module, text, first, first)


def parse_body(source: Source, start: int, end: int) -> Tree:
    """The tree of a function's statements, as the body of an `if`, from the first on to the end of the last.

    Raises LoweringError where they can't be read safely.
    """
    row = source.row_starts[source.place(start)[0] - 1]
    at = row - len(_HOLD)
    text, module = _module(source, _HOLD + source.text[row:end], at)
    return _placed(source, module, text, at, start)


def _placed(source: Source, module: cst.Module, text: str, at: int, start: int) -> Tree:
    """The tree of a text that stands at an offset of the source, or of what comes of it from `start` on."""
    offsets, end = measure(module, at)
    if end == at + len(text):
        return Tree(module, offsets)
    aligned = align(module, text)
    if aligned is None:
        bare = _COMMENT_ROW.sub(lambda found: " " * len(found[0]), text)
        if bare == text:
            raise LoweringError(source, _NOT_GIVEN_BACK, start)
        return _placed(source, _module(source, bare, at)[1], bare, at, start)
    return Tree(module, {node: (first + at, last + at) for node, (first, last) in aligned.items()})


def _module(source: Source, text: str, at: int) -> tuple[str, cst.Module]:
    """A text, which stands at an offset of the source, as libcst reads it, and its tree."""
    if (deep := too_deep(text)) is not None:
        raise LoweringError(source, "the code is nested too deeply to be checked", at + deep)
    if len(text) > limits.PIECE_WORDS and (words := words_in(text)) > limits.PIECE_WORDS:
        found = f"{words:,} words in one piece, more than {limits.PIECE_WORDS:,}"
        raise LoweringError(source, f"the file is too long to be checked: {found}", max(at, 0))
    text = _LONE_CARRIAGE.sub("\n", text) if "\r" in text else text  # which libcst takes for a blank
    text = _LONE_BACKSLASH.sub(" ", text) if "\n\\" in text else text  # a row that joins nothing, and stops libcst
    try:
        return _read(text)
    except UnicodeEncodeError as error:
        place = at + error.start
        raise LoweringError(source, "the source contains a character that can't be encoded", place) from error
    except Exception as error:  # libcst raises errors of its own, and those of its tokenizer and validation
        raise _explained(source, error) from error


def _read(text: str) -> tuple[str, cst.Module]:
    """A text and its tree; of one that libcst refuses, another that means the same and is as long, if it reads that."""
    try:
        module = parse_module(text)
        loses = "\f" in text or _BACKSLASH_IN_INDENT.search(text) is not None
        if not loses or module.code == text or align(module, text) is not None:
            return text, module
        raise LookupError("libcst has lost a form feed or a backslash")
    except UnicodeEncodeError:
        raise
    except Exception:
        other = _FEED_IN_INDENT.sub(lambda found: " " * len(found[2]) + found[1], text) if "\f" in text else text
        other = _BACKSLASH_IN_INDENT.sub(r"\1 ", other)
        other = _TABS_IN_INDENT.sub(lambda found: " " * len(found[0]), other) if "\t" in text else other
        before = ""
        while before != other:  # each turn takes a pair of brackets
            before, other = other, _BRACKETED_TARGET.sub(r"\1\2  ", other)
        if other == text:
            raise
        with suppress(Exception):
            return other, parse_module(other)
        raise


@contextmanager
def no_collection() -> Iterator[None]:
    """A tree is all live objects and no garbage: looking for cycles in it takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
