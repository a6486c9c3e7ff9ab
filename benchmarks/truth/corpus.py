"""Real repositories as they are: which findings are new, gone or judged. `python -m benchmarks.truth.corpus --corpus DIR`."""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from retainlint.checking import linter
from retainlint.config import Configs, Settings
from retainlint.diagnostic import Diagnostic
from retainlint.text.files import Disk, Listings

VERDICTS = Path(__file__).parent / "verdicts.json"
SLOW = 10.0
"""Seconds that no file should take."""
BUDGET = "budget"


@dataclass(frozen=True)
class Found:
    """A finding in a repository. `key` is made of the words at its marks and of the function it stands in, not of rows:
    it outlives a change elsewhere in the file."""

    key: str
    repository: str
    path: str
    code: str
    severity: str
    row: int
    message: str


@dataclass(frozen=True)
class Verdict:
    """What a reader said of a finding: right, wrong or dubious, and why in one line. Nothing of the code is kept."""

    key: str
    repository: str
    path: str
    code: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Lap:
    """What one file's check cost: processor seconds, and whether an entry of it ran out of its budget."""

    path: str
    seconds: float
    out_of_budget: bool
    crash: str = ""


@dataclass(frozen=True)
class Survey:
    """What the linter says of a corpus; `read` counts the files that could matter, of all `files`."""

    files: int
    found: tuple[Found, ...]
    laps: tuple[Lap, ...]


def survey(corpus: Path, repositories: Sequence[str]) -> Survey:
    """Check each repository as a whole, with every rule on and no comment obeyed."""
    files = 0
    found: list[Found] = []
    laps: list[Lap] = []
    for name in repositories or sorted(path.name for path in corpus.iterdir() if path.is_dir()):
        root = corpus / name

        def running(
            names: Sequence[str], settings: Mapping[str, Settings], listings: Listings
        ) -> Iterator[linter.FileResult]:
            disk = Disk(listings=listings)
            for one in names:
                start = time.process_time()
                result = linter.check_file(one, settings[one], disk)
                seconds = time.process_time() - start
                spent = any(BUDGET in gap.reason for gap in result.gaps)
                laps.append(Lap(Path(one).relative_to(corpus).as_posix(), seconds, spent, result.crash))
                yield result

        result = linter.check([str(root)], Configs.alike(Settings(suppressions=False)), running=running)
        files += result.files
        found += numbered(described(one, name, root) for one in result.diagnostics)
        print(f"{name}: {result.files} files, {len(result.diagnostics)} findings", flush=True)
    return Survey(files, tuple(found), tuple(laps))


def described(diagnostic: Diagnostic, repository: str, root: Path) -> Found:
    span = diagnostic.primary.span
    path = Path(span.source.name).relative_to(root).as_posix()
    marks = [
        f"{label.primary}|{' '.join(row.split())}"
        for label in diagnostic.labels
        if label.span.source.text
        for row in [label.span.source.row_text(label.span.row)]
    ]
    words = [repository, path, diagnostic.code, qualified(span.source.text, span.row), *marks]
    key = hashlib.sha256("\0".join(words).encode(errors="replace")).hexdigest()[:16]
    return Found(key, repository, path, diagnostic.code, diagnostic.severity.value, span.row, diagnostic.message)


def numbered(found: Iterable[Found]) -> Iterator[Found]:
    """Two findings that read the same in one function get different keys, in order of their rows."""
    seen: Counter[str] = Counter()
    for one in found:
        seen[one.key] += 1
        again = f"{one.key}.{seen[one.key]}" if seen[one.key] > 1 else one.key
        yield Found(**{**asdict(one), "key": again})


def qualified(text: str, row: int) -> str:
    """The dotted name of the innermost function or class that holds a row; "" at the module's level."""
    try:
        node: ast.AST = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    names: list[str] = []
    while True:
        inner = (each for each in ast.walk(node) if each is not node and _is_definition(each))
        holding = [each for each in inner if each.lineno <= row <= (each.end_lineno or row)]  # type: ignore[attr-defined]
        if not holding:
            return ".".join(names)
        node = min(holding, key=lambda each: each.lineno)  # type: ignore[attr-defined]
        names.append(node.name)  # type: ignore[attr-defined]


