"""Which comments are told as useless (RTL901), and what is left without them."""

from __future__ import annotations

import ast

import pytest
from config.building import NAMES

from retainlint.suppressions import read, unused
from retainlint.text.source import Source, Span


def judged(text: str, *, bare: bool = True, codes: str = "RTL101 RTL102 RTL900") -> list[tuple[str, str, str]]:
    """Useless words, unknown words and the text without them, for each useless comment; `walk()` is a finding."""
    source = Source("m.py", text)
    comments = read(source)
    places = [Span(source, at, at + 6) for at in range(len(text)) if text.startswith("walk()", at)]
    _, used = comments.split(("RTL101", "backward-in-loop", place) for place in places)
    found = unused(comments, used, NAMES, codes.split(), bare)
    return [
        (
            " ".join(one.useless) + ("misplaced" if one.misplaced else ""),
            " ".join(one.unknown),
            _without(text, one.edit, one.left),
        )
        for one in found
    ]


def _without(text: str, edit: Span, left: str) -> str:
    changed = text[: edit.start] + left + text[edit.end :]
    assert ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text)), "a comment is no code"
    return changed


@pytest.mark.parametrize(
    "text",
    [
        "walk()  # noqa: RTL101\n", "walk()  # retainlint: ignore[backward-in-loop]\n", "walk()  # retainlint: ignore\n",
        "x  # noqa\n", "x  # noqa: F401\n", "x  # noqa: F401, E501\n", "# retainlint: ignore-file\nwalk()\n",
        "# retainlint: noqa: RTL101\nwalk()\n", "x  # noqa: RTL101, RTL901\n", "x  # noqa: RTL201\n",
        "x  # retainlint: ignore[needless-retain]\n", "f(\n    walk(),\n)  # noqa: RTL101\n", "'# noqa: RTL101'\n",
        "walk()  # noqa: RTL101\nx\nwalk()  # noqa: RTL101\n", "x  # noqa: some-words here\n",
    ],
)  # fmt: skip
def test_of_use_or_none_of_our_business(text: str) -> None:
    assert judged(text) == []


@pytest.mark.parametrize(
    ("text", "useless", "left"),
    [
        ("x  # noqa: RTL101\ny\n", "RTL101", "x\ny\n"),
        ("x  # noqa: RTL101", "RTL101", "x"),
        ("x\t#noqa:rtl101 (why)\r\ny\r\n", "rtl101", "x\r\ny\r\n"),
        ("x  # noqa: F401, RTL101\n", "RTL101", "x  # noqa: F401\n"),
        ("x  # noqa: RTL101, F401\n", "RTL101", "x  # noqa: F401\n"),
        ("x  # noqa: F401, RTL101, E501 (why)\n", "RTL101", "x  # noqa: F401, E501 (why)\n"),
        ("walk()  # noqa: RTL101, RTL102\n", "RTL102", "walk()  # noqa: RTL101\n"),
        ("walk()  # retainlint: ignore[backward-twice,backward-in-loop]\n", "backward-twice", "walk()  # retainlint: ignore[backward-in-loop]\n"),
        ("x  # retainlint: ignore[RTL101, RTL102]\n", "RTL101 RTL102", "x\n"),
        ("x  # retainlint: ignore\n", "", "x\n"),
        ("x  # retainlint: ignore[]\n", "", "x\n"),
        ("x  # retainlint: ignore[RTL101] since it is meant\n", "RTL101", "x  # since it is meant\n"),
        ("x  # noqa: RTL101 # type: ignore\n", "RTL101", "x  # type: ignore\n"),
        ("x  # type: ignore # noqa: RTL101\n", "RTL101", "x  # type: ignore\n"),
        ("x  # retainlint: ignore[RTL101]  # noqa: F401\n", "RTL101", "x  # noqa: F401\n"),
        ("x\n# retainlint: ignore-file\ny\n", "", "x\ny\n"),
        ("x\n  # retainlint: noqa: RTL101\ny\n", "RTL101", "x\ny\n"),
        ("x\n# retainlint: ignore-file", "", "x\n"),
        ("x  # retainlint: ignore-file\ny\n", "misplaced", "x\ny\n"),
    ],
)  # fmt: skip
def test_useless(text: str, useless: str, left: str) -> None:
    assert judged(text) == [(useless, "", left)]


def test_no_such_rule() -> None:
    assert judged("x  # noqa: RTL999\n") == [("", "RTL999", "x\n")]
    assert judged("walk()  # noqa: RTL101, RTL999\n") == [("", "RTL999", "walk()  # noqa: RTL101\n")]
    assert judged("x  # retainlint: ignore[F401]\n", codes="") == [("", "F401", "x\n")]
    assert judged("walk()  # retainlint: ignore[RTL101, backward-in-lop]\n")[0][1] == "backward-in-lop"


def test_what_is_not_known_is_not_judged() -> None:
    assert judged("x  # noqa: RTL101, RTL102\n", codes="RTL102")[0][0] == "RTL102"
    assert judged("x  # noqa: RTL101\n", codes="") == []
    assert judged("x  # retainlint: ignore\n", bare=False) == []


def test_of_two_comments_that_cover_the_same_both_are_of_use() -> None:
    assert judged("walk()  # noqa: RTL101  # retainlint: ignore[RTL101]\n") == []
