"""Texts and places: rows as Python counts them, and the cells of a notebook."""

from __future__ import annotations

import pytest

from retainlint.lowering import lower
from retainlint.symbolic import explore
from retainlint.text.source import Source, UnreadableSource

CELLS = [
    "import torch\nw = torch.ones(3, requires_grad=True)",
    "loss = (w * w).sum()\n",
    "loss.backward()",
    "# again\nloss.backward()",
]


def test_rows_end_where_python_ends_them() -> None:
    source = Source("a.py", "a\r\nb\rc\n\x0cd")
    assert [source.row_text(row) for row in range(1, 5)] == ["a", "b", "c", "\x0cd"]
    assert source.place(source.text.index("d")) == (4, 2)


def test_a_place_is_told_within_its_cell() -> None:
    source = Source.of_cells("notes.ipynb", CELLS)
    assert source.place_in_cell(source.text.index("w = ")) == (1, 2, 1)
    assert source.place_in_cell(source.text.index("loss = ")) == (2, 1, 1)
    assert source.place_in_cell(len(source.text) - 2) == (4, 2, 15)


def test_cells_are_one_program() -> None:
    (incident,) = explore(lower(Source.of_cells("notes.ipynb", CELLS))).incidents
    source = incident.primary.source
    assert source.place_in_cell(incident.primary.start) == (4, 2, 1)
    assert incident.primary.text == "loss.backward()"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a\0b", "null bytes"),
        (b"# coding: nonsense\n", "nonsense"),
        (b"x = '\xe9'\n", "utf-8: byte 0xe9 in line 1"),
        (b"\n\nx = '\xe9 # '\n", "utf-8: byte 0xe9 in line 3: invalid"),
    ],
)
def test_what_is_no_text_is_said(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableSource, match="(?i)" + reason) as caught:
        Source.decode("a.py", data)
    assert caught.value.reason


@pytest.mark.parametrize("head", [b"", b"# \xe9\n", b"# coding: utf-8\n", b"\xef\xbb\xbf", b"# \xef\xbf\xbd\n"])
def test_comments_may_hold_any_bytes_as_they_may_for_python(head: bytes) -> None:
    data = head + b"\n\n\nx = 1  # caf\xe9 \xe9\xe9\n"
    compile(data, "a.py", "exec")
    source = Source.decode("a.py", data)
    assert source.text.endswith("x = 1  # caf\ufffd \ufffd\ufffd\n")
    assert source.encoded(data) == data


def test_a_mark_at_the_beginning_is_no_character() -> None:
    assert Source.decode("a.py", b"\xef\xbb\xbfx = 1\n").text == "x = 1\n"
