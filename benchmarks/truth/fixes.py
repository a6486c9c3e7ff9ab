"""Applies every fix, and lets torch run what comes out: `python -m benchmarks.truth.fixes`, or `--count 500 --seed 7`."""

from __future__ import annotations

import argparse
import difflib
import itertools
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.truth.judging import ROOT
from benchmarks.truth.program import generate
from retainlint.checking import pipeline
from retainlint.config import Settings
from retainlint.fixes import Applied, Seen, fix_all
from retainlint.incident import Definition
from retainlint.text.files import Disk
from retainlint.text.source import Source, UnreadableSource

if TYPE_CHECKING:
    from judge_torch import Verdict


@dataclass(frozen=True)
class Program:
    """A text, and the environment's flags that it reads, each 0 or 1."""

    name: str
    text: str
    flags: tuple[str, ...] = ()


@dataclass
class Outcome:
    """One program: what was found, what was applied, what torch said of it before and after, under each assignment."""

    name: str
    codes: tuple[str, ...]
    applied: tuple[Applied, ...]
    left: tuple[str, ...]
    before: list[Verdict] = field(default_factory=list)
    after: list[Verdict] = field(default_factory=list)
    looks: int = 0
    seconds: float = 0.0
    diff: str = ""

    @property
    def word(self) -> str:
        """What came of it, in one word or two."""
        pairs = list(zip(self.before, self.after))
        raised = any(one.raises for one, _ in pairs)
        if not self.applied:
            return "no fix" if raised else "left alone"
        if any(two.raises and not one.raises for one, two in pairs):
            return "broken"
        if any(two.raises and two.error not in ("RuntimeError", one.error) for one, two in pairs):
            return "worse"
        if any(two.raises for _, two in pairs):
            return "still raises"
        if not raised:
            return "same output" if all(one.stdout == two.stdout for one, two in pairs) else "other output"
        return "fixed"


def fixtures(folders: Sequence[Path]) -> Iterator[Program]:
    for folder in folders:
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            try:
                source = Source.decode(str(path), path.read_bytes())
            except UnreadableSource:
                continue
            yield Program(str(path), source.text)


def generated(count: int, seed: int) -> Iterator[Program]:
    for number in range(count):
        program = generate(f"{seed}.{number}")
        yield Program(f"{program.name}.py", program.text, tuple(program.flags))


def measured(program: Program, folder: Path, *, run: bool, unsafe: bool) -> Outcome:
    """Fix one program; with `run`, let torch run it before and after."""
    start, looks = time.perf_counter(), 0

    def look(source: Source, changed: Sequence[Source], left_out: Container[Definition]) -> Seen | None:
        nonlocal looks
        looks += 1
        return pipeline.look(source, changed, Settings(), Disk(), left_out)

    source = Source(program.name, program.text)
    seen = look(source, (), ())
    if seen is None:
        return Outcome(program.name, (), (), ())
    fixed = fix_all(seen, look, unsafe, lambda diagnostic: True)
    outcome = Outcome(
        program.name,
        tuple(each.code for each in seen.diagnostics),
        fixed.applied,
        tuple(each.code for each in fixed.seen.diagnostics),
        looks=looks,
        seconds=time.perf_counter() - start,
    )
    after = fixed.seen.source.text
    outcome.diff = "\n".join(difflib.unified_diff(program.text.splitlines(), after.splitlines(), lineterm="", n=1))
    if run and (fixed.applied or seen.diagnostics):
        outcome.before = list(_verdicts(program, program.text, folder))
        outcome.after = list(_verdicts(program, after, folder))
    return outcome


def _verdicts(program: Program, text: str, folder: Path) -> Iterator[Verdict]:
    from judge_torch import judge

    path = folder / Path(program.name).name
    path.write_text(text, encoding="utf-8")
    for values in itertools.product("01", repeat=len(program.flags)):
        os.environ.update(zip(program.flags, values))
        yield judge(path)


class Tally:
    """The figures of a run."""

    def __init__(self) -> None:
        self.words: Counter[str] = Counter()
        self.by_code: dict[str, Counter[str]] = {}
        self.fixes: Counter[str] = Counter()
        self.seconds: list[float] = []
        self.looks = 0

    def add(self, outcome: Outcome) -> None:
        word = outcome.word
        self.words[word] += 1
        if outcome.codes:
            self.by_code.setdefault(outcome.codes[0], Counter())[word] += 1
            self.seconds.append(outcome.seconds)
            self.looks += outcome.looks
        for each in outcome.applied:
            self.fixes[f"{each.diagnostic.code} {each.fix.applicability.value}"] += 1

    def table(self) -> str:
        rows = [f"{word}: {count}" for word, count in self.words.most_common()]
        rows += [f"  {code}: {dict(words)}" for code, words in sorted(self.by_code.items())]
        rows += ["fixes: " + ", ".join(f"{code} {count}" for code, count in sorted(self.fixes.items()))]
        if self.seconds:
            total = sum(self.seconds)
            rows.append(
                f"{len(self.seconds)} programs with findings, {self.looks} checks of their texts; "
                f"{total / len(self.seconds):.2f} s a program, the slowest {max(self.seconds):.1f}"
            )
        return "\n".join(rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("paths", nargs="*", type=Path, help="files or folders; the fixtures without any")
    options.add_argument("--count", type=int, default=0, help="random programs instead")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--safe", action="store_true", help="apply only safe fixes")
    options.add_argument("--dry", action="store_true", help="don't run anything")
    options.add_argument("--show", action="append", default=[], help="a word (fixed, no fix, ...) to show in full")
    chosen = options.parse_args()
    programs = generated(chosen.count, chosen.seed) if chosen.count else fixtures(chosen.paths or [ROOT / "fixtures"])
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            outcome = measured(program, Path(folder), run=not chosen.dry, unsafe=not chosen.safe)
            tally.add(outcome)
            if outcome.word in (*chosen.show, "broken", "worse"):
                _show(outcome)
    print(tally.table())


def _show(outcome: Outcome) -> None:
    applied = [f"{each.diagnostic.code}: {each.fix.message}" for each in outcome.applied]
    print(f"== {outcome.word}: {outcome.name} {outcome.codes} {applied}")
    for verdict in [each for each in outcome.after if each.raises][:1]:
        print(f"   line {verdict.line}: {verdict.error}: {verdict.sentence}")
    print(outcome.diff)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
