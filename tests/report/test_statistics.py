"""Counts for `--statistics`, the summary, and what couldn't be followed."""

from __future__ import annotations

import json

from report.samples import OTHER, SEVERAL, TOLD, UNREAD

from retainlint.diagnostic import Applicability, Fix
from retainlint.incident import Gap
from retainlint.report import statistics
from retainlint.report.statistics import fixable, render, summary, unfollowed
from retainlint.report.terminal import Style
from retainlint.startup.records import replace
from retainlint.text.source import Span


def test_the_most_frequent_rule_comes_first() -> None:
    text = "".join(render([UNREAD, *[SEVERAL] * 10], Style()))
    assert text == "10  RTL101  backward-in-loop\n 1  RTL900  file-not-checked\n"
    assert "".join(render([], Style())) == ""


def test_a_star_tells_what_can_be_fixed() -> None:
    text = "".join(render([TOLD, UNREAD], Style()))
    assert text == "1  RTL101  [*] backward-in-loop\n1  RTL900  [ ] file-not-checked\n"
    assert "[-] backward-in-loop" in "".join(render([TOLD, SEVERAL], Style()))


def test_statistics_as_json() -> None:
    rows = json.loads("".join(render([TOLD, SEVERAL, UNREAD], Style(), as_json=True)))
    assert rows == [
        {"code": "RTL101", "name": "backward-in-loop", "count": 2, "fixable": False, "fixable_count": 1},
        {"code": "RTL900", "name": "file-not-checked", "count": 1, "fixable": False, "fixable_count": 0},
    ]


def test_the_summary_counts_each_severity() -> None:
    assert summary([TOLD, SEVERAL, UNREAD], Style(), 3) == "Found 2 errors and 1 warning. 3 files checked."
    assert summary([], Style(), 1) == "All checks passed! 1 file checked."


def test_a_line_counts_the_backward_passes_that_nobody_judged() -> None:
    assert unfollowed(0, named=False) == ""
    assert unfollowed(1, named=False) == "1 backward pass could not be followed: `--show-unknown` names it."
    assert unfollowed(3, named=False) == "3 backward passes could not be followed: `--show-unknown` names them."
    assert unfollowed(3, named=True) == "3 backward passes could not be followed."


def test_what_could_not_be_followed_is_told_once_and_in_order() -> None:
    late, early = Gap(Span(OTHER, 20, 21), "b\x1b"), Gap(Span(OTHER, 4, 11), "a")
    text = "".join(statistics.render_gaps([late, early, late], Style()))
    assert text == "other/model.py:1:5: not followed: a\nother/model.py:2:5: not followed: b\\x1b\n"


def test_what_can_be_fixed_is_counted() -> None:
    safe = replace(TOLD, fix=Fix(Applicability.SAFE, "drop it", ()))
    assert fixable([UNREAD]) == ""
    assert fixable([TOLD, UNREAD]) == "No safe fixes, 1 hidden with `--unsafe-fixes`."
    assert fixable([safe, safe, TOLD]) == "[*] 2 fixable with `--fix`, 1 hidden with `--unsafe-fixes`."
    assert fixable([safe]) == "[*] 1 fixable with `--fix`."
