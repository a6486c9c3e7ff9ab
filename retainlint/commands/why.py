"""`retainlint why`: a traceback of torch's, explained: which graph was built, freed and needed again, and the cures."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TextIO

from retainlint.catalogue import NOT_CHECKED
from retainlint.checking import linter
from retainlint.commands import CommandError
from retainlint.commands.advice import FAILURES
from retainlint.commands.configuring import command_errors, whatever_is_chosen
from retainlint.commands.frames import Finder, Located, is_users
from retainlint.commands.reproduce import PLACE
from retainlint.commands.tracebacks import Raised, TracebackFrame, has_traceback, last_raised
from retainlint.diagnostic import Diagnostic, Severity
from retainlint.incident import Gap
from retainlint.report import render, statistics
from retainlint.report.json import entries
from retainlint.report.places import pointed
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe, safe_start
from retainlint.text import is_notebook, notebook
from retainlint.text.source import Span, UnreadableSource

NOT_EXPLAINED = 1
KEPT = 8_000_000
"""So many of the last bytes of an output are looked at."""
GAPS = 5
"""So many of the places that weren't followed are told of, those that are nearest."""


@dataclass(frozen=True)
class Explanation:
    """What could be found out: the findings that explain it, `exact` if they are at the place that raised."""

    raised: Raised
    located: Sequence[Located]
    findings: Sequence[Diagnostic] = ()
    exact: bool = False
    gaps: Sequence[Gap] = ()
    not_checked: Sequence[Diagnostic] = ()


@dataclass(frozen=True)
class AnswerStyle:
    """How an answer is written; `width` in columns."""

    as_json: bool = False
    colour: bool = False
    width: int = 140


PLAIN = AnswerStyle()


def why(text: str, out: TextIO, style: AnswerStyle = PLAIN) -> int:
    """Explain the last graph error in a program's output: 0 if it is explained, 1 if it isn't, or there is none."""
    raised = last_raised(text)
    if raised is None:
        _write_none(text, out, style.as_json)
        return NOT_EXPLAINED
    return _tell(_answer(raised, Finder().located(raised.frames)), out, style)


def why_here(place: str, out: TextIO, style: AnswerStyle = PLAIN) -> int:
    """The same for a place, FILE:LINE. Raises CommandError if that isn't one."""
    match = PLACE.fullmatch(place)
    if match is None or not os.path.isfile(match["file"]):
        raise CommandError(f"{place}: no such file; give a file with a traceback, or a place as in train.py:14")
    frame = TracebackFrame(match["file"], int(match["row"]))
    located = Finder().located([frame])
    if match["cell"] is not None and located:
        source, cell = located[0].source, int(match["cell"])
        if not 1 <= cell <= len(source.cells):
            raise CommandError(f"{match['file']}: there is no cell {cell}")
        located = [Located(frame, source, source.place(source.cells[cell - 1])[0] + int(match["row"]) - 1)]
    if not located or located[0].edited:
        raise CommandError(f"{match['file']}: there is no line {match['row']}")
    return _tell(_answer(Raised(None, "", "", (frame,)), located), out, style)


def text_of(path: str) -> str:
    """A file with a program's output; of a notebook the errors in the outputs that it keeps. Raises CommandError."""
    try:
        if path.endswith(".py"):
            raise CommandError(f"{path} is a program: say which line raised, as in {path}:14, or give its output")
        with open(path, "rb") as file:
            return "\n".join(notebook.errors(file.read())) if is_notebook(path) else overheard(file, None)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    except UnreadableSource as error:
        raise CommandError(f"{path}: {error.reason}") from error


def overheard(stream: IO[bytes], echo: IO[bytes] | None) -> str:
    """The end of what comes through a stream, which is passed on as it comes."""
    kept = bytearray()
    read = getattr(stream, "read1", stream.read)
    while piece := read(65536):
        if echo is not None:
            echo.write(piece)
            echo.flush()
        kept += piece
        if len(kept) > 2 * KEPT:
            del kept[:-KEPT]
    return kept[-KEPT:].decode("utf-8", "replace")


