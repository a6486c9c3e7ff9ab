"""Jupyter notebooks: their cells as one program, IPython's rows as Python of the same length, and their bytes again after the program was edited."""

from __future__ import annotations

import ast
import builtins
import codecs
import json
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from textwrap import dedent
from typing import Any, TypeAlias

from retainlint.text import alike
from retainlint.text.source import Source, Span, UnreadableSource

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

_JOINED_ROW = re.compile(r"(?:[^\r\n\\]|\\(?:\r\n|.)?)*", re.DOTALL)
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
            row = _match(_JOINED_ROW, text, assigned.end())
            pieces.append(text[at : assigned.end()] + "_" + blank(row[1:]))
            at = assigned.end() + len(row)
        elif _FOREIGN.match(text, start):
            row = _match(_JOINED_ROW, text, start)
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


LARGEST = 100_000_000
"""Bytes of the largest notebook that is read; most of a large one is pictures."""


LONGEST = 1_000_000
"""Characters of the longest program that is read."""


Way: TypeAlias = "tuple[str | int, ...]"
"""The keys and numbers that lead to a value in JSON."""


@dataclass(frozen=True)
class Cell:
    """One cell of whatever kind. `text` is as it stands in the file at `way`; `number` is what the kernel counted to."""

    text: str
    is_python: bool
    way: Way
    number: int | None = None


@dataclass(frozen=True)
class Notebook:
    """The program, in which a cell that isn't Python only binds its names; and the cells that no kernel could run either.

    Cells are counted as they stand in the file, whatever their kind, as ruff counts them.
    """

    source: Source
    cells: tuple[Cell, ...]
    broken: tuple[Span, ...] = ()

    def without(self, spans: Iterable[Span]) -> Source:
        """The program without some of its cells, of whose names nobody knows what they hold then."""
        text, known = self.source.text, imported(self.source.text)
        for span in spans:
            text = text[: span.start] + unread(span.text, known) + text[span.end :]
        if text == self.source.text:
            return self.source
        return Source(self.source.name, text, self.source.cells, self.source.shown or self.source.text)


def is_indented(text: str) -> bool:
    """Whether IPython would take away an indent that all rows have, and run the rest."""
    return text[:1] in (" ", "\t") and parses(dedent(text))


def read(name: str, data: bytes) -> Notebook:
    """Raises UnreadableSource for what is no notebook, or too large to be read."""
    cells = _cells(data)
    if sum(len(cell.text) for cell in cells if cell.is_python) > LONGEST:
        raise UnreadableSource(f"the notebook is too long to be checked: more than {LONGEST:,} characters of Python")
    python = [as_python(cell.text) if cell.is_python else None for cell in cells]
    known = imported("\n".join(text for text in python if text is not None))
    texts = [
        text if text is not None else unread(cell.text, known) if cell.is_python else ""
        for text, cell in zip(python, cells)
    ]
    shown = Source.of_cells(name, [cell.text if cell.is_python else "" for cell in cells])
    source = Source.of_cells(name, texts)
    if shown.text != source.text:
        source = Source(name, source.text, source.cells, shown.text)
    starts = (*source.cells, len(source.text))
    broken = [at for at, text in enumerate(python) if text is not None and not parses(text)]
    return Notebook(source, tuple(cells), tuple(Span(source, starts[at], starts[at + 1]) for at in broken))


def encoded(source: Source, data: bytes) -> bytes:
    """The bytes `data` of the notebook with its cells as they are in `source`, which was read from it and then edited.

    Raises ValueError if that can't be done.
    """
    cells = _cells(data)
    if len(cells) != len(source.cells):
        raise ValueError("its cells aren't what they were")
    text, ends = source.shown or source.text, (*source.cells, len(source.text))[1:]
    new = []
    for cell, start, end in zip(cells, source.cells, ends, strict=True):
        edited = text[start:end]
        if not cell.text.endswith("\n"):
            edited = edited.removesuffix("\n")
        new.append(edited if cell.is_python else cell.text)
    return rewrite(data, new)


def rewrite(data: bytes, cells: Sequence[str]) -> bytes:
    """The notebook with other texts in its cells; everything else stays to the byte, and so does a row that is the same.

    `cells` has a text for every cell, of whatever kind. Raises ValueError if the notebook has another number of cells.
    """
    old = _cells(data)
    if len(old) != len(cells):
        raise ValueError(f"{len(cells)} texts for {len(old)} cells")
    text, mark = _decoded(data), data.startswith(codecs.BOM_UTF8)
    changed = [at for at, cell in enumerate(old) if cell.text != cells[at]]
    places = _places(text, {old[at].way: at for at in changed}) if changed else {}
    in_ascii = text.isascii() and "\\u" in text
    pieces, at = [], 0
    for index in sorted(changed, key=lambda index: places[index]):
        start, end = places[index]
        pieces += [text[at:start], _spelled(text[start:end], cells[index], in_ascii)]
        at = end
    made = "".join([*pieces, text[at:]]).encode("utf-8")
    made = codecs.BOM_UTF8 + made if mark else made
    if [cell.text for cell in _cells(made)] != list(cells):
        raise ValueError("the notebook can't be written so that it says what it should")
    return made


def texts(data: bytes) -> list[str]:
    """What stands in each cell, of whatever kind. Raises UnreadableSource."""
    return [cell.text for cell in _cells(data)]


def errors(data: bytes) -> Iterator[str]:
    """The tracebacks that a notebook keeps among its outputs, one after the other. Raises UnreadableSource."""
    for _, cell in _listed(_loaded(data)):
        outputs = _table(cell).get("outputs")
        for output in outputs if isinstance(outputs, list) else []:
            rows = _table(output).get("traceback")
            if isinstance(rows, list):
                yield "\n".join(row for row in rows if isinstance(row, str))


