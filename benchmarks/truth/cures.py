"""Measures what is advised against an expert's cures: `python -m benchmarks.truth.cures`, or `... --room DIR --only NAME`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.truth.judging import ROOT
from retainlint import Diagnostic
from retainlint.checking import linter
from retainlint.commands import fix as fixing
from retainlint.commands.configuring import configured, requested
from retainlint.config import Configs
from retainlint.diagnostic import Help

with contextlib.suppress(ImportError):  # `judging` has put the tests where they are found
    from cure_fixtures import ROOM, Example, Failure, examples, fingerprint, same_grads

WORDS: tuple[tuple[str, str], ...] = (
    (r"^`([\w.\[\]]+) = \1 [-+*/@]", "out-of-place"),
    (r"gather the rows", "out-of-place"),
    (r"^make that change after `", "backward-first"),
    (r"allow_unused|materialize_grads", "allow-unused"),
    (r"create_graph", "create-graph"),
    (r"use_reentrant=False|from before `detach|enable_grad|switched on again as well|^Freeze before", "uncut"),
    (
        r"^compute .+ of .+ itself, not of|keep tensors all the way|torch's functions all the way|straight through|pass the gradient|passes the gradient",
        "uncut",
    ),
    (
        r"(outside of|without|remove|take away|drop|isn.t under|not under) .{0,30}(no_grad|inference_mode)|(no_grad|inference_mode).{0,40}\b(away|off)\b|set_grad_enabled",
        "uncut",
    ),
    (r"not its `?\.data|keep the (tensors?|graph)|requires_grad=True|torch\.stack|unfreeze", "uncut"),
    (r"\bremove\b.*(detach|item)", "uncut"),
    (r"(remove|leave out|drop|delete) .*(backward|walk)", "remove-backward"),
    (r"\b(remove|drop)\b.*retain_graph", "drop-retain"),
    (r"retain_graph=True", "retain"),
    (r"no_grad", "no-grad"),
    (r"^(clear|empty)\b|\.clear\(\)|= None`|begin anew|^call .*at the start of each", "clear-list"),
    (r"(inside|in|into) the closure", "move-into-closure"),
    (r"compute .*(in `forward`|in a property|where it is used|in the function|in each function)", "compute-where-used"),
    (
        r"(compute|call(?= `)|move|make|build|create) .*(inside|into|in) (the|this|each) (loop|turn|iteration)",
        "move-into-loop",
    ),
    (r"anew in each|again in each|(?i:compute) .*at the start of each", "move-into-loop"),
    (
        r"(walk|backward).* only the (part|loss) of this|\.item\(\)|float\(|add (detached values|it detached)",
        "as-number",
    ),
    (r"\bsum\b|at once|add the losses|\(.+ \+ .+\)\.backward\(\)|(walk|backward) .*once", "sum"),
    (r"\.clone\(\)|on a copy|change a copy", "clone"),
    (r"detach", "detach"),
    (
        r"(walk|call|run|move) .*before .*(change|step|`)|^(move|make) .+ (behind|after) `|step then|take that step after|after this (walk|backward)",
        "backward-first",
    ),
    (r"`([\w.\[\]]+) = \1\b|out of place|instead of `|new tensor", "out-of-place"),
    (r"(compute|score|call|run) .*(anew|again)", "recompute"),
)
"""What a help says to what it does, as in fixtures/cures; the first that is found in it counts."""

CLASSES = {
    "Detach": "detach",
    "KeepGraph": "retain",
    "CreateGraph": "create-graph",
    "SumLosses": "sum",
    "MoveInto": "move-into-loop",
    "Clear": "clear-list",
    "BeginAnew": "clear-list",
    "PutBack": "clear-list",
    "DropBackward": "remove-backward",
    "ComputeAnew": "recompute",
    "ComputeWhereUsed": "compute-where-used",
    "Uncut": "uncut",
    "BackwardFirst": "backward-first",
    "OutOfPlace": "out-of-place",
    "UnderNoGrad": "no-grad",
    "AsNumber": "as-number",
    "AssignDetach": "detach-carried",
}
"""The same for a cure's record, where no words say it."""

