"""Write a record of all that the linter says, or compare two: `python -m benchmarks.golden write OUT.jsonl`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from benchmarks.golden import recording
from benchmarks.golden.choosing import chosen
from benchmarks.golden.comparing import differences, wordless
from benchmarks.golden.linting import Entry
from benchmarks.golden.telling import told

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if two records that are compared differ, else 0."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.command == "compare":
        return _compare(asked.old, asked.new, asked.ignore_words, asked.show)
    for folder in (asked.fixtures, asked.repositories):
        if folder is not None and not folder.is_dir():
            parser.error(f"{folder} is no directory")
    begun = time.monotonic()
    entries = recording.record(chosen(asked.fixtures, asked.generated, asked.seed, asked.repositories), asked.jobs)
    recording.write(asked.out, entries)
    print(f"{len(entries)} entries in {time.monotonic() - begun:.1f} s", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.golden", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("write", help="write all that the linter says, computed anew")
    write.add_argument("out", type=Path, metavar="OUT.jsonl")
    write.add_argument("--generated", type=int, default=1000, help="random programs (default: %(default)s)")
    write.add_argument("--seed", type=int, default=0, help="of the random programs (default: %(default)s)")
    write.add_argument("--repositories", type=Path, metavar="DIR", help="each folder in it is checked as a tree")
    write.add_argument("--fixtures", type=Path, metavar="DIR", default=FIXTURES, help="in place of the project's own")
    write.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    compare = commands.add_parser("compare", help="tell how two records differ; exits with 1 if they do")
    compare.add_argument("old", type=Path, metavar="OLD")
    compare.add_argument("new", type=Path, metavar="NEW")
    compare.add_argument(
        "--ignore-words", action="store_true", help="only codes, severities, places and the witness's error count"
    )
    compare.add_argument(
        "--show", type=int, default=40, metavar="N", help="differences shown of a part, 0: all (default: %(default)s)"
    )
    return parser


def _compare(old: Path, new: Path, ignore_words: bool, show: int) -> int:
    before, after = (_read(path, ignore_words) for path in (old, new))
    found = differences(before, after)
    for line in told(found, before, after, show):
        print(line)
    return 1 if found else 0


def _read(path: Path, ignore_words: bool) -> list[Entry]:
    entries = recording.read(path)
    return cast("list[Entry]", wordless(list(entries))) if ignore_words else entries


if __name__ == "__main__":
    sys.exit(main())
