"""Records in `fixtures/verdicts.json` what real torch says of every fixture, and checks it against the fixtures' marks.

A mark is `#~ role` or `#~ role RTLnnn` at the end of a line; the one with a code stands on the line where torch raises.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch
from fixture_marks import Mark, marks
from judge_torch import Verdict, judge

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
RECORD = FIXTURES / "verdicts.json"
SECOND_TIME = "Trying to backward through the graph a second time"
ERRORS = {
    "RTL110": "has been modified by an inplace operation",
    "RTL111": "has been modified by an inplace operation",
    "RTL112": "does not require grad and does not have a grad_fn",
    "RTL113": "leaf Variable that requires grad is being used in an in-place operation",
    "RTL117": "Inference tensors cannot be saved for backward",
    "RTL116": "is being modified inplace",
    "RTL114": "appears to not have been used in the graph",
    "RTL115": "can't optimize a non-leaf Tensor",
}
ROLES = {
    **dict.fromkeys(("RTL110", "RTL111", "RTL112", "RTL114"), "backward"), "RTL113": "modified", "RTL116": "modified", "RTL117": "modified", "RTL115": "misused"
}  # fmt: skip

Row = dict[str, bool | int | str | None]


def _marks(path: Path) -> list[Mark]:
    return marks(path.read_text(encoding="utf-8"), str(path))


def complaints(path: Path, verdict: Verdict) -> list[str]:
    """What contradicts between a fixture's folder, its marks, and torch's verdict."""
    raising = path.parent.name == "raises"
    if verdict.raises != raising:
        return [f"{path}:{verdict.line}: is in {path.parent.name}/ but torch says {verdict.error}: {verdict.sentence}"]
    marked = _marks(path)
    if not raising:
        silent = [] if verdict.stdout.strip() else [f"{path}: prints nothing"]
        return silent + [f"{path}:{mark.line}: marked {mark.role}, but it runs" for mark in marked]
    coded = [(mark.line, mark.role, mark.code) for mark in marked if mark.code]
    if len(coded) != 1:
        return [f"{path}: {len(coded)} marks with a code, wanted one"]
    line, role, code = coded[0]
    wanted = ERRORS.get(code or "", SECOND_TIME)
    checks = {
        f"{path}:{line}: marked as raising, but torch raised on line {verdict.line}": line == verdict.line,
        f"{path}:{line}: {code} says '{wanted}', but torch says: {verdict.sentence}": wanted
        in (verdict.sentence or ""),
        f"{path}:{line}: {code} is marked as {role}": role == ROLES.get(code or "", "reused"),
    }
    others = {"built", "freed"} if (code or "") < "RTL110" else set[str]()
    missing = ({"built", "modified"} if code in ("RTL110", "RTL111") else others) - {mark.role for mark in marked}
    if missing:
        checks[f"{path}: lacks the marks {sorted(missing)}"] = False
    return [text for text, holds in checks.items() if not holds]


def row(path: Path, verdict: Verdict) -> Row:
    """One entry of the record; the code comes from the marks, since torch doesn't know it."""
    codes = [mark.code for mark in _marks(path) if mark.code]
    return {
        "code": codes[0] if codes else None,
        "error": verdict.error,
        "line": verdict.line,
        "raises": verdict.raises,
        "sentence": verdict.sentence,
        "torch": torch.__version__.partition("+")[0],
    }


def main() -> int:
    """Judge every fixture in raises/ and runs/; write the record, or with --check compare with it; 1 on any complaint."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="compare with the record, write nothing")
    check: bool = options.parse_args().check
    record: dict[str, Row] = {}
    problems: list[str] = []
    for path in sorted(FIXTURES.glob("raises/**/*.py")) + sorted(FIXTURES.glob("runs/**/*.py")):
        verdict = judge(path)
        problems += complaints(path, verdict)
        record[path.relative_to(FIXTURES).as_posix()] = row(path, verdict)
    text = json.dumps(record, indent=1, sort_keys=True) + "\n"
    if check and (not RECORD.exists() or RECORD.read_text(encoding="utf-8") != text):
        old: dict[str, Row] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
        problems += [
            f"{name}: differs from the record"
            for name in sorted(old.keys() | record.keys())
            if old.get(name) != record.get(name)
        ] or ["verdicts.json is spelt otherwise"]
    if not check and not problems:
        RECORD.write_text(text, encoding="utf-8")
    print("\n".join([*problems, f"{len(record)} fixtures judged, {len(problems)} complaints"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
