"""A record of a tree is the same twice, and a comparison tells what is lost, new and changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.golden.__main__ import main
from benchmarks.golden.comparing import changes, differences
from benchmarks.golden.telling import line

TWICE = """\
import torch


def train(model, x):
    loss = torch.exp(model(x)).sum()
    loss.backward()
    loss.backward()
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """One repository."""
    folder = tmp_path / "corpus" / "one"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text(TWICE)
    (folder / "b.py").write_text("def broken(:\n    loss.backward()\n")
    return folder.parent


def written(corpus: Path, name: str, jobs: int = 1) -> Path:
    out = corpus.parent / name
    nothing = corpus.parent / "nothing"
    nothing.mkdir(exist_ok=True)
    options = ["--generated", "3", "--seed", "5", "--fixtures", str(nothing), "--jobs", str(jobs)]
    assert main(["write", str(out), "--repositories", str(corpus), *options]) == 0
    return out


def rewritten(record: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The record, with its RTL102 in a.py changed."""
    entries = [json.loads(line) for line in record.read_text().splitlines()]
    (one,) = (each for each in entries if each["file"] == "a.py" and each.get("code") == "RTL102")
    change(one)
    out = record.with_name("changed.jsonl")
    out.write_text("".join(json.dumps(each) + "\n" for each in entries))
    return out


def test_a_record_says_all_of_a_finding(corpus: Path) -> None:
    entries = [json.loads(line) for line in written(corpus, "a.jsonl").read_text().splitlines()]
    assert {each["part"] for each in entries} == {"generated", "repositories/one"}
    assert {each.get("code") for each in entries if each["file"] == "b.py"} == {"RTL900"}
    assert [each["count"] for each in entries if each["kind"] == "files"] == [3, 2]
    (one,) = (each for each in entries if each.get("code") == "RTL102" and each["file"] == "a.py")
    assert (one["row"], one["severity"], one["name"]) == (7, "error", "backward-twice")
    assert [each["row"] for each in one["labels"] if each["primary"]] == [7]
    assert one["cures"] and one["help"] and one["message"]
    assert one["witness"]["error"].startswith("Trying to backward through the graph a second time")


def test_a_record_is_the_same_twice(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = written(corpus, "a.jsonl"), written(corpus, "b.jsonl", jobs=2)
    assert one.read_bytes() == two.read_bytes()
    assert str(corpus.parent) not in one.read_text()
    assert main(["compare", str(one), str(two)]) == 0
    assert capsys.readouterr().out.startswith("part ")


def test_a_folder_that_is_not_there_is_no_empty_record(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["write", str(tmp_path / "a.jsonl"), "--repositories", str(tmp_path / "none")])


@pytest.mark.parametrize(
    ("change", "wordless", "said"),
    [
        (lambda one: one.update(message="walked again"), 0, "message"),
        (lambda one: one["witness"].update(script=""), 0, "witness.script"),
        (lambda one: one.update(severity="warning"), 1, 'severity "error" -> "warning"'),
        (lambda one: one.update(column=9), 1, "column 5 -> 9"),
        (lambda one: one["labels"].pop(), 1, "labels"),
        (lambda one: one.update(code="RTL101"), 1, 'code "RTL102" -> "RTL101"'),
    ],
)
def test_a_change_is_told(
    corpus: Path, capsys: pytest.CaptureFixture[str], change: Callable[[dict[str, Any]], None], wordless: int, said: str
) -> None:
    old = written(corpus, "a.jsonl")
    new = rewritten(old, change)
    assert main(["compare", str(old), str(new)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("changed repositories/one a.py:7:")
    assert said in out.splitlines()[0]
    assert main(["compare", "--ignore-words", str(old), str(new)]) == wordless


def test_what_stands_elsewhere_is_lost_and_new(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = written(corpus, "a.jsonl")
    new = rewritten(old, lambda one: one.update(row=70))
    assert main(["compare", str(old), str(new)]) == 1
    out = capsys.readouterr().out
    assert "lost    repositories/one a.py:7:5 RTL102 error: " in out
    assert "new     repositories/one a.py:70:5 RTL102 error: " in out


def test_of_two_that_are_alike_one_is_lost() -> None:
    entry: dict[str, Any] = {"part": "p", "kind": "gap", "file": "a.py", "row": 1, "column": 2, "reason": "why"}
    (lost,) = differences([entry, entry], [entry])
    assert line(lost) == "lost    p a.py:1:2 gap: why"
    assert differences([entry], [entry]) == []


def test_a_change_names_the_innermost_field() -> None:
    old: dict[str, Any] = {"labels": [{"row": 1}, {"row": 2}], "help": ""}
    new: dict[str, Any] = {"labels": [{"row": 1}, {"row": 3}], "help": ""}
    (one,) = changes(old, new)
    assert (one.field, one.counted, one.old, one.new) == ("labels[1].row", "labels.row", 2, 3)