# -- what is in it -------------------------------------------------------------------------------------------------

Json: TypeAlias = Any


def _cells(data: bytes) -> list[Cell]:
    found = _loaded(data)
    metadata = _table(found.get("metadata"))
    return [_cell(cell, way, number, metadata) for number, (way, cell) in enumerate(_listed(found), 1)]


def _loaded(data: bytes) -> dict[str, Json]:
    if len(data) > LARGEST:
        raise UnreadableSource(f"the notebook is too large to be checked: more than {LARGEST // 1_000_000} MB")
    try:
        found: Json = json.loads(_decoded(data))
    except RecursionError as error:
        raise UnreadableSource("not a notebook: its JSON is nested too deeply") from error
    except ValueError as error:
        raise UnreadableSource(f"not a notebook: {error}") from error
    if not isinstance(found, dict):
        raise UnreadableSource("not a notebook: no JSON object")
    return found


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableSource(f"not a notebook: not valid utf-8: {error}") from error


def _listed(found: dict[str, Json]) -> Iterator[tuple[Way, Json]]:
    """The cells, which up to format 3 stood in worksheets, with the way to each."""
    sheets: list[tuple[Way, Json]] = [((), found)]
    if "cells" not in found and isinstance(found.get("worksheets"), list):
        sheets = [(("worksheets", number), sheet) for number, sheet in enumerate(found["worksheets"])]
    for way, sheet in sheets:
        cells = _table(sheet).get("cells")
        if not isinstance(cells, list):
            raise UnreadableSource("not a notebook: it has no list of cells")
        yield from (((*way, "cells", number), cell) for number, cell in enumerate(cells))


def _cell(cell: Json, way: Way, number: int, metadata: dict[str, Json]) -> Cell:
    if not isinstance(cell, dict):
        raise UnreadableSource(f"not a notebook: cell {number} is no JSON object")
    is_code = cell.get("cell_type") == "code"
    key = "source" if "source" in cell else "input"
    source: Json = cell.get(key, "")
    rows = [source] if isinstance(source, str) else source
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        if is_code:
            raise UnreadableSource(f"not a notebook: the source of cell {number} is no text")
        rows = []
    counted = cell.get("execution_count", cell.get("prompt_number"))
    number_counted = counted if isinstance(counted, int) else None
    return Cell("".join(rows), is_code and _is_python(cell, metadata), (*way, key), number_counted)


def _is_python(cell: dict[str, Json], metadata: dict[str, Json]) -> bool:
    """The language of the cell, else of the kernel; Python if nothing is said of it."""
    told = (
        _table(_table(cell.get("metadata")).get("vscode")).get("languageId"),
        cell.get("language"),
        _table(metadata.get("language_info")).get("name"),
        _table(metadata.get("kernelspec")).get("language"),
    )
    language = next((word for word in told if isinstance(word, str) and word), "python")
    return language.lower() in ("python", "ipython")


def _table(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


# -- where it stands -----------------------------------------------------------------------------------------------

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)

_SIGN = re.compile(rf"{_STRING.pattern}|[{{}}\[\],]", re.DOTALL)

_IS_KEY = re.compile(r"\s*:")

_ROW = re.compile(r"[^\n]*\n|[^\n]+")


def _places(text: str, ways: Mapping[Way, int]) -> dict[int, tuple[int, int]]:
    """Where the values at these ways stand in a JSON text, from the first character to behind the last.

    Of a key that stands twice the last one counts, as it does for `json`.
    """
    places: dict[int, tuple[int, int]] = {}
    way: list[str | int] = []
    opened: list[int] = []
    for sign in _SIGN.finditer(text):
        token, start = sign[0], sign.start()
        if token[0] == '"' and _IS_KEY.match(text, sign.end()):
            way[-1] = json.loads(token)
            continue
        if token in ("{", "["):
            way.append(0 if token == "[" else "")
            opened.append(start)
            continue
        if token == ",":
            if isinstance(way[-1], int):
                way[-1] += 1
            continue
        if token in ("}", "]"):
            way.pop()
            start = opened.pop()
        if (index := ways.get(tuple(way))) is not None:
            places[index] = start, sign.end()
    return places


def _spelled(old: str, text: str, in_ascii: bool) -> str:
    """A cell's text as JSON, laid out as the text `old` is: one string, or a list of a row each.

    The rows before and behind what changed stay as they are.
    """
    strings = list(_STRING.finditer(old))
    if old.startswith('"') or not strings:
        return _quoted(text, in_ascii) if old.startswith('"') else f"[{_quoted(text, in_ascii)}]"
    known: list[str] = [json.loads(string[0]) for string in strings]
    rows: list[str] = _ROW.findall(text)
    head = alike(known, rows)
    tail = min(alike(known[::-1], rows[::-1]), len(known) - head, len(rows) - head)
    new = [_quoted(row, in_ascii) for row in rows[head : len(rows) - tail]]
    opening = old[: strings[0].start()]
    between = old[strings[0].end() : strings[1].start()] if len(strings) > 1 else f",{opening[1:] or ' '}"
    if head:
        kept = old[: strings[head - 1].end()], old[strings[len(known) - tail - 1].end() :]
        return kept[0] + "".join(between + row for row in new) + kept[1]
    if tail:
        return opening + "".join(row + between for row in new) + old[strings[-tail].start() :]
    return opening + between.join(new) + old[strings[-1].end() :]


def _quoted(text: str, in_ascii: bool) -> str:
    has_surrogates = any("\ud800" <= sign <= "\udfff" for sign in text)
    return json.dumps(text, ensure_ascii=in_ascii or has_surrogates)
