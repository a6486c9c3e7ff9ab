"""Which comments suppress what."""

from __future__ import annotations

import sys

import pytest
from fake_pipeline import span

from retainlint.suppressions import read
from retainlint.text.source import Source


def covers(text: str, what: str = "walk()", code: str = "RTL101", name: str = "backward-in-loop") -> bool:
    source = Source("m.py", text)
    return read(source).split([(code, name, span(source, what))])[0] == [True]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa", "#noqa", "# NOQA", "# type: ignore # noqa", "# noqa # why", "# noqa because",
        "# noqa: RTL101", "# noqa:RTL101", "# noqa : rtl101", "# noqa: E501, RTL101", "# noqa: E501 RTL101 (why)",
        "# noqa: backward-in-loop", "# noqa: RTL101; # noqa: E501",
        "# retainlint: ignore", "#retainlint:ignore", "# retainlint: ignore[RTL101]",
        "# retainlint: ignore[ rtl101 , other ]", "# retainlint: ignore[backward-in-loop]",
        "# noqa: E501 # retainlint: ignore[RTL101]", "# retainlint: ignore: RTL101", "# retainlint: ignore[RTL101] # why",
    ],
)  # fmt: skip
def test_it_suppresses(comment: str) -> None:
    assert covers(f"walk()  {comment}\n")
    assert covers(f"walk()  {comment}"), "at the end of a file without a line end"


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: RTL102", "# noqa: RTL1", "# noqa: RTL1011", "# noqa:", "# noqa: some words", "# noqax", "# noqa3",
        "# retainlint: ignore[RTL102]", "# retainlint: ignore[]", "# retainlint: ignored", "# retainlint: off",
        "# retainlint", "# retainlint: ignore: RTL102", "# retainlint: noqa", "# retainlint: ignore-file", "# retainlint: ignore-filed",
    ],
)  # fmt: skip
def test_it_does_not(comment: str) -> None:
    assert not covers(f"walk()  {comment}\n")


def test_what_stands_in_a_string_is_no_comment() -> None:
    assert not covers("walk('# noqa')\n", "walk(")
    assert not covers('x = """\n# noqa""" + walk()\n')


def test_another_row_does_not_count_but_either_end_of_a_call_does() -> None:
    assert not covers("# noqa\nwalk()\n# noqa\n")
    assert covers("walk(  # noqa\n    x,\n)\n", "walk(  # noqa\n    x,\n)")
    assert covers("walk(\n    x,\n)  # noqa\n", "walk(\n    x,\n)")


@pytest.mark.parametrize("rest", ["'''", "x = (", "  odd\n dedent", "$ ?", "\\", "f'{'"])
def test_broken_tokens_are_read_up_to_the_break(rest: str) -> None:
    assert covers(f"walk()  # noqa\n{rest}")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_are_those_of_the_source(end: str) -> None:
    text = end.join(["x = '\x0c'", "\x0cwalk()  # noqa", "walk(2)", ""])
    assert covers(text)
    assert not covers(text, "walk(2)")


def test_the_comment_itself_has_a_place() -> None:
    source = Source("m.py", "x\nwalk()  # why # noqa: RTL101\n")
    (found,) = read(source)
    assert (found.span.row, found.span.column) == (2, 15)
    assert found.span.text.startswith("# noqa: RTL101")


@pytest.mark.parametrize(
    "comment",
    ["# retainlint: ignore-file", "# retainlint: noqa", "# retainlint: noqa: RTL101", "#retainlint:ignore-file[RTL102, RTL101]",
     "# Retainlint: Ignore-File[backward-in-loop] # why"],
)  # fmt: skip
def test_a_comment_on_a_row_of_its_own_suppresses_in_the_whole_file(comment: str) -> None:
    assert covers(f"x = 1\nwalk()\n    {comment}\n")
    assert not covers(f"x = 1  {comment}\nwalk()\n")
    assert not covers(f"walk()\n'{comment}'\n")


@pytest.mark.parametrize(
    "comment", ["# retainlint: noqa: RTL102", "# retainlint: ignore-file[RTL102]", "# flake8: noqa"]
)
def test_a_comment_for_the_file_suppresses_no_other_rule(comment: str) -> None:
    assert not covers(f"{comment}\nwalk()\n")


@pytest.mark.parametrize(
    "text",
    [
        "x = f(\n    walk(),\n)  # noqa\n",
        "x = f(\n    walk(),\n    1)  # noqa\n",
        "x = walk() + \\\n    1  # noqa\n",
        "x = walk(), '''\n'''  # noqa\n",
        "x = f'{\n    walk()}'  # noqa\n",
        "if (walk()\n):  # noqa\n    pass\n",
    ],
)
def test_a_comment_at_the_end_of_the_statement_counts(text: str) -> None:
    if "f'{" in text and sys.version_info < (3, 12):
        pytest.skip("no Python yet")
    assert covers(text)


@pytest.mark.parametrize(
    "text", ["f(  # noqa\n    walk(),\n)\n", "if walk():\n    x = 1  # noqa\n", "walk()\ny  # noqa\n"]
)
def test_one_elsewhere_in_it_does_not(text: str) -> None:
    assert not covers(text)
