"""`retainlint explain` and `retainlint rules`."""

from __future__ import annotations

import io

import pytest

from retainlint.commands import CommandError
from retainlint.commands.explain import explain, rules
from retainlint.rules import RULES


def explained(word: str) -> str:
    out = io.StringIO()
    assert explain(word, out) == 0
    return out.getvalue()


@pytest.mark.parametrize("code", [rule.code for rule in RULES])
def test_every_rule_is_explained_by_code_and_name_in_any_case(code: str) -> None:
    rule = next(rule for rule in RULES if rule.code == code)
    text = explained(code.lower())
    assert text == explained(rule.name.upper())
    off = "" if rule.on_by_default else ", off unless selected"
    assert text.startswith(f"{code} {rule.name} ({rule.severity.value}{off})\n\n{rule.summary}")
    assert text.count("\nFails: ") == len(rule.bad)
    assert text.count("\nFine: ") == len(rule.good)
    assert (f"# noqa: {code}" in text) is (code != "RTL900")
    assert max(map(len, text.splitlines())) <= 124


@pytest.mark.parametrize(("word", "words"), [("RTL1O1", "did you mean 'RTL101'"), ("zzz", "`retainlint rules` lists")])
def test_an_unknown_rule_is_told(word: str, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        explain(word, io.StringIO())


def test_the_table_has_every_rule_in_aligned_columns() -> None:
    out = io.StringIO()
    assert rules(out) == 0
    head, *lines = out.getvalue().splitlines()
    assert [line.split()[:2] for line in lines] == [[rule.code, rule.name] for rule in RULES]
    for line, rule in zip(lines, RULES, strict=True):
        off = "" if rule.on_by_default else " (off unless selected)"
        assert line[head.index("WHAT") :] == rule.summary + off


def test_a_rule_s_page_draws_the_graphs_of_its_examples() -> None:
    out = io.StringIO()
    assert explain("RTL103", out, "html") == 0
    text = out.getvalue()
    assert text.startswith("<!doctype html>") and '<p class="prose">Two losses share a part of their graphs' in text
    assert text.count('<svg class="graph"') == text.count('class="finding"') >= 2