ALIKE = ({"detach", "detach-carried"}, {"out-of-place", "clone"}, {"move-into-loop", "move-into-closure"})
"""Words for cures that are one as advice."""


@dataclass
class Measured:
    """What came of one root cause: the finding, the helps by kind, and, of the whole program, the fix."""

    name: str
    number: int
    expected: str
    cure: str
    told: str = "missed"
    helps: list[tuple[str, str]] = field(default_factory=list)
    first: str = "none"
    elsewhere: bool = False
    harmful: list[str] = field(default_factory=list)
    offered: str = ""
    fixed: str = ""


def kind_of(words: str) -> str:
    """What a help does, "" if its words don't say it in any way that is known here."""
    return next((kind for pattern, kind in WORDS if re.search(pattern, words)), "")


def helps_of(diagnostic: Diagnostic) -> list[tuple[str, str]]:
    """Kind and words of each help, the first first."""
    return [(kind_of(each.words) or _class_of(each) or "?", each.words) for each in diagnostic.helps]


def _class_of(help: Help) -> str:
    return CLASSES.get(type(help.cures[0]).__name__, "") if help.cures else ""


def is_alike(kind: str, wanted: str) -> bool:
    return kind == wanted or any(kind in group and wanted in group for group in ALIKE)


def does_harm(kind: str, words: str, failure: Failure) -> bool:
    """Whether a help is one of those that the expert calls harmful, and not of one that would do."""
    if any(is_alike(kind, good) for good in (failure.cure, *failure.acceptable)):
        return any(bad.startswith(f"{kind}:") and _names(bad.partition(":")[2], words) for bad in failure.harmful)
    return any(bad == kind for bad in failure.harmful)


