"""Reads tracebacks out of a program's output: Python's own, IPython's, rich's and pytest's, behind whatever prefixes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from retainlint.commands.advice import Misuse, recognised

LONGEST = 2_000
"""Characters of an output's row that are looked at."""

_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_RANK = re.compile(r"^\s*(\[(?:rank|default|worker)?\s*\d+\]:?|(?:rank)?\d+:)\s?", re.IGNORECASE)
_HEADER = "Traceback (most recent call last)"
_FORWARD = "Traceback of forward call that caused the error"

_PYTHON = re.compile(r'File "(?P<file>[^"]+)", line (?P<row>\d+)(?:, in (?P<name>.+))?')
_CELL = re.compile(r"^\s*(?:Cell|Input) In ?\[(?P<cell>\d+)\](?:, line (?P<row>\d+))?(?:,? in (?P<name>.+))?")
_OLD_CELL = re.compile(r"<?ipython-input-(?P<cell>\d+)-\w+(?:>|\.py)[^\n]*? in (?P<name>.+)")
_IPYTHON = re.compile(r"^\s*File (?P<file>[^\"]+?):(?P<row>\d+)(?:, in (?P<name>.+))?$")
_OLD_IPYTHON = re.compile(r"^(?P<file>[~/\w][^\":]*\.py) in (?P<name>[\w<].*)$")
_PYTEST = re.compile(r"^(?P<file>[^\s:\"][^:\"]*\.py):(?P<row>\d+): ?(?:in (?P<name>.+))?$")
_RICH = re.compile(r"^\s*[│|] (?P<file>[~/\w.][^│\"]*?\.py):(?P<row>\d+) in (?P<name>[^│]*[^│\s])\s*[│|]?$")
_FORMS = (_PYTHON, _CELL, _OLD_CELL, _IPYTHON, _OLD_IPYTHON, _PYTEST, _RICH)
_ARROW = re.compile(r"^(?:-+>|[│|]? ?❱) ?(?P<row>\d+)(?: [│|]?(?P<text>.*?))?[│|]?$")


@dataclass(frozen=True)
class TracebackFrame:
    """One call of a traceback. `row` is 0 if it isn't told; `text` is that row as the traceback shows it, if it does.

    In a notebook there is no file, and `cell` is the number that the kernel had counted to.
    """

    file: str
    row: int
    name: str = ""
    text: str = ""
    cell: int | None = None


@dataclass(frozen=True)
class Raised:
    """A graph error and the calls that led to it, outermost first; `forward` is where anomaly detection says that the
    failing operation was called. `misuse` is None where only a place was asked about."""

    misuse: Misuse | None
    type: str
    message: str
    frames: tuple[TracebackFrame, ...]
    forward: tuple[TracebackFrame, ...] = ()


def last_raised(output: str) -> Raised | None:
    """The last graph error in a program's output, one with a traceback before one without; None if there is none."""
    last: Raised | None = None
    for raised in _raised(output):
        if raised.frames or last is None or not last.frames:
            last = raised
    return last


def has_traceback(output: str) -> bool:
    return _HEADER in _COLOUR.sub("", output)


@dataclass
class _Reading:
    """What was read so far of one process's output."""

    frames: list[TracebackFrame] = field(default_factory=list)
    forward: list[TracebackFrame] = field(default_factory=list)
    in_forward: bool = False
    column: int | None = None  # where the last frame's row of code will begin, if it comes next


def _raised(output: str) -> Iterator[Raised]:
    by_rank: dict[str, _Reading] = {}
    for line in re.split(r"[\r\n]+", _COLOUR.sub("", output)):
        line = line[:LONGEST]
        rank = _RANK.match(line)
        reading = by_rank.setdefault(rank[1] if rank else "", _Reading())
        raised = _read(reading, line[rank.end() :] if rank else line)
        if raised is not None:
            yield raised


def _read(reading: _Reading, line: str) -> Raised | None:
    """Take in one row; the error, if it is one's last."""
    if _HEADER in line or _FORWARD in line:
        reading.in_forward = _FORWARD in line
        reading.column = None
        (reading.forward if reading.in_forward else reading.frames).clear()
        return None
    recognized = recognised(line)
    if recognized is not None:
        raised = Raised(*recognized, tuple(reading.frames), tuple(reading.forward))
        reading.frames.clear()
        reading.forward.clear()
        return raised
    frames = reading.forward if reading.in_forward else reading.frames
    column, reading.column = reading.column, None
    for form in _FORMS:
        if (found := form.search(line)) is not None:
            frames.append(_frame(found))
            if form is _PYTHON:
                reading.column = max(found.start() - 2, 0)
            return None
    arrow = _ARROW.match(line)
    if arrow is not None and frames:
        frames[-1] = replace(frames[-1], row=int(arrow["row"]), text=(arrow["text"] or "").strip())
    elif column is not None and frames:
        frames[-1] = replace(frames[-1], text=line[column:].strip())
    return None


def _frame(found: re.Match[str]) -> TracebackFrame:
    groups = found.groupdict()
    cell = groups.get("cell")
    return TracebackFrame(
        file=(groups.get("file") or "").strip(),
        row=int(groups.get("row") or 0),
        name=(groups.get("name") or "").strip(),
        cell=int(cell) if cell is not None else None,
    )
