"""`retainlint reproduce FILE:LINE`: the finding on that line as a straight torch script that raises the same error."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TextIO

from retainlint.checking import linter
from retainlint.commands import CommandError
from retainlint.commands.configuring import whatever_is_chosen
from retainlint.diagnostic import Diagnostic

PLACE = re.compile(r"(?P<file>.+?):(?:cell (?P<cell>\d+):)?(?P<row>\d+)(?::\d+)?:?", re.DOTALL)


def reproduce(place: str, out: TextIO, run: Callable[[str], int] | None = None) -> int:
    """Write the witness script of the finding at `FILE:LINE`, or `FILE:cell CELL:LINE`; with `run`, run that text instead.

    A column behind the line, as `check` prints it, doesn't count.

    Suppressions and the selection of rules don't count: who asks for a place wants to see it.
    Raises CommandError if there is no such file, finding or witness.
    """
    match = PLACE.fullmatch(place)
    if match is None:
        raise CommandError(f"'{place}' is no place; say FILE:LINE, as in train.py:14")
    file, row = match["file"], int(match["row"])
    if not os.path.isfile(file):
        raise CommandError(f"{file}: no such file")
    result = linter.check([file], whatever_is_chosen(thorough=True))
    if result.crashes:
        crashed = result.crashes[0].diagnostics[0]
        raise CommandError(f"{file}: {crashed.message}; {crashed.help}")
    cell = None if match["cell"] is None else int(match["cell"])
    here = [d for d in result.diagnostics if _is_at(d, cell, row)]
    if not here:
        place = f"{file}:{row}" if cell is None else f"{file}:cell {cell}:{row}"
        raise CommandError(f"{place}: no finding on this line; {_others(result)}")
    witness = next((d.witness for d in here if d.witness is not None and d.witness.script.strip()), None)
    if witness is None:
        raise CommandError(f"{file}:{row}: {here[0].code} {here[0].name} has no witness: {here[0].message}")
    script = witness.script if witness.script.endswith("\n") else witness.script + "\n"
    if run is None:
        out.write(script)
        return 0
    return run(script)


def _is_at(found: Diagnostic, cell: int | None, row: int) -> bool:
    """Is it reported there? In a notebook, a row counts from the start of its cell."""
    span = found.primary.span
    if not span.source.cells:
        return cell is None and span.row == row
    return span.source.place_in_cell(span.start)[:2] == (cell, row)


def _others(result: linter.Result) -> str:
    spans = sorted((d.primary.span for d in result.diagnostics), key=lambda span: span.start)
    if not spans:
        return "there is none in this file"
    if spans[0].source.cells:
        return f"the file has some in {'; '.join(dict.fromkeys(span.line for span in spans))}"
    rows = sorted({span.row for span in spans})
    return f"the file has some on line{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}"