def _is_definition(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def known(path: Path = VERDICTS) -> dict[str, Verdict]:
    if not path.exists():
        return {}
    return {each["key"]: Verdict(**each) for each in json.loads(path.read_text(encoding="utf-8"))}


def write(verdicts: Iterable[Verdict], path: Path = VERDICTS) -> None:
    rows = sorted(verdicts, key=lambda each: (each.repository, each.path, each.code, each.key))
    lines = ",\n".join(" " + json.dumps(asdict(each), ensure_ascii=False) for each in rows)
    path.write_text(f"[\n{lines}\n]\n" if rows else "[]\n", encoding="utf-8")


def compared(found: Iterable[Found], verdicts: Mapping[str, Verdict]) -> tuple[list[Found], list[Found], list[Verdict]]:
    """The findings that nobody judged, those that somebody did, and the verdicts whose finding is gone."""
    found = list(found)
    new = [one for one in found if one.key not in verdicts]
    old = [one for one in found if one.key in verdicts]
    there = {one.key for one in found}
    return new, old, [one for one in verdicts.values() if one.key not in there]


def sampled(found: Iterable[Found], count: int, seed: int) -> list[Found]:
    """All errors, and of the warnings `count` a rule, always the same for a seed, whatever else is found."""
    chosen: list[Found] = []
    by_code: dict[str, list[Found]] = {}
    for one in found:
        (chosen if one.severity == "error" else by_code.setdefault(one.code, [])).append(one)
    for _, several in sorted(by_code.items()):
        chosen += sorted(several, key=lambda one: random.Random(f"{seed}{one.key}").random())[:count]
    return chosen


def table(found: Sequence[Found], verdicts: Mapping[str, Verdict]) -> Iterator[str]:
    """A row a rule: how many findings, how they were judged."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for one in found:
        judged = verdicts[one.key].verdict if one.key in verdicts else "unjudged"
        counts.setdefault((one.severity, one.code), Counter())[judged] += 1
    yield "| rule | | findings | right | wrong | dubious | unjudged |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for (severity, code), each in sorted(counts.items()):
        judged = " | ".join(str(each[word]) for word in ("right", "wrong", "dubious", "unjudged"))
        yield f"| {code} | {severity} | {sum(each.values())} | {judged} |"


def told(seen: Survey, verdicts: Mapping[str, Verdict], count: int, seed: int) -> Iterator[str]:
    new, old, gone = compared(sampled(seen.found, count, seed), verdicts)
    for word, several in (("new", new), ("known", old)):
        for one in several:
            said = f" {verdicts[one.key].verdict}: {verdicts[one.key].reason}" if one.key in verdicts else ""
            yield f"{word} {one.key} {one.repository}/{one.path}:{one.row}: {one.code} {one.message}{said}"
    everywhere = {one.key for one in seen.found}
    looked = {lap.path.partition("/")[0] for lap in seen.laps}
    yield from (
        f"gone {one.key} {one.repository}/{one.path} {one.code}"
        for one in gone
        if one.key not in everywhere and one.repository in looked
    )
    yield from table(seen.found, verdicts)
    total = sum(lap.seconds for lap in seen.laps)
    slowest = sorted(seen.laps, key=lambda lap: -lap.seconds)[:5]
    yield f"{seen.files} files in {total:.0f} s; slowest " + ", ".join(
        f"{one.path} {one.seconds:.1f} s" for one in slowest
    )
    yield f"over {SLOW:.0f} s: {sum(lap.seconds > SLOW for lap in seen.laps)}; out of budget: {sum(lap.out_of_budget for lap in seen.laps)}; crashes: {sum(bool(lap.crash) for lap in seen.laps)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, help="the directory that holds the repositories")
    parser.add_argument("--from", dest="earlier", type=Path, help="what an earlier run wrote, instead of a run")
    parser.add_argument("--out", type=Path, help="where to write what was found")
    parser.add_argument("--sample", type=int, default=200, help="warnings told of each rule; errors are told all")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--judge", nargs=3, metavar=("KEY", "VERDICT", "REASON"), action="append", default=[])
    parser.add_argument("repositories", nargs="*", help="only these of the corpus")
    args = parser.parse_args()
    if args.earlier is not None:
        said = json.loads(args.earlier.read_text(encoding="utf-8"))
        laps = tuple(Lap(**each) for each in said["laps"])
        seen = Survey(said["files"], tuple(Found(**each) for each in said["found"]), laps)
    elif args.corpus is not None:
        seen = survey(args.corpus, args.repositories)
    else:
        parser.error("--corpus or --from is needed")
    if args.out is not None:
        args.out.write_text(json.dumps(asdict(seen), indent=1), encoding="utf-8")
    verdicts = known()
    by_key = {one.key: one for one in seen.found}
    for key, verdict, reason in args.judge:
        one = by_key[key]
        verdicts[key] = Verdict(key, one.repository, one.path, one.code, verdict, reason)
    if args.judge:
        write(verdicts.values())
    for line in told(seen, verdicts, args.sample, args.seed):
        print(line)


if __name__ == "__main__":
    main()
