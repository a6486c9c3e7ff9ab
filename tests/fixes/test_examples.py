"""Each rule's bad example against its fix: where one is offered, it writes what the example says, and says it once."""

from __future__ import annotations

import re
from typing import cast

import pytest
from fixes.look import look

from retainlint.diagnostic import Applicability, Diagnostic
from retainlint.fixes import Seen, fix_all
from retainlint.rules import RULES, Rule
from retainlint.rules.rule import Example
from retainlint.text.source import Source

_MARK = re.compile(r" *#~.*$", re.MULTILINE)

NOT_LOCAL = {
    ("RTL112", "nothing requires a gradient"),  # which tensor is to require one is the author's to say
    ("RTL205", "the norm of the gradient"),
    ("RTL205", "in each iteration"),
    ("RTL301", "taken for the gradient"),
    ("RTL306", "volatile"),
}
"""Examples whose cure no edit of ours can say."""

SAFE = {"RTL201", "RTL302", "RTL306"}
"""Rules whose fixes leave what the program computes as it is."""

CASES = [
    pytest.param(rule, example, id=f"{rule.code}-{example.title.replace(' ', '-')}")
    for rule in RULES
    for example in rule.bad
]


def wanted(rule: Rule) -> set[str]:
    """The rule itself, and the needless flag that a cure may leave behind."""
    return {rule.code, "RTL201"}


def fixed(text: str, codes: set[str]) -> tuple[Seen, list[tuple[str, Applicability]]]:
    def is_wanted(diagnostic: Diagnostic) -> bool:
        return diagnostic.code in codes

    done = fix_all(cast(Seen, look(Source("example.py", text))), look, True, is_wanted)
    return done.seen, [(each.diagnostic.code, each.fix.applicability) for each in done.applied]


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_the_fix_writes_what_the_example_says(rule: Rule, example: Example) -> None:
    seen, applied = fixed(example.program, wanted(rule))
    if (rule.code, example.title) in NOT_LOCAL:
        assert applied == []
        return
    assert _MARK.sub("", seen.source.text) == example.fixed
    assert applied[0] == (rule.code, Applicability.SAFE if rule.code in SAFE else Applicability.UNSAFE)
    again, more = fixed(seen.source.text, wanted(rule))
    assert more == []
    assert again.source.text == seen.source.text
    assert not [each for each in seen.diagnostics if each.code == rule.code]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_good_examples_are_left_alone(rule: Rule) -> None:
    for example in rule.good:
        seen, applied = fixed(example.program, {rule.code})
        assert applied == []
        assert seen.source.text == example.program
