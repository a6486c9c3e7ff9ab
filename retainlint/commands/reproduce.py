"""`retainlint reproduce FILE:LINE`: the finding on that line as a straight torch script that raises the same error."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from typing import TextIO

from retainlint import linter
from retainlint.commands import CommandError
from retainlint.config import Settings

_PLACE = re.compile(r"(?P<file>.+?):(?P<row>\d+)(?::\d+)?:?", re.DOTALL)


def reproduce(place: str, out: TextIO, run: Callable[[str], int] | None = None) -> int:
    """Write the witness script of the finding at `FILE:LINE`, or `FILE:LINE:COLUMN`; with `run`, run it instead.

    Suppressions and the selection of rules don't count: who asks for a place wants to see it.
    Raises CommandError if there is no such file, finding or witness.
    """
    match = _PLACE.fullmatch(place)
    if match is None:
        raise CommandError(f"'{place}' is no place; say FILE:LINE, as in train.py:14")
    file, row = match["file"], int(match["row"])
    if not os.path.isfile(file):
        raise CommandError(f"{file}: no such file")
    result = linter.check_file(file, Settings(suppressions=False, thorough=True))
    if result.crash:
        raise CommandError(f"{file}: {result.diagnostics[0].message}; {result.diagnostics[0].help}")
    here = [d for d in result.diagnostics if d.primary.span.row == row]
    if not here:
        raise CommandError(f"{file}:{row}: no finding on this line; {_others(result)}")
    witness = next((d.witness for d in here if d.witness is not None and d.witness.script.strip()), None)
    if witness is None:
        raise CommandError(f"{file}:{row}: {here[0].code} {here[0].name} has no witness: {here[0].message}")
    script = witness.script if witness.script.endswith("\n") else witness.script + "\n"
    if run is None:
        out.write(script)
        return 0
    with tempfile.TemporaryDirectory(prefix="retainlint-") as room:
        path = os.path.join(room, "witness.py")
        with open(path, "w", encoding="utf-8") as written:
            written.write(script)
        return run(path)


def _others(result: linter.FileResult) -> str:
    rows = sorted({d.primary.span.row for d in result.diagnostics})
    if not rows:
        return "there is none in this file"
    return f"the file has some on line{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}"
