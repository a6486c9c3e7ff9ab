"""Makes a record, over several processes, and keeps it as lines of JSON that are the same whenever they are made."""

from __future__ import annotations

import gc
import json
import multiprocessing
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from benchmarks.golden.choosing import Programs, Tree
from benchmarks.golden.linting import Entry, Reading, below, read_text, read_tree
from benchmarks.truth.program import generate

MANY = 500_000
"""So many objects are made before the collector looks for circles, as when the linter is called from the command line."""


def record(pieces: list[Tree | Programs], jobs: int) -> list[Entry]:
    """All that the linter says of the pieces, in an order of its own, and how many files each has."""
    files: Counter[tuple[str, str]] = Counter()
    entries: list[Entry] = []
    for piece, reading in zip(pieces, _readings(pieces, jobs), strict=True):
        files[piece.part, piece.prefix] += reading.files
        entries += (
            {"part": piece.part, **cast(Entry, below(piece.prefix, entry))}
            if piece.prefix
            else {"part": piece.part, **entry}
            for entry in reading.entries
        )
    entries += ({"part": part, "kind": "files", "file": name, "count": count} for (part, name), count in files.items())
    return sorted(entries, key=_order)


def _readings(pieces: list[Tree | Programs], jobs: int) -> Iterator[Reading]:
    """In the order of the pieces."""
    if jobs == 1:
        yield from map(_reading, pieces)
        return
    with multiprocessing.Pool(jobs, gc.set_threshold, (MANY,)) as pool:
        yield from pool.imap(_reading, pieces, chunksize=1)


def _reading(piece: Tree | Programs) -> Reading:
    if isinstance(piece, Tree):
        return read_tree(str(piece.folder))
    programs = map(generate, piece.seeds)
    several = [read_text(f"{program.name}.py", program.text) for program in programs]
    return Reading(len(several), tuple(entry for one in several for entry in one.entries))


def _order(entry: Entry) -> tuple[str, str, int, int, str]:
    row, column = (cast(int, entry.get(key, 0)) for key in ("row", "column"))
    return str(entry["part"]), str(entry["file"]), row, column, json.dumps(entry)


def write(path: Path, entries: Iterable[Entry]) -> None:
    """One object a line."""
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)


def read(path: Path) -> list[Entry]:
    """What was written."""
    with path.open(encoding="ascii") as file:
        return [json.loads(line) for line in file]
