"""Which rules a selection means."""

from __future__ import annotations

import pytest

from retainlint.config import ConfigError, chosen_codes, nearest

NAMES = {"RTL101": "backward-in-loop", "RTL102": "backward-twice", "RTL201": "needless-retain", "RTL900": "not-checked"}


@pytest.mark.parametrize(
    ("select", "ignore", "codes"),
    [
        ([], [], "101 102 201 900"),
        (["ALL"], [], "101 102 201 900"),
        (["RTL"], ["RTL1"], "201 900"),
        (["rtl1"], [], "101 102"),
        (["backward-twice"], [], "102"),
        (["Backward-Twice", "RTL9"], [], "102 900"),
        ([], ["backward-twice", "RTL900"], "101 201"),
        (["RTL101"], ["RTL1"], "101"),
        (["RTL1"], ["RTL101"], "102"),
        (["RTL101"], ["RTL101"], ""),
        (["RTL101"], ["ALL"], "101"),
        (["RTL1", "RTL101"], ["RTL10"], "101"),
    ],
)
def test_the_longer_selector_wins(select: list[str], ignore: list[str], codes: str) -> None:
    assert chosen_codes(select, ignore, NAMES) == {f"RTL{code}" for code in codes.split()}


@pytest.mark.parametrize(
    ("word", "near"),
    [("RTL10X", "RTL10"), ("backward-in-lop", "backward-in-loop"), ("BACKWARD_TWICE", "backward-twice")],
)
def test_an_unknown_selector_is_told_with_the_nearest(word: str, near: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown rule '{word}'; did you mean '{near}"):
        chosen_codes([word], [], NAMES)
    with pytest.raises(ConfigError):
        chosen_codes([], [word], NAMES)


def test_a_word_like_none_gets_no_nearest() -> None:
    with pytest.raises(ConfigError, match="`retainlint rules` lists"):
        chosen_codes(["E501"], [], NAMES)
    assert nearest("chekc", ["check", "run"]) == "check"
    assert nearest("zzz", ["check", "run"]) is None
