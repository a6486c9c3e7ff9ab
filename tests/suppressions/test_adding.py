"""Where `--add-noqa` puts its comments."""

from __future__ import annotations

import ast

import pytest

from retainlint.suppressions import read
from retainlint.suppressions.comments import with_noqa
from retainlint.text.source import Source, Span


def added(text: str, code: str = "RTL101") -> str:
    """The text with each `walk()` suppressed, which must hold, add up to nothing the second time, and be the same code."""
    source = Source("m.py", text)
    changed, number = with_noqa(source, [(code, span) for span in _backward_passes(source)])
    again = Source("m.py", changed)
    comments = read(again)
    assert all(comments.split([(code, "", span) for span in _backward_passes(again)])[0])
    assert number == len(_backward_passes(source))
    assert ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text))
    return changed


def _backward_passes(source: Source) -> list[Span]:
    return [Span(source, at, at + 6) for at in range(len(source.text)) if source.text.startswith("walk()", at)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("walk()\n", "walk()  # noqa: RTL101\n"),
        ("walk()", "walk()  # noqa: RTL101"),
        ("walk()  \r\nx\r\n", "walk()  # noqa: RTL101  \r\nx\r\n"),
        ("walk()\rx\r", "walk()  # noqa: RTL101\rx\r"),
        ("walk()  # why\n", "walk()  # why  # noqa: RTL101\n"),
        ("walk()  # noqa: F401\n", "walk()  # noqa: F401, RTL101\n"),
        ("walk()  # noqa: F401 (why) # x\n", "walk()  # noqa: F401, RTL101 (why) # x\n"),
        ("walk()  # noqa:\n", "walk()  # noqa:  # noqa: RTL101\n"),
        ("walk()  # retainlint: ignore[RTL102]\n", "walk()  # retainlint: ignore[RTL102]  # noqa: RTL101\n"),
        ("walk(); walk()\n", "walk(); walk()  # noqa: RTL101\n"),
        ("f(\n    walk(),\n)\n", "f(\n    walk(),  # noqa: RTL101\n)\n"),
        ("x = walk() + \\\n    1\n", "x = walk() + \\\n    1  # noqa: RTL101\n"),
        ("x = walk(), '''\n# '''\n", "x = walk(), '''\n# '''  # noqa: RTL101\n"),
        ("x = f'''{walk()}\n'''\n", "x = f'''{walk()}\n'''  # noqa: RTL101\n"),
        ("x = f'''{\nwalk()\n}'''\n", "x = f'''{\nwalk()\n}'''  # noqa: RTL101\n"),
        ("if walk():\n    x\n", "if walk():  # noqa: RTL101\n    x\n"),
        ("é = walk()\n", "é = walk()  # noqa: RTL101\n"),
    ],
)
def test_it_goes_where_a_comment_may_stand(text: str, expected: str) -> None:
    assert added(text) == expected


def test_several_codes_of_a_row_share_a_comment() -> None:
    source = Source("m.py", "walk()\n")
    (span,) = _backward_passes(source)
    text, number = with_noqa(source, [("RTL102", span), ("RTL101", span), ("RTL101", span)])
    assert (text, number) == ("walk()  # noqa: RTL101, RTL102\n", 3)
