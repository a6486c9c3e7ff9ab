"""Which rules a selection means."""

from __future__ import annotations

import pytest
from config.building import KNOWN, NAMES

from retainlint.config import ConfigError, KnownRules, nearest
from retainlint.config.selection import Selection, chosen_codes


def chosen(*layers: tuple[list[str] | None, list[str], list[str]], known: KnownRules = KNOWN) -> str:
    """The digits of the codes that are on; a layer is select, extend-select and ignore."""
    selections = [Selection(None if s is None else tuple(s), tuple(e), tuple(i)) for s, e, i in layers]
    return " ".join(sorted(code.removeprefix("RTL") for code in chosen_codes(selections, known)))


@pytest.mark.parametrize(
    ("select", "ignore", "codes"),
    [
        (None, [], "101 102 900"),
        ([], [], ""),
        (["ALL"], [], "101 102 201 900"),
        (["RTL"], ["RTL1"], "201 900"),
        (["rtl1"], [], "101 102"),
        (["backward-twice"], [], "102"),
        (["Backward-Twice", "RTL9"], [], "102 900"),
        (None, ["backward-twice", "RTL900"], "101"),
        (["RTL101"], ["RTL1"], "101"),
        (["RTL1"], ["RTL101"], "102"),
        (["RTL101"], ["RTL101"], ""),
        (["RTL101"], ["ALL"], "101"),
        (["RTL1", "RTL101"], ["RTL10"], "101"),
        (["needless-retain"], [], "201"),
    ],
)
def test_the_longer_selector_wins(select: list[str] | None, ignore: list[str], codes: str) -> None:
    assert chosen((select, [], ignore)) == codes


@pytest.mark.parametrize("selector", ["RTL201", "needless-retain", "RTL2", "RTL", "ALL"])
def test_whatever_names_a_rule_that_is_off_turns_it_on(selector: str) -> None:
    assert "201" in chosen((None, [selector], []))
    assert "201" in chosen(([selector], [], []))
    assert "201" not in chosen((None, [], []))


def test_layers_add_up_until_one_selects() -> None:
    assert chosen((None, [], ["RTL101"]), (None, ["RTL2"], [])) == "102 201 900"
    assert chosen((["RTL1"], [], ["RTL101"]), (None, ["RTL101"], [])) == "101 102"
    assert chosen((["RTL1"], [], ["RTL101"]), (["RTL10"], [], [])) == "101 102", "a select forgets an ignore below it"
    assert chosen((["RTL2"], [], []), (None, [], ["RTL1"])) == "201"


def test_a_file_that_is_not_checked_is_told_unless_that_is_ignored() -> None:
    known = KnownRules(NAMES, always=frozenset({"RTL900"}))
    assert chosen((["RTL101"], [], []), known=known) == "101 900"
    assert chosen((["RTL101"], [], ["RTL9"]), known=known) == "101"
    assert chosen((["RTL101"], [], []), (None, [], ["not-checked"]), known=known) == "101"


@pytest.mark.parametrize(
    ("word", "near"),
    [("RTL10X", "RTL10"), ("backward-in-lop", "backward-in-loop"), ("BACKWARD_TWICE", "backward-twice")],
)
def test_an_unknown_selector_is_told_with_the_nearest(word: str, near: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown rule '{word}'; did you mean '{near}"):
        KNOWN.selected(word)


@pytest.mark.parametrize("word", ["E501", "", " ", "x" * 5000, "\x1b[31m"])
def test_a_word_like_none_gets_no_nearest_and_is_shown_safely(word: str) -> None:
    with pytest.raises(ConfigError, match="`retainlint rules` lists") as raised:
        KNOWN.selected(word)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 130


def test_the_nearest_word() -> None:
    assert nearest("chekc", ["check", "run"]) == "check"
    assert nearest("zzz", ["check", "run"]) is None
    assert nearest("x" * 10**6, ["check"]) is None
