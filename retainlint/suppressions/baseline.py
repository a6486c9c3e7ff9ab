"""Findings that a project knows of and lives with for now, told apart by their text, not by their line."""

from __future__ import annotations

import ast
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from retainlint.text.source import Source, Span, UnreadableSource

FILE_NAME = "retainlint-baseline.json"
_VERSION = 1


class BaselineError(Exception):
    """A baseline that can't be read; the text is written for people."""


@dataclass(frozen=True, order=True)
class BaselineEntry:
    """A finding as an edit elsewhere leaves it: its file, relative to the baseline and with forward slashes, its
    code, the qualified name of the function that it lies in ("" for none), and the text under each of its marks."""

    file: str
    code: str
    function: str
    marks: tuple[str, ...]


@dataclass
class Baseline:
    """How often each entry is known, in the file at `path`."""

    path: str
    known: Counter[BaselineEntry] = field(default_factory=Counter)
    left: Counter[BaselineEntry] = field(default_factory=Counter, repr=False)

    def entry(self, code: str, spans: Sequence[Span]) -> BaselineEntry:
        """The entry of a finding whose marks are at `spans`, the primary one first."""
        home = spans[0]
        return BaselineEntry(
            self.relative(home.source.name), code, function_of(home), tuple(" ".join(s.text.split()) for s in spans)
        )

    def relative(self, name: str) -> str:
        """A file's name as entries hold it."""
        place, root = os.path.abspath(name), os.path.dirname(os.path.abspath(self.path))
        try:
            return os.path.relpath(place, root).replace(os.sep, "/")
        except ValueError:  # another drive
            return place.replace(os.sep, "/")

    def new(self, entries: Iterable[BaselineEntry]) -> Iterator[bool]:
        """Of each entry in turn whether it is more than what is known; `left` then holds what wasn't met."""
        self.left = Counter(self.known)
        for entry in entries:
            known = self.left[entry] > 0
            self.left[entry] -= known
            yield not known

    def stale(self, is_judged: Callable[[BaselineEntry], bool]) -> Counter[BaselineEntry]:
        """After `new`: the entries that fit no finding, among those of which the run could tell."""
        return Counter({e: n for e, n in self.left.items() if n > 0 and is_judged(e)})

    def text(self) -> str:
        """The file's text: sorted, an entry a line, so that two branches that add some can be merged."""
        files = sorted({entry.file for entry in self.known if self.known[entry] > 0})
        blocks = [f"    {json.dumps(file)}: [\n{self._lines(file)}\n    ]" for file in files]
        findings = "{\n" + ",\n".join(blocks) + "\n  }" if blocks else "{}"
        return f'{{\n  "retainlint-baseline": {_VERSION},\n  "findings": {findings}\n}}\n'

    def _lines(self, file: str) -> str:
        lines = []
        for entry in sorted(e for e, n in self.known.items() if e.file == file and n > 0):
            count = {"count": self.known[entry]} if self.known[entry] > 1 else {}
            row = {"code": entry.code, "in": entry.function, "at": list(entry.marks), **count}
            lines.append("      " + json.dumps(row))
        return ",\n".join(lines)


def load(path: str, shown: str) -> Baseline:
    """Read the file at `path`, called `shown`. Raises BaselineError if it isn't there or no baseline."""
    try:
        if not (os.path.isfile(path) or not os.path.exists(path)):
            raise BaselineError(f"{shown}: this is no file")
        with open(path, "rb") as opened:
            raw = json.loads(opened.read().decode("utf-8-sig"))
    except OSError as error:
        raise BaselineError(f"{shown}: {(error.strerror or str(error)).lower()}") from error
    except json.JSONDecodeError as error:
        raise BaselineError(
            f"{shown}:{error.lineno}: this is no JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{shown}: this is no JSON that can be read") from error
    if not isinstance(raw, dict) or "retainlint-baseline" not in raw:
        raise BaselineError(f"{shown}: this is no baseline of retainlint's")
    if raw["retainlint-baseline"] != _VERSION:
        raise BaselineError(f"{shown}: this baseline was written by another version of retainlint; write it again")
    known: Counter[BaselineEntry] = Counter()
    files = raw.get("findings")
    for file, rows in files.items() if isinstance(files, dict) else [("findings", None)]:
        for row in rows if isinstance(rows, list) else [None]:
            known.update(_entry(file, row, shown))
    return Baseline(path, known)


def _entry(file: str, row: object, shown: str) -> dict[BaselineEntry, int]:
    if isinstance(row, dict):
        code, function, marks, count = (row.get(key, other) for key, other in _KEYS)
        texts = isinstance(code, str) and isinstance(function, str) and isinstance(marks, list)
        if texts and all(isinstance(mark, str) for mark in marks) and type(count) is int and count > 0:
            return {BaselineEntry(file, code, function, tuple(marks)): count}
    raise BaselineError(f"{shown}: an entry of {json.dumps(file)[:80]} is not as `retainlint baseline` writes it")


_KEYS: tuple[tuple[str, object], ...] = (("code", None), ("in", ""), ("at", None), ("count", 1))


def function_of(span: Span) -> str:
    """The qualified name of the innermost function or class around a place; "" at module level or in no Python."""
    row, best = span.row, ""
    for first, last, name in _scopes(span.source):
        if first <= row <= last:
            best = name  # they come from the outermost to the innermost
    return best


def functions(name: str, data: bytes) -> frozenset[str]:
    """The qualified names of all functions and classes in a file."""
    try:
        return frozenset(each for _, _, each in _scopes(Source.decode(name, data)))
    except UnreadableSource:
        return frozenset()


@lru_cache(maxsize=8)
def _scopes(source: Source) -> tuple[tuple[int, int, str], ...]:
    """First and last row and qualified name of each function and class, each before those that are in it."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found: list[tuple[int, int, str]] = []
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, outer = pending.pop()
        for child in ast.iter_child_nodes(node):
            name = outer
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{outer}.{child.name}" if outer else child.name
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                found.append((first, child.end_lineno or child.lineno, name))
            if not isinstance(child, ast.expr):
                pending.append((child, name))
    return tuple(found)
