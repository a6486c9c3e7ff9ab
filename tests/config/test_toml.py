"""Reading TOML: where a key stands, and what is told of a text that is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retainlint.config import ConfigError
from retainlint.config.places import places, row_of
from retainlint.config.reading import decode, parse

TEXT = '''\
# a = 1
[project] # x
name = "a = \\" # b"
many = [
  "a", # comment, with "quotes"
  [1,
   2], { k = "v", l = { m = 3 } }
]
[tool."ret.ain".lint]
text = """
b = 2
\\"""" # one quote more
'lit' = \'\'\'
c = 3\'\'\'\'
a.b = 1.5e3
a.c = 2020-01-01T00:00:00Z

[[tool.list]]
x = 1
[[tool.list]]
x = [[]]
'''


def test_each_key_and_element_has_its_row() -> None:
    parse(TEXT, "t")
    found = places(TEXT)
    expected = {
        ("project",): 2, ("project", "name"): 3, ("project", "many"): 4, ("project", "many", 0): 5,
        ("project", "many", 1): 6, ("project", "many", 1, 0): 6, ("project", "many", 1, 1): 7,
        ("project", "many", 2): 7, ("project", "many", 2, "k"): 7, ("project", "many", 2, "l"): 7, ("project", "many", 2, "l", "m"): 7,
        ("tool",): 9, ("tool", "ret.ain"): 9, ("tool", "ret.ain", "lint"): 9,
        ("tool", "ret.ain", "lint", "text"): 10, ("tool", "ret.ain", "lint", "lit"): 13,
        ("tool", "ret.ain", "lint", "a"): 15, ("tool", "ret.ain", "lint", "a", "b"): 15,
        ("tool", "ret.ain", "lint", "a", "c"): 16, ("tool", "list"): 18, ("tool", "list", 0): 18,
        ("tool", "list", 0, "x"): 19, ("tool", "list", 1): 20, ("tool", "list", 1, "x"): 21,
        ("tool", "list", 1, "x", 0): 21,
    }  # fmt: skip
    assert found == expected
    assert row_of(found, ("project", "many", 2, "k", "deeper")) == 7
    assert row_of(found, ("nowhere",)) == 1


@given(st.text(alphabet="ab=.[]{}\"'#\\\n ,1", max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    try:
        parse(text, "t")
    except ConfigError:
        return
    places(text)


def test_as_deep_as_the_reader_goes_is_no_matter() -> None:
    text = f"a = {'[' * 300}{']' * 300}"
    parse(text, "t")
    assert len(places(text)) == 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb =\n", "t:2:4: this is no TOML: invalid value"),
        ("a = 1\na = 2\n", "t:2:6: this is no TOML: cannot overwrite a value"),
        ("a = [1,\n", "t:1: this is no TOML: "),
        (f"a = {'[' * 100_000}", "t: this nests too deeply"),
        (f"a = {'9' * 5000}", "t: this is no TOML that can be read: "),
    ],
)
def test_what_is_no_toml_is_one_message_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(text, "t")
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_bytes_are_utf_8_with_or_without_a_mark() -> None:
    assert decode(b"\xef\xbb\xbfa = 1", "t") == "a = 1"
    with pytest.raises(ConfigError, match=r"^t:2: this is not UTF-8, which TOML must be \(byte 0xe9\)$"):
        decode(b"a = 1\nb = '\xe9'", "t")
    with pytest.raises(ConfigError, match="too large"):
        decode(b" " * 10_000_001, "t")