def _names(name: str, words: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", words) is not None


def judged(kind: str, words: str, failure: Failure) -> str:
    """The first help in one word: `expert`, `acceptable`, `harmful` or `other`."""
    if does_harm(kind, words, failure):
        return "harmful"
    if is_alike(kind, failure.cure):
        return "expert"
    return "acceptable" if any(is_alike(kind, good) for good in failure.acceptable) else "other"


def measured(example: Example, fix: bool) -> list[Measured]:
    """Everything of one program, which is checked, and fixed, in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        example.copied(folder)
        configs = _configs()
        left = list(linter.check([name], configs).diagnostics)
        rows = []
        for number, failure in enumerate(example.failures, 1):
            row = Measured(example.name, number, failure.rule, failure.cure)
            rows.append(row)
            found = _taken(left, failure, folder)
            if found is None:
                continue
            row.told = "right" if found.code == failure.rule else found.code
            _judge_helps(row, found, failure)
            row.offered = "fix" if found.fix is not None else ""
        if fix:
            _apply(rows, example, folder, configs)
        return rows


def _configs() -> Configs:
    return configured(requested({"select": ["RTL1"], "unsafe-fixes": True}, isolated=True))


def _taken(left: list[Diagnostic], failure: Failure, folder: Path) -> Diagnostic | None:
    """The finding at the failure's row, of the expected rule if there is one; each is taken once."""
    there = [each for each in left if _place(each, folder) == (failure.file, failure.line)]
    codes = (failure.rule, *failure.other_rules)
    there.sort(key=lambda each: codes.index(each.code) if each.code in codes else len(codes))
    if not there:
        return None
    left.remove(there[0])
    return there[0]


def _place(diagnostic: Diagnostic, folder: Path) -> tuple[str, int]:
    span = diagnostic.primary.span
    return os.path.relpath(os.path.realpath(span.source.name), os.path.realpath(folder)), span.row


def _judge_helps(row: Measured, found: Diagnostic, failure: Failure) -> None:
    row.helps = helps_of(found)
    row.harmful = [words for kind, words in row.helps if does_harm(kind, words, failure)]
    if row.helps:
        kind, words = row.helps[0]
        row.first = judged(kind, words, failure)
        row.elsewhere = _is_elsewhere(found, words, failure)


def _is_elsewhere(found: Diagnostic, words: str, failure: Failure) -> bool:
    """Whether the first help speaks of code, but neither of a name nor of a row that the expert touches."""
    spans = [getattr(cure, "span", None) for cure in found.cures[:1]]
    rows = {f"{os.path.basename(span.source.name)}:{span.row}" for span in spans if span is not None}
    quoted = [
        each for each in re.findall(r"`([^`]+)`", words) if not re.search(r"retain_graph|create_graph|no_grad", each)
    ]
    known = any(_names(name, words) for name in failure.names) or bool(rows & set(failure.rows))
    return bool(quoted or rows) and bool(failure.names) and not known


def _apply(rows: list[Measured], example: Example, folder: Path, configs: Configs) -> None:
    """Write all fixes of the program's errors, and let torch run it and the expert's."""
    from judge_torch import judge

    found = list(linter.check([str(folder)], configs).diagnostics)
    done = fixing.fix(found, [], configs, write=True)
    if done.count:
        word = "crashed in the linter" if done.wrong else ""
        after = judge(folder / "program.py", project=folder)
        if not word and after.raises:
            word = f"raises {after.error}: {after.sentence}"
        expert = judge(example.folder / "expert.py", project=example.folder)
        if not word:
            word = "same" if same_grads(fingerprint(after), fingerprint(expert)) else "other gradients"
        for row in rows:
            row.fixed = word


def table(rows: Sequence[Measured]) -> Iterator[str]:
    """The figures: of findings and helps by root cause, of fixes by program."""
    count = len(rows)
    told = [row for row in rows if row.told != "missed"]
    firsts = Counter(row.first for row in told)
    yield f"{count} root causes in {len({row.name for row in rows})} programs"
    yield f"told at the row: {len(told)}, by the expected rule {sum(row.told == 'right' for row in told)}"
    yield "first help: " + ", ".join(f"{word} {number}" for word, number in firsts.most_common())
    good = [row for row in told if row.first in ("expert", "acceptable")]
    yield f"first help would do: {len(good)}, of which {sum(row.elsewhere for row in good)} at another place than the expert's"
    harmful = [words for row in told for words in row.harmful]
    plain = sum(not re.search(r"\bif\b", words) for words in harmful)
    yield f"harmful helps, first or later: {len(harmful)} in {sum(bool(row.harmful) for row in told)} findings, {plain} of them without an `if`"
    yield f"words that this bench can't read: {sum(kind == '?' for row in told for kind, _ in row.helps)}"
    yield f"a fix is offered: {sum(bool(row.offered) for row in rows)} of {count}"
    programs = {row.name: row.fixed for row in rows}
    words = Counter("raises" if word.startswith("raises") else word or "none applied" for word in programs.values())
    yield f"applied, of {len(programs)} programs: " + ", ".join(f"{word} {n}" for word, n in words.most_common())


def _line(row: Measured) -> str:
    kinds = ", ".join(kind for kind, _ in row.helps) or "-"
    marks = (" elsewhere?" if row.elsewhere else "") + (" HARM" if row.harmful else "")
    name = f"{row.name}#{row.number}" if row.number > 1 else row.name
    return f"{name:24} {row.expected} {row.told:7} {row.cure:18} {row.first + marks:24} [{kinds}] {row.offered or '-'} {row.fixed or '-'}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--room", type=Path, default=ROOM, help="a folder of such programs; fixtures/cures without one"
    )
    options.add_argument("--only", action="append", default=[], help="the name of one program")
    options.add_argument("--dry", action="store_true", help="apply no fixes")
    options.add_argument("--words", action="store_true", help="show every help in full")
    options.add_argument("--out", type=Path, help="write everything as JSON")
    chosen = options.parse_args()
    rows: list[Measured] = []
    for example in examples(chosen.room):
        if chosen.only and example.name not in chosen.only:
            continue
        for row in measured(example, fix=not chosen.dry):
            rows.append(row)
            print(_line(row), flush=True)
            for kind, words in row.helps if chosen.words else ():
                print(f"    {kind}{' HARMFUL' if words in row.harmful else ''}: {words}")
    print("\n".join(table(rows)))
    if chosen.out is not None:
        chosen.out.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