def ran(command: Sequence[str]) -> tuple[str, int]:
    """Run a command; its streams stay what they are. What it wrote to standard error, and its exit code, 128 and the
    number where a signal ended it. Raises CommandError if it can't be started."""
    try:
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
    except OSError as error:
        raise CommandError(f"{command[0]}: {error.strerror or error}") from error
    assert process.stderr is not None
    pieces: list[str] = []
    try:
        while process.poll() is None or not pieces:
            try:
                pieces.append(overheard(process.stderr, sys.stderr.buffer))
                process.wait()
            except KeyboardInterrupt:  # it was told, too, and ends as it likes
                continue
    finally:
        if process.poll() is None:  # we are asked to end
            process.terminate()
    code = process.returncode
    return "".join(pieces), 128 - code if code < 0 else code


# -- finding out ---------------------------------------------------------------------------------------------------


def _answer(raised: Raised, located: list[Located]) -> Explanation:
    """Check the files of all frames, comments and selection set aside, and choose what tells of the same error."""
    with command_errors():
        files = dict.fromkeys(each.file for each in located)
        result = linter.check(files, whatever_is_chosen(thorough=True))
    if result.crashes and not result.diagnostics:
        raise CommandError(result.crashes[0].diagnostics[0].message)
    codes = raised.misuse.codes if raised.misuse is not None else FAILURES
    ranked = [(rank, d) for d in result.diagnostics if d.code in codes if (rank := _rank(d, located)) is not None]
    best = min((rank for rank, _ in ranked), default=None)
    findings = [d for rank, d in ranked if rank == best]
    findings = [d for d in findings if d.severity is Severity.ERROR] or findings
    not_checked = [d for d in result.diagnostics if d.code == NOT_CHECKED]
    return Explanation(
        raised, located, findings, best is not None and best[0] == 0, _nearest(result.gaps, located), not_checked
    )


def _rank(diagnostic: Diagnostic, located: Sequence[Located]) -> tuple[int, int] | None:
    """How near a finding is to what raised, the nearest first: it fails on a frame's row, innermost first; its story
    passes over one; it fails elsewhere in one of the files."""
    innermost = list(enumerate(reversed(located)))
    primary = diagnostic.primary.span
    for depth, each in innermost:
        if primary.source.name == each.file and primary.row <= each.row <= primary.end_place[0]:
            return 0, depth
    for depth, each in innermost:
        for label in diagnostic.labels:
            if label.span.source.name == each.file and label.span.row <= each.row <= label.span.end_place[0]:
                return 1, depth
    distances = [abs(primary.row - each.row) for each in located if each.file == primary.source.name]
    return (2, min(distances)) if distances else None


def _nearest(gaps: Sequence[Gap], located: Sequence[Located]) -> list[Gap]:
    """Those that are nearest to what raised, in the innermost file first."""
    files = [each.file for each in reversed(located)]
    rows = {each.file: each.row for each in located}

    def distance(gap: Gap) -> tuple[int, int]:
        name = gap.span.source.name
        return (files.index(name), abs(gap.span.row - rows[name])) if name in rows else (len(files), gap.span.row)

    return sorted(dict.fromkeys(gaps), key=distance)[:GAPS]


# -- telling -------------------------------------------------------------------------------------------------------


def _tell(answer: Explanation, out: TextIO, style: AnswerStyle) -> int:
    if style.as_json:
        out.write(json.dumps(_entry(answer), indent=2) + "\n")
    else:
        out.writelines(f"{line}\n" for line in _lines(answer, Style(style.colour, style.width)))
    return 0 if answer.findings else NOT_EXPLAINED


def _lines(answer: Explanation, style: Style) -> Iterator[str]:
    if answer.raised.misuse is not None:
        yield f"{style.paint(_where(answer), 'strong')}{safe(_said(answer.raised))}"
    for located in answer.located:
        if located.edited:
            yield f"note: {safe_start(located.file)} isn't what it was when it ran; this is about its line {located.row}"
    if answer.raised.misuse is not None:
        yield ""
    if not answer.findings:
        yield from _unexplained(answer, style)
        return
    if not answer.exact:
        yield "At that place itself nothing is known to fail. This is the nearest failure:"
        yield ""
    for piece in render("full", answer.findings, style):
        yield piece.rstrip("\n")
        yield ""
    proven = next((d for d in answer.findings if d.witness is not None and d.witness.script.strip()), None)
    if proven is not None:
        place = safe(shlex.quote(str(proven.primary.span)))  # it is copied into a shell
        yield f"`retainlint reproduce {place}` prints this as a short script that fails; `retainlint explain {proven.code}` says more."
    else:
        yield f"`retainlint explain {answer.findings[0].code}` says more."


