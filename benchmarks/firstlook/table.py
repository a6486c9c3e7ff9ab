"""The table of findings to be judged, a line of JSON each, and what it comes to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.firstlook.looking import Finding, Look

VERDICTS = ("right", "wrong", "unclear")
FAILURES = "RTL1"
"""The rules of backward passes that fail; the others tell of waste and misuse."""


def write(path: Path, looks: Iterable[Look], findings: Iterable[Finding]) -> None:
    rows = [{"look": asdict(each)} for each in looks] + [{"finding": asdict(each)} for each in findings]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def read(path: Path) -> tuple[list[Look], list[Finding]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    looks = [Look(**row["look"]) for row in rows if "look" in row]
    return looks, [Finding(**row["finding"]) for row in rows if "finding" in row]


def judged(findings: Sequence[Finding], number: int, verdict: str, reason: str, date: str) -> list[Finding]:
    """The findings, with a reader's verdict of that of this number."""
    if verdict not in VERDICTS:
        raise ValueError(f"a verdict is one of {', '.join(VERDICTS)}")
    out = list(findings)
    out[number] = replace(out[number], verdict=verdict, reason=reason, date=date)
    return out


def without_words(findings: Iterable[Finding]) -> list[Finding]:
    """To be kept in the repository: messages quote the code that was read."""
    return [replace(each, message="") for each in findings]


def to_judge(findings: Sequence[Finding]) -> Iterator[str]:
    for number, each in enumerate(findings):
        if not each.verdict:
            yield f"{number} {each.place}: {each.severity} {each.code} {each.message}"


def figures(looks: Sequence[Look], findings: Sequence[Finding]) -> Iterator[str]:
    """What a round showed, as a table of Markdown."""
    failures = [each for each in findings if each.code.startswith(FAILURES)]
    errors = [each for each in failures if each.severity == "error"]
    others = [each for each in findings if not each.code.startswith((FAILURES, "RTL9"))]
    times = sorted(each.seconds for each in looks) or [0.0]
    troubled = [each for each in looks if each.trouble]
    yield "| | |"
    yield "| --- | --- |"
    yield f"| repositories | {len(looks)} |"
    yield f"| files of Python and notebooks | {sum(each.files for each in looks)} |"
    yield f"| errors of RTL1xx | {_share(errors)} |"
    yield f"| all of RTL1xx | {_share(failures)} |"
    yield f"| rules of waste and misuse | {_share(others)} |"
    yield f"| crashes | {sum(1 for each in troubled if not each.trouble.startswith('over'))} |"
    yield f"| over time | {sum(1 for each in troubled if each.trouble.startswith('over'))} |"
    yield f"| seconds | {sum(times):.0f} in all, median {times[len(times) // 2]:.1f}, longest {times[-1]:.1f} |"
    notes = sum(each.not_followed for each in looks), sum(each.backward_not_followed for each in looks)
    yield f"| notes of what was not followed | {notes[0]}, {notes[1]} of them at a backward pass |"
    yield ""
    yield from _by_rule(findings)


def _by_rule(findings: Iterable[Finding]) -> Iterator[str]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for each in findings:
        counts.setdefault((each.code, each.severity), Counter())[each.verdict or "not judged"] += 1
    words = (*VERDICTS, "not judged")
    yield f"| rule | | findings | {' | '.join(words)} |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for (code, severity), verdicts in sorted(counts.items()):
        yield f"| {code} | {severity} | {verdicts.total()} | {' | '.join(str(verdicts[word]) for word in words)} |"


def _share(findings: Sequence[Finding]) -> str:
    counts = Counter(each.verdict for each in findings)
    seen = counts["right"] + counts["wrong"] + counts["unclear"]
    unclear = f", {counts['unclear']} unclear" if counts["unclear"] else ""
    rest = f" (of {len(findings)})" if seen < len(findings) else ""
    return f"{counts['right']} right of {seen} judged{rest}{unclear}"
