"""Edits change what they name and nothing else, wherever they stand, and places move with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retainlint.diagnostic import Edit
from retainlint.fixes.edits import apart, edited, moved
from retainlint.text.source import Source

TEXT = st.text(alphabet="ab \té\r\n\x0c", max_size=40)


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    """A text, and edits of it that don't touch each other."""
    text = draw(TEXT)
    places = sorted(draw(st.lists(st.integers(0, len(text)), unique=True, max_size=8)))
    pairs = zip(places[::2], places[1::2], strict=False)
    return text, [Edit(start, end, draw(TEXT)) for start, end in pairs]


@given(changes())
def test_what_is_not_named_stays(change: tuple[str, list[Edit]]) -> None:
    text, edits = change
    after = edited(Source("a.py", text), edits[::-1]).text
    assert len(after) == len(text) + sum(len(edit.text) - (edit.end - edit.start) for edit in edits)
    at = 0
    for edit in [*edits, Edit(len(text), len(text), "")]:
        kept = text[at : edit.start]
        assert after.startswith(kept)
        assert after[len(kept) :].startswith(edit.text)
        after, at = after[len(kept) + len(edit.text) :], edit.end
    assert after == ""


@given(changes())
def test_a_character_that_stays_is_found_where_it_went(change: tuple[str, list[Edit]]) -> None:
    text, edits = change
    after = edited(Source("a.py", text), edits).text
    for offset, character in enumerate(text):
        if not any(edit.start <= offset < edit.end for edit in edits):
            assert after[moved(edits, offset)] == character


def test_cells_move_and_no_edit_reaches_over_their_ends() -> None:
    source = Source.of_cells("a.ipynb", ["x = 1", "y = 2", "z = 3"])
    after = edited(source, [Edit(0, 1, "long"), Edit(6, 6, "first = 0\n")])
    assert [after.text[start : start + 5] for start in after.cells] == ["long ", "first", "z = 3"]
    with pytest.raises(ValueError, match="cell"):
        edited(source, [Edit(4, 8, "")])
    with pytest.raises(ValueError, match="cell"):
        edited(source, [Edit(4, 6, "")])


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        edited(Source("a.py", "abcdef"), [Edit(0, 3, ""), Edit(2, 4, "")])
    assert not apart([Edit(0, 3, ""), Edit(2, 4, "")])
    assert not apart([Edit(1, 1, "a"), Edit(1, 1, "b")])
    assert apart([Edit(1, 1, "a"), Edit(1, 2, "b")])
