"""Records in `fixtures/frameworks/verdicts.json` what real torch says of the programs whose framework is installed, run
with that framework and no stand-in, and checks it against the marks. The rest of the record stays."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings

import torch
from framework_fixtures import RECORD, Example, examples, recorded
from judge_torch import Verdict, judge
from record_verdicts import ERRORS, SECOND_TIME

Row = dict[str, bool | int | str | None]
TIMEOUT = 300.0
BY_FRAMEWORK = re.compile(r"\.(fit|run|train)\(")
"""A call within which the framework walks: the program's innermost line is then the call, and the mark stands where the
loss was returned."""


def complaints(example: Example, verdict: Verdict) -> list[str]:
    """What contradicts between a program's folder, its marks and its verdict."""
    if verdict.raises != example.raises:
        return [f"{example.name}:{verdict.line}: torch says {verdict.error}: {verdict.sentence}"]
    told = example.told()
    if not example.raises:
        silent = [] if verdict.stdout.strip() else [f"{example.name}: prints nothing"]
        return silent + [f"{example.name}:{line}: marked, but it runs" for line, _ in told]
    if len(told) != 1:
        return [f"{example.name}: {len(told)} marks with a code, wanted one"]
    ((line, code),) = told
    found = []
    if ERRORS.get(code, SECOND_TIME) not in (verdict.sentence or ""):
        found.append(f"{example.name}:{line}: marked {code}, but torch says: {verdict.sentence}")
    raised = example.text.splitlines()[(verdict.line or 1) - 1]
    if line != verdict.line and not BY_FRAMEWORK.search(raised):
        found.append(f"{example.name}:{line}: marked as raising, but torch raised on line {verdict.line}")
    return found


def row(example: Example, verdict: Verdict) -> Row:
    """An entry of the record."""
    return {
        "line": verdict.line,
        "package": example.module,
        "raises": verdict.raises,
        "sentence": verdict.sentence,
        "torch": torch.__version__.partition("+")[0],
        "version": example.version(),
    }


def main() -> int:
    """Judge every program that can be judged here, and write the record; 1 on any complaint."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="compare with the record, write nothing")
    options.add_argument("words", nargs="*", help="judge only the programs whose name holds one of them")
    chosen = options.parse_args()
    check: bool = chosen.check
    words: list[str] = chosen.words or [""]
    warnings.simplefilter("ignore")
    before = recorded() if RECORD.exists() else {}
    record: dict[str, Row] = {each.name: before[each.name] for each in examples() if each.name in before}
    problems: list[str] = []
    judged = 0
    for example in examples():
        if not any(word in example.name for word in words):
            continue
        if example.version() is None:
            problems += [] if example.name in before else [f"{example.name}: {example.module} is not installed"]
            continue
        os.environ.update(example.environment)
        verdict = judge(example.path, TIMEOUT)
        for name in example.environment:
            del os.environ[name]
        judged += 1
        problems += complaints(example, verdict)
        record[example.name] = row(example, verdict)
    if check and record != before:
        problems.append("the record differs")
    if not check and not problems:
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print("\n".join([*problems, f"{judged} of {len(record)} programs judged, {len(problems)} complaints"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
