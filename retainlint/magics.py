"""Rows of IPython that aren't Python, put as Python of the same length, so that every place stays where it is."""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Collection
from keyword import iskeyword

_RUNS_ITS_CELL = frozenset(
    "capture debug ipytest memit mprun prun pyinstrument python python3 pypy scalene snakeviz time timeit wandb".split()
)
"""Cell magics whose cell is Python that runs here; the cell of another is a script of its own, a file or a picture."""

_RUNS_ITS_ROW = frozenset("time timeit prun memit".split())
"""Line magics that run what stands behind them."""

_CELL_MAGIC = re.compile(r"\s*%%(?P<name>\w+)[^\r\n]*")
_BINDS_NOTHING = frozenset(
    """bash cmd file html javascript js latex markdown perl pypy ruby script sh svg sx system writefile""".split()
)
"""Cell magics whose cell says nothing to the kernel's Python; that of another may bind names there."""

_LINE_MAGIC = re.compile(r"%(?P<name>\w+)[ \t]+(?:-(?:[nrp] *\d+|[a-zA-Z](?=\s)|-[\w-]+)[ \t]+)*")
_ROW = re.compile(r"(?:[^\r\n\\]|\\(?:\r\n|.)?)*", re.DOTALL)
"""A row, with those that a backslash adds to it."""
_INDENT = re.compile(r"[ \t]*")
_FOREIGN = re.compile(
    r"[%!?]|(?:pip|conda|mamba) +(?:install|uninstall|list|show|update)\b|[^\s#'\"\r\n][^#'\"\r\n]*\?[ \t]*$", re.M
)
_ASSIGNED = re.compile(r"[^\W\d][\w.]*(?:[ \t]*,[ \t]*[^\W\d][\w.]*)*[ \t]*=[ \t]*(?=[%!])")
_TOKEN = re.compile(
    r"#[^\r\n]*|'''(?:[^\\']|\\.|'(?!''))*(?:'''|\Z)|\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*(?:\"\"\"|\Z)"
    r"|'(?:[^\\'\r\n]|\\.)*'?|\"(?:[^\\\"\r\n]|\\.)*\"?|[()\[\]{}]|\\(?:\r\n|.)|\r\n|\r|\n",
    re.DOTALL,
)
_NO_ROW_END = re.compile(r"[^\r\n]")
_WHOLE_ROW = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t][^\r\n]*", re.M)
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_BUILTINS = frozenset(dir(builtins))
_BOUND = re.compile(
    r"^[ \t]*(?:[\w.]+[ \t]*,[ \t]*)*(?P<left>[^\W\d]\w*)[ \t]*=(?!=)|\b(?:def|class|as|for|import)[ \t]+(?P<new>\w+)",
    re.M,
)
"""Where even a builtin's name is bound: elsewhere a cell that calls `len` leaves it what it is."""


def as_python(text: str) -> str | None:
    """The Python of a cell, as long as the cell and with the same rows; None for a cell that is something else.

    What no kernel could run either is given back as it is.
    """
    if parses(text):
        return text
    opening = ""
    found = _CELL_MAGIC.match(text)
    if found is not None:
        if found["name"] not in _RUNS_ITS_CELL:
            return None
        opening, text = blank(text[: found.end()]), text[found.end() :]
    return opening + _rows(text)


def parses(text: str) -> bool:
    """Whether a text is Python by itself; `await` may stand outside of functions."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def blank(text: str) -> str:
    """Rows of the same lengths without anything in them."""
    return _NO_ROW_END.sub(" ", text)


def imported(text: str) -> frozenset[str]:
    """The names in the imports of a text."""
    return frozenset(name for row in _IMPORT.findall(text) for name in _NAME.findall(row))


def unread(text: str, known: Collection[str] = ()) -> str:
    """As many rows of the same lengths, for a cell that nobody can read: each name in it that isn't `known`, nor a
    builtin that is only used, is bound to nobody knows what."""
    found = _CELL_MAGIC.match(text)
    if found is not None and found["name"] in _BINDS_NOTHING:
        return blank(text)
    bound = {match["left"] or match["new"] for match in _BOUND.finditer(text)}
    known = {*known, *(_BUILTINS - bound)}
    pieces: list[str] = []
    names: list[str] = []
    for row in _WHOLE_ROW.findall(text):
        names += (name for name in _NAME.findall(row) if not (name in known or name in names or iskeyword(name)))
        empty, binding = blank(row), ""
        room = len(row.rstrip("\r\n"))
        while names and len(binding) + len(names[0]) + 2 <= room:
            binding += f"{names.pop(0)}="
        pieces.append(f"{binding}_{empty[len(binding) + 1 :]}" if binding else empty)
    return "".join(pieces)


def _rows(text: str) -> str:
    """The text with each statement that is IPython's replaced."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        start = at + len(_match(_INDENT, text, at))
        assigned = _ASSIGNED.match(text, start)
        if assigned is not None:
            row = _match(_ROW, text, assigned.end())
            pieces.append(text[at : assigned.end()] + "_" + blank(row[1:]))
            at = assigned.end() + len(row)
        elif _FOREIGN.match(text, start):
            row = _match(_ROW, text, start)
            pieces.append(text[at:start] + _python_of(row))
            at = start + len(row)
        else:
            end = _behind_statement(text, at)
            pieces.append(text[at:end])
            at = end
            continue
        end = at + len(text[at : at + 2]) if text.startswith("\r\n", at) else min(at + 1, len(text))
        pieces.append(text[at:end])
        at = end
    return "".join(pieces)


def _python_of(row: str) -> str:
    """`%time x = f()` runs `x = f()`; any other row of IPython's does nothing that we know."""
    found = _LINE_MAGIC.match(row)
    if found is not None and found["name"] in _RUNS_ITS_ROW and _is_simple(code := row[found.end() :]):
        return "0;" + " " * (found.end() - 2) + code
    return "0" + blank(row[1:])


def _is_simple(code: str) -> bool:
    """Whether a text is statements that may stand behind a semicolon."""
    return bool(code.strip()) and parses("0;" + code)


def _behind_statement(text: str, at: int) -> int:
    """Where the row begins behind a statement, which may go on over rows in brackets, strings and by backslashes."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        sign = token[0]
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign in ("\n", "\r", "\r\n") and depth <= 0:
            return token.end()
    return len(text)


def _match(pattern: re.Pattern[str], text: str, at: int) -> str:
    found = pattern.match(text, at)
    return found[0] if found is not None else ""
