"""How many broken working files the linter finds: `python -m benchmarks.truth.mutations --corpus DIR --count N --seed S`."""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchmarks.truth.judging import kind_of
from benchmarks.truth.mutants import Mutant, mutants
from retainlint.catalogue import NOT_CHECKED
from retainlint.checking import linter
from retainlint.config import Configs, Settings
from retainlint.diagnostic import Diagnostic
from retainlint.text.files import Disk, Edited

WORDS = ("found", "elsewhere", "unknown", "missed")


@dataclass(frozen=True)
class Case:
    """A mutant of the file at `path`, which may lie in a project."""

    path: Path
    mutant: Mutant


@dataclass(frozen=True)
class Outcome:
    """What the linter said of a mutant: one of WORDS, with the cause of a miss, and the witness of what it found."""

    case: Case
    word: str
    cause: str = ""
    script: str = ""
    error: str = ""


def cases(corpus: Path) -> Iterator[Case]:
    for path in sorted(filter(Path.is_file, corpus.rglob("*.py"))):
        data = path.read_bytes()
        if b"backward" in data:
            try:
                text = data.decode()
            except UnicodeDecodeError:
                continue
            yield from (Case(path, mutant) for mutant in mutants(text, path))


def chosen(all_cases: Sequence[Case], count: int, seed: int) -> list[Case]:
    """About `count` cases, the smaller classes whole; the same for a seed."""
    by_kind: dict[str, list[Case]] = {}
    for case in all_cases:
        by_kind.setdefault(case.mutant.kind, []).append(case)
    left, out = count, []
    for n, several in enumerate(sorted(by_kind.values(), key=len)):
        share = min(len(several), left // (len(by_kind) - n))
        out += random.Random(seed).sample(several, share)
        left -= share
    groups: dict[Path, list[Case]] = {}
    for case in sorted(out, key=lambda case: case.path.as_posix()):
        groups.setdefault(case.path, []).append(case)
    mixed = list(groups.values())
    random.Random(seed).shuffle(mixed)
    return [case for group in mixed for case in group]  # a file's mutants stay together: its imports are read once


DISK, SETTINGS = Disk(), Settings(suppressions=False)


@lru_cache(maxsize=4)
def before(path: Path) -> Counter[str]:
    """The errors that the working file already has."""
    found = linter.check_file(str(path), SETTINGS, DISK)
    return Counter(_words(one) for one in found.diagnostics if one.severity.value == "error")


def _words(diagnostic: Diagnostic) -> str:
    source, row = diagnostic.primary.span.source, diagnostic.primary.span.row
    return f"{diagnostic.code} {source.row_text(row).strip() if source.text else ''}"


def measured(case: Case) -> Outcome:
    mutant, data = case.mutant, case.mutant.text.encode()
    result = linter.check_source(str(case.path), data, SETTINGS, DISK)
    if result.crash:
        return Outcome(case, "missed", f"crash: {result.crash.strip().splitlines()[-1]}")
    errors = [one for one in result.diagnostics if one.severity.value == "error" and one.code != NOT_CHECKED]
    for one in result.diagnostics if errors else by_callers(case.path, data):
        if one.primary.span.row == mutant.row and one.code.startswith("RTL1"):
            witness = one.witness
            return Outcome(
                case, "found", one.severity.value, witness.script if witness else "", witness.error if witness else ""
            )
    if Counter(map(_words, errors)) - before(case.path):
        return Outcome(case, "elsewhere", ", ".join(f"{one.code}:{one.primary.span.row}" for one in errors))
    low, high = mutant.rows
    near = [gap.reason for gap in result.gaps if "budget" in gap.reason or low <= gap.span.row <= high]
    if near:
        return Outcome(case, "unknown", re.sub(r"`[^`]*`|\d+", "_", near[0]))
    return Outcome(case, "missed", "no gap")


def by_callers(path: Path, data: bytes) -> Sequence[Diagnostic]:
    """What is told of a file with the programs of its project that lead to it."""
    files = Edited({str(path.absolute()): data})
    return linter.Given(Configs.alike(SETTINGS), files).check(str(path), data).diagnostics


def torch_agrees(outcome: Outcome, folder: Path) -> bool:
    """Whether the witness raises in torch what it says."""
    from judge_torch import judge

    path = folder / "witness.py"
    path.write_text(outcome.script, encoding="utf-8")
    verdict = judge(path)
    kind = kind_of(verdict.error, verdict.sentence)
    return kind is not None and kind == kind_of("RuntimeError", outcome.error)


def by_torch(several: Sequence[Case], folder: Path) -> Iterator[str]:
    """Whether the mutants of programs that torch can run raise where they should: a row a class."""
    from judge_torch import judge

    counts: dict[str, Counter[str]] = {}
    runs: dict[Path, bool] = {}
    for case in several:
        if case.path not in runs:
            runs[case.path] = not judge(case.path.resolve()).raises
        if not runs[case.path]:
            continue
        path = folder / case.path.name
        path.write_text(case.mutant.text, encoding="utf-8")
        verdict = judge(path)
        kind = kind_of(verdict.error, verdict.sentence)
        word = "as told" if kind and verdict.line == case.mutant.row else f"{kind or verdict.error or 'runs'}"
        counts.setdefault(case.mutant.kind, Counter())[word] += 1
        if word != "as told":
            yield f"{case.path}:{case.mutant.row} {case.mutant.kind}: torch: {verdict.line} {verdict.error} {verdict.sentence}"
    for mutation, each in sorted(counts.items()):
        yield f"{mutation}: {each['as told']} of {sum(each.values())} raise where they should"


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "| mutation | mutants | found | elsewhere | unknown | missed | share |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for kind in [*sorted({one.case.mutant.kind for one in outcomes}), ""]:
        several = [one for one in outcomes if one.case.mutant.kind == kind or not kind]
        counts = Counter(one.word for one in several)
        cells = " | ".join(str(counts[word]) for word in WORDS)
        yield f"| {kind or 'all'} | {len(several)} | {cells} | {100 * counts['found'] / max(len(several), 1):.1f}% |"


def causes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    lost = [one for one in outcomes if one.word != "found"]
    grouped = Counter((one.word, one.cause if one.word != "elsewhere" else "") for one in lost)
    for (word, cause), count in grouped.most_common():
        yield f"{count} {word} {cause}"
        for one in [each for each in lost if (each.word, each.cause if word != "elsewhere" else "") == (word, cause)]:
            yield f"    {one.case.path}:{one.case.mutant.row} {one.case.mutant.kind} {one.cause if word == 'elsewhere' else ''}"


def kept(log: Path | None, several: Sequence[Case]) -> dict[int, Outcome]:
    """What an earlier run that was cut short has found out of these cases, by their place among them."""
    if log is None or not log.exists():
        return {}
    places = {_key(case): n for n, case in enumerate(several)}
    rows = [json.loads(row) for row in log.read_text(encoding="utf-8").splitlines() if row.endswith("}")]
    known = [(places[row["key"]], row) for row in rows if row["key"] in places]
    return {n: Outcome(several[n], row["word"], row["cause"], row["script"], row["error"]) for n, row in known}


def _key(case: Case) -> str:
    """What a case is known by in a log: the changed text itself."""
    return hashlib.sha256(f"{case.path}\0{case.mutant.row}\0{case.mutant.text}".encode()).hexdigest()[:24]


def note(log: Path | None, outcome: Outcome) -> None:
    if log is not None:
        row = {"key": _key(outcome.case), **{name: getattr(outcome, name) for name in _NOTED}}
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


MARKS = ("<!-- mutants -->", "<!-- /mutants -->")
_NOTED = ("word", "cause", "script", "error")


def witnessed(found: Sequence[Outcome], count: int, seed: int) -> Iterator[str]:
    """Whether the witnesses of what was found raise in torch what they say: a row a class."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in sorted({one.case.mutant.kind for one in found}):
            several = [one for one in found if one.case.mutant.kind == kind]
            tried = random.Random(seed).sample(several, min(count, len(several)))
            wrong = [one for one in tried if not torch_agrees(one, Path(folder))]
            yield f"witnesses of {kind}: {len(tried) - len(wrong)} of {len(tried)} raise in torch"
            for one in wrong:
                told = one.error[:60] if one.script else "no witness"
                yield f"    {one.case.path}:{one.case.mutant.row} {told}"


def put_into(page: Path, lines: Sequence[str]) -> None:
    """Write lines between the two marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    _, mark, after = rest.partition(MARKS[1])
    if not mark:
        raise SystemExit(f"{page}: {MARKS[0]} and {MARKS[1]} are missing")
    text = "\n".join([before + MARKS[0], *lines, MARKS[1] + after])
    page.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--corpus",
        type=Path,
        action="append",
        required=True,
        help="a directory that holds repositories; again for more",
    )
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--witnesses", type=int, default=50, help="witnesses of each class that torch judges")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--page", type=Path, help="a page, such as this bench's README, to write the table into")
    parser.add_argument("--log", type=Path, help="a file to keep outcomes in: a run that was cut short goes on from it")
    parser.add_argument(
        "--torch", action="store_true", help="let torch judge the mutants of those files that it can run"
    )
    parser.add_argument("--only", default="", help="only classes and files whose name has this")
    args = parser.parse_args()
    every = [case for corpus in args.corpus for case in cases(corpus) if args.only in f"{case.mutant.kind} {case.path}"]
    several = chosen(every, args.count, args.seed)
    print(f"{len(several)} of {len(every)} mutants", flush=True)
    if args.torch:
        with tempfile.TemporaryDirectory() as folder:
            print(*by_torch(several, Path(folder)), sep="\n")
        return
    known = kept(args.log, several)
    outcomes = list(known.values())
    with multiprocessing.Pool(args.jobs) as pool:
        left = [case for n, case in enumerate(several) if n not in known]
        for outcome in pool.imap_unordered(measured, left, chunksize=4):
            outcomes.append(outcome)
            note(args.log, outcome)
            if outcome.word != "found":
                print(*causes([outcome]), sep="", flush=True)
            if len(outcomes) % 50 == 0:
                print("", *table(outcomes), sep="\n", flush=True)
    for line in ("", *table(outcomes), "", *causes(outcomes), ""):
        print(line, flush=True)
    proofs: list[str] = []
    for line in witnessed([one for one in outcomes if one.word == "found"], args.witnesses, args.seed):
        proofs.append(line)
        print(line, flush=True)
    if args.page is not None:
        honest = [f"* {line}" for line in proofs if not line.startswith(" ")]
        put_into(args.page, ["", *table(outcomes), "", *honest, ""])


if __name__ == "__main__":
    main()