def _unexplained(answer: Explanation, style: Style) -> Iterator[str]:
    """What couldn't be followed, what the error means, and what to try."""
    if not answer.located:
        files = list(dict.fromkeys(frame.file for frame in answer.raised.frames if frame.file))
        yield (
            "None of the traceback's own files is here: run this where the program lies."
            if files
            else ("There is no traceback before it, so it isn't known where it was raised.")
        )
    else:
        yield "The reason wasn't found: in what could be followed, nothing fails like this."
    for diagnostic in answer.not_checked:
        yield f"  {pointed(diagnostic.primary.span)}: {safe(diagnostic.message)}"
    if answer.gaps:
        yield "What couldn't be followed, the nearest first:"
        for gap in answer.gaps:
            for piece in statistics.render_gaps([gap], style):
                yield f"  {piece.rstrip()}"
    misuse = answer.raised.misuse
    if misuse is None:
        return
    yield ""
    yield f"The error means: {misuse.meaning}."
    for frame in answer.raised.forward[-1:]:
        yield f"Anomaly detection says: the operation was called at {safe(_frame(frame))}."
    yield "What to try:"
    for cure in misuse.cures:
        yield f"  - {cure}"
    if misuse.codes and not answer.raised.forward and "set_detect_anomaly" not in " ".join(misuse.cures):
        yield "  - `torch.autograd.set_detect_anomaly(True)` makes torch print where the operation was called"


def _where(answer: Explanation) -> str:
    """The place that raised: the innermost that was found, else as the traceback names it."""
    if answer.located:
        last = answer.located[-1]
        at = last.source.offset(last.row, 1)
        found = Span(last.source, at, at).place
        return f"{safe_start(last.file)}:{'' if found.cell is None else f'cell {found.cell}:'}{found.row}: "
    users = [frame for frame in answer.raised.frames if is_users(frame)] or answer.raised.frames
    return f"{safe_start(_frame(users[-1]))}: " if users else ""


def _said(raised: Raised) -> str:
    """The error's first sentence."""
    sentence = re.split(r"(?<=\w)[.:](?:\s|$)| \(or ", raised.message)[0]
    return f"{raised.type}: {sentence}"


def _frame(frame: TracebackFrame) -> str:
    return f"cell In[{frame.cell}], line {frame.row}" if frame.cell is not None else f"{frame.file}:{frame.row}"


def _write_none(text: str, out: TextIO, as_json: bool) -> None:
    if as_json:
        out.write(json.dumps({"error": None, "explained": False}, indent=2) + "\n")
    elif has_traceback(text):
        out.write("The traceback in this output is of no error of autograd's: retainlint explains only those.\n")
    else:
        out.write("There is no traceback of an autograd error in this output: nothing to explain.\n")


def _entry(answer: Explanation) -> dict[str, object]:
    """The answer as JSON; findings and gaps as `check --output-format json` gives them."""
    raised = answer.raised
    misuse = raised.misuse
    error = {"kind": misuse.name, "type": raised.type, "message": raised.message} if misuse is not None else None
    return {
        "error": error,
        "explained": bool(answer.findings),
        "exact": answer.exact,
        "frames": [
            {
                "filename": os.path.abspath(each.file),
                "row": each.row,
                "function": each.frame.name,
                "edited": each.edited,
            }
            for each in answer.located
        ],
        "findings": list(entries(answer.findings, Run())),
        "not_followed": list(entries([], Run(gaps=tuple(answer.gaps)))),
        "meaning": misuse.meaning if misuse is not None else "",
        "try": list(misuse.cures) if misuse is not None else [],
    }
