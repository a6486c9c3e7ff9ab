"""A finding keeps its key when other rows of its file change, and a new one stands out."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.truth.corpus import Found, Verdict, compared, known, numbered, qualified, sampled, survey, write

TWICE = """\
import torch


def train(model, x):
    loss = torch.exp(model(x)).sum()
    loss.backward()
    loss.backward()
"""


def found(key: str, severity: str = "warning", code: str = "RTL201") -> Found:
    return Found(key, "r", "a.py", code, severity, 1, "")


def surveyed(folder: Path, text: str) -> list[Found]:
    (folder / "repository").mkdir(exist_ok=True)
    (folder / "repository" / "a.py").write_text(text)
    return [one for one in survey(folder, ["repository"]).found if one.code == "RTL102"]


def test_a_key_outlives_a_change_above_it(tmp_path: Path) -> None:
    (one,) = surveyed(tmp_path, TWICE)
    (two,) = surveyed(tmp_path, "import os\n" + TWICE)
    (other,) = surveyed(tmp_path, TWICE.replace("def train", "def test"))
    assert (one.repository, one.path, one.row, two.row) == ("repository", "a.py", 7, 8)
    assert one.key == two.key != other.key


def test_findings_that_read_the_same_have_keys_of_their_own() -> None:
    assert [one.key for one in numbered([found("a"), found("b"), found("a")])] == ["a", "b", "a.2"]


def test_new_known_and_gone_are_told_apart() -> None:
    verdicts = {key: Verdict(key, "r", "a.py", "RTL201", "right", "") for key in ("a", "b")}
    new, old, gone = compared([found("b"), found("c")], verdicts)
    assert ([one.key for one in new], [one.key for one in old], [one.key for one in gone]) == (["c"], ["b"], ["a"])


def test_a_sample_holds_every_error_and_some_warnings_of_each_rule() -> None:
    several = [found(str(n)) for n in range(9)] + [found(f"e{n}", "error", "RTL102") for n in range(5)]
    sample = sampled(several, 3, 1)
    assert sum(one.severity == "error" for one in sample) == 5
    assert sum(one.severity == "warning" for one in sample) == 3
    assert sample == sampled(several, 3, 1)


def test_verdicts_come_back_as_they_were_written(tmp_path: Path) -> None:
    one = Verdict("k", "r", "a.py", "RTL102", "right", "walked twice")
    write([one], tmp_path / "v.json")
    assert known(tmp_path / "v.json") == {"k": one}
    assert known(tmp_path / "none.json") == {}


@pytest.mark.parametrize(("row", "name"), [(1, ""), (2, "A"), (3, "A.f"), (5, "A.f.g")])
def test_a_place_is_named_by_what_holds_it(row: int, name: str) -> None:
    text = "x = 1\nclass A:\n    def f(self):\n        y = 1\n        def g():\n            pass\n"
    assert qualified(text, row) == name


def test_the_verdict_file_is_in_order() -> None:
    assert all(one.verdict in ("right", "wrong", "dubious") and one.reason for one in known().values())
