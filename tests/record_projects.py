"""Records in `fixtures/projects/verdicts.json` what real torch says of every project, and checks it against the marks."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch
from judge_torch import judge
from project_fixtures import RECORD, Project, projects

Row = dict[str, bool | int | str | None]


def judged(project: Project) -> tuple[Row, list[str]]:
    """One entry of the record, and what contradicts between it and the marks."""
    verdict = judge(project.main, project=project.path)
    file = None if verdict.file is None else Path(verdict.file).relative_to(project.path).as_posix()
    marked = project.failing()
    wanted = (None, None) if marked is None else (marked[0], marked[1].line)
    problems = []
    if verdict.raises != project.raises or (file, verdict.line) != wanted:
        problems.append(f"{project.name}: marked {wanted}, but torch says {file}:{verdict.line} {verdict.sentence}")
    if not verdict.raises and not verdict.stdout.strip():
        problems.append(f"{project.name}: prints nothing")
    roles = {mark.role for _, mark in project.marks()}
    if project.raises and not ("built" in roles and roles & {"reused", "backward"} and roles & {"freed", "modified"}):
        problems.append(f"{project.name}: lacks marks beside {sorted(roles)}")
    row: Row = {
        "code": None if marked is None else marked[1].code,
        "file": file,
        "line": verdict.line,
        "main": project.main.relative_to(project.path).as_posix(),
        "raises": verdict.raises,
        "sentence": verdict.sentence,
        "torch": torch.__version__.partition("+")[0],
    }
    return row, problems


def main() -> int:
    """Judge every project; write the record, or with --check compare with it; 1 on any complaint."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="compare with the record, write nothing")
    check: bool = options.parse_args().check
    record: dict[str, Row] = {}
    problems: list[str] = []
    for project in projects():
        record[project.name], more = judged(project)
        problems += more
    text = json.dumps(record, indent=1, sort_keys=True) + "\n"
    if check and (not RECORD.exists() or RECORD.read_text(encoding="utf-8") != text):
        problems.append("the record differs")
    if not check and not problems:
        RECORD.write_text(text, encoding="utf-8")
    print("\n".join([*problems, f"{len(record)} projects judged, {len(problems)} complaints"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
