"""A first look keeps what was told and where, once, and counts verdicts without flattering."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks.firstlook import __main__, snapshots, table
from benchmarks.firstlook.looking import Finding, look

TWICE = """\
import torch

x = torch.ones(2, requires_grad=True)
loss = torch.exp(x).sum()
loss.backward()
loss.backward()
"""


def finding(code: str, severity: str, verdict: str = "") -> Finding:
    return Finding("a/b", "0", "a.py", None, 1, code, severity, "words", verdict)


def repository(folder: Path) -> Path:
    work = folder / "owner+name"
    work.mkdir()
    for name, text in (("train.py", TWICE), ("picture.png", "no text")):
        (work / name).write_text(text)
    named = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for arguments in (["init", "-q"], ["add", "."], [*named, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(work), *arguments], check=True)
    return work / ".git"


def test_a_tree_is_exported_looked_at_once_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trees, out = tmp_path / "trees", tmp_path / "round.jsonl"
    assert __main__.main(["export", str(repository(tmp_path)), "--out", str(trees)]) == 0
    assert sorted(path.name for path in (trees / "owner+name").iterdir()) == [".git", "train.py"]
    assert len(snapshots.known_commits(trees)["owner+name"]) == 40
    assert __main__.main(["look", str(trees), "--out", str(out)]) == 0
    with pytest.raises(SystemExit):
        __main__.main(["look", str(trees), "--out", str(out)])
    (one,), (told,) = table.read(out)
    assert (one.repository, one.files, one.trouble) == ("owner/name", 1, "")
    assert (told.code, told.place, told.verdict) == ("RTL102", "owner/name/train.py:6", "")
    assert __main__.main(["judge", str(out), "0", "right", "walked twice", "--date", "2026-11-22"]) == 0
    capsys.readouterr()
    kept = tmp_path / "kept.jsonl"
    assert __main__.main(["figures", str(out), "--keep", str(kept)]) == 0
    assert "| errors of RTL1xx | 1 right of 1 judged |" in capsys.readouterr().out
    assert "`loss" not in kept.read_text()


def test_what_takes_too_long_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TWICE)
    one, findings = look(tmp_path, "a/b", "0", 0.01)
    assert one.trouble.startswith("over") and not findings


def test_what_nobody_judged_counts_for_nothing() -> None:
    several = [
        finding("RTL101", "error", "right"),
        finding("RTL101", "error", "unclear"),
        finding("RTL104", "error"),
        finding("RTL112", "warning", "wrong"),
        finding("RTL201", "warning", "right"),
    ]
    rows = "\n".join(table.figures([], several))
    assert "| errors of RTL1xx | 1 right of 2 judged (of 3), 1 unclear |" in rows
    assert "| all of RTL1xx | 1 right of 3 judged (of 4), 1 unclear |" in rows
    assert "| rules of waste and misuse | 1 right of 1 judged |" in rows


def test_a_verdict_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="right, wrong, unclear"):
        table.judged([finding("RTL101", "error")], 0, "dubious", "", "")


def test_the_rounds_that_are_kept_are_judged_and_hold_no_words_of_the_code() -> None:
    for path in sorted((Path(table.__file__).parent / "rounds").glob("*.jsonl")):
        looks, findings = table.read(path)
        assert looks and all(one.commit for one in looks)
        for each in findings:
            assert not each.message
            assert each.verdict in table.VERDICTS or not each.code.startswith(table.FAILURES), each.place
            assert bool(each.verdict) == bool(each.reason) == bool(each.date), json.dumps(each.place)
