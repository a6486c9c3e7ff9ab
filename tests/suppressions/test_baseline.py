"""The baseline's file, and which findings it knows again."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from fake_pipeline import span

from retainlint.suppressions.baseline import Baseline, BaselineEntry, BaselineError, function_of, load
from retainlint.text.source import Source

TEXT = """
    class A:
        @decorated(
            walk)
        def f(self):
            walk(1)
            def inner():
                walk(2)
            return [walk(3) for x in y]

        async def g(self): walk(4)
    walk(5)
    if x:
        class B:
            y = walk(6)
"""


@pytest.mark.parametrize(
    ("what", "name"),
    [("walk)", "A.f"), ("walk(1)", "A.f"), ("walk(2)", "A.f.inner"), ("walk(3)", "A.f"), ("walk(4)", "A.g"), ("walk(5)", ""), ("walk(6)", "B")],
)  # fmt: skip
def test_the_qualified_name_around_a_place(what: str, name: str) -> None:
    source = Source("m.py", textwrap.dedent(TEXT))
    assert function_of(span(source, what)) == name


@pytest.mark.parametrize("text", ["def f((:\n walk()", "\0walk()", "(" * 3000 + "walk()"])
def test_what_is_no_python_has_no_functions(text: str) -> None:
    assert function_of(span(Source("m.py", text), "walk()")) == ""


def test_an_entry_is_made_of_text_alone(tmp_path: Path) -> None:
    baseline = Baseline(str(tmp_path / "known.json"))
    one = Source(str(tmp_path / "a" / "m.py"), "def f():\n    walk(x,\n        y)\n    built\n")
    moved = Source(str(tmp_path / "a" / "m.py"), "# new\n\n\nx = 1\ndef f():\n        walk(x, y); built\n")
    entries = [
        baseline.entry("RTL101", [span(source, text), span(source, "built")])
        for source, text in ((one, "walk(x,\n        y)"), (moved, "walk(x, y)"))
    ]
    assert entries == [BaselineEntry("a/m.py", "RTL101", "f", ("walk(x, y)", "built"))] * 2


A, B, C = (BaselineEntry(file, "RTL101", "f", (file,)) for file in "abc")


def test_an_entry_is_known_as_often_as_it_is_counted() -> None:
    baseline = Baseline("known.json", Counter({A: 2, B: 1, C: 1}))
    assert list(baseline.new([A, A, A, B])) == [False, False, True, False]
    assert baseline.stale(lambda entry: True) == {C: 1}
    assert baseline.stale(lambda entry: entry.file != "c") == {}
    assert list(baseline.new([A])) == [False], "it can be asked again"
    assert baseline.stale(lambda entry: True) == {A: 1, B: 1, C: 1}


def test_the_file_is_sorted_readable_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    odd = BaselineEntry("b/ü.py", "RTL102", "", ('a["\x1b"]', "é"))
    baseline = Baseline(str(path), Counter({B: 3, odd: 1, A: 1, C: 0}))
    path.write_text(baseline.text())
    assert load(str(path), "known.json").known == Counter({A: 1, B: 3, odd: 1})
    assert path.read_text().isascii()
    lines = path.read_text().splitlines()
    assert lines[3:6] == ['    "a": [', '      {"code": "RTL101", "in": "f", "at": ["a"]}', "    ],"]
    assert '      {"code": "RTL101", "in": "f", "at": ["b"], "count": 3}' in lines
    assert Baseline("x", Counter({odd: 1, B: 3, A: 1})).text() == baseline.text()
    assert json.loads(Baseline("x").text()) == {"retainlint-baseline": 1, "findings": {}}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "k:1: this is no JSON: expecting value"),
        (b'{\n<<<<<<< HEAD\n', "k:2: this is no JSON: "),
        (b"\xff", "k: this is no JSON that can be read"),
        (b"[" * 100_000, "k: this is no JSON that can be read"),
        (b"[]", "k: this is no baseline of retainlint's"),
        (b'{"retainlint-baseline": 2}', "k: this baseline was written by another version"),
        (b'{"retainlint-baseline": 1}', 'k: an entry of "findings" is not as'),
        (b'{"retainlint-baseline": 1, "findings": {"a": [3]}}', 'k: an entry of "a" is not as'),
        (b'{"retainlint-baseline": 1, "findings": {"a": 3}}', 'k: an entry of "a" is not as'),
        (b'{"retainlint-baseline": 1, "findings": {"a": [{"code": "X", "at": [], "count": 0}]}}', 'k: an entry of "a" is not as'),
        (b'{"retainlint-baseline": 1, "findings": {"a": [{"code": "X", "at": [1]}]}}', 'k: an entry of "a" is not as'),
    ],
)  # fmt: skip
def test_what_is_no_baseline_is_told(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "k"
    path.write_bytes(data)
    with pytest.raises(BaselineError) as raised:
        load(str(path), "k")
    assert str(raised.value).startswith(message)
    with pytest.raises(BaselineError, match="k: no such file or directory"):
        load(str(tmp_path / "nothing"), "k")
