"""The drawing, picture by picture, and what holds for every picture."""

from __future__ import annotations

import re
import unicodedata

import pytest
from fake_pipeline import finding, label
from hypothesis import given
from hypothesis import strategies as st

from retainlint.diagnostic import Diagnostic, Help, Label, Severity
from retainlint.report.full import render
from retainlint.report.run import Run
from retainlint.report.terminal import Canvas, Style, columns
from retainlint.text.source import Source, Span


def picture(*diagnostics: Diagnostic, width: int = 140, colour: bool = False) -> str:
    return "".join(render(diagnostics, Style(colour, width), Run()))


def drawing(diagnostic: Diagnostic, width: int = 140) -> str:
    """The picture without its header and the blank line behind it."""
    return picture(diagnostic, width=width).partition("\n")[2].rstrip("\n")


TRAIN = Source(
    "train.py",
    """\
import torch

measure = torch.nn.MSELoss()

x = torch.tensor([1.0, 0.0])
t = torch.eye(2, requires_grad=True)
a = torch.ones(2, requires_grad=True)

y = t @ a

for _ in range(2):
    x_out = t @ (x + y)
    loss = measure(x_out, x)
    loss.backward()
""",
)


def test_a_finding_looks_as_designed() -> None:
    told = finding(
        label(TRAIN, "t @ a", "built once, here: this product saves `t` and `a`"),
        label(TRAIN, "for _ in range(2):"),
        Label(Span(TRAIN, TRAIN.offset(12, 22), TRAIN.offset(12, 23)), "reached again through `y`"),
        label(TRAIN, "loss.backward()", "turn 1 frees it; turn 2 needs it again", primary=True),
        notes=("core: turn 2 raised “a second time” at MvBackward (line 9)",),
        help="compute `y` inside the loop",
    )
    assert (
        picture(told)
        == """\
train.py:14:5: error[RTL101] backward-in-loop: it is walked twice
   |
 9 | y = t @ a
   |     ----- built once, here: this product saves `t` and `a`
...
11 | for _ in range(2):
12 |     x_out = t @ (x + y)
   |                      - reached again through `y`
13 |     loss = measure(x_out, x)
14 |     loss.backward()
   |     ^^^^^^^^^^^^^^^ turn 1 frees it; turn 2 needs it again
   |
   = core: turn 2 raised “a second time” at MvBackward (line 9)
   = help: compute `y` inside the loop

"""
    )


def test_several_texts_in_one_row_hang_below_each_other() -> None:
    source = Source("m.py", "a = b * c; loss.backward()\n")
    told = finding(
        label(source, "b * c", "built"), label(source, "c", "saved"), label(source, "loss", "root"),
        label(source, "loss.backward()", "walked", primary=True),
    )  # fmt: skip
    assert (
        drawing(told)
        == """\
  |
1 | a = b * c; loss.backward()
  |     -----  ----^^^^^^^^^^^ walked
  |     |   |  |
  |     |   |  root
  |     |   saved
  |     built"""
    )


def test_one_place_may_have_two_texts() -> None:
    source = Source("m.py", "loss.backward()\n")
    told = finding(
        label(source, "loss.backward()", "frees it"), label(source, "loss.backward()", "needs it", primary=True)
    )
    assert (
        drawing(told)
        == """\
  |
1 | loss.backward()
  | ^^^^^^^^^^^^^^^ needs it
  | |
  | frees it"""
    )


def test_a_mark_over_several_rows_has_a_bar_beside_them() -> None:
    source = Source("m.py", "out = model(\n    x,\n)\ntorch.autograd.backward(\n    out,\n)\nz\n")
    told = finding(
        label(source, "model(\n    x,\n)", "built"),
        label(source, "torch.autograd.backward(\n    out,\n)\n", "walked", primary=True),
    )
    assert (
        drawing(told)
        == """\
  |
1 |   out = model(
  |  _______-
2 | |     x,
3 | | )
  | |_- built
4 | / torch.autograd.backward(
5 | |     out,
6 | | )
  | |_^ walked"""
    )


def test_long_marks_side_by_side_and_inside_each_other() -> None:
    rows = ["f(", *(f"  a{row}," for row in range(8)), "g(", "  h,", "), loss.backward())"]
    source = Source("m.py", "\n".join(rows))
    told = finding(
        Label(Span(source, 0, len(source.text)), "outer"),
        label(source, "g(\n  h,\n)", "inner", primary=True),
        label(source, "loss.backward()", "walk"),
    )
    assert (
        drawing(told)
        == """\
   |
 1 | /  f(
 2 | |    a0,
...  |
10 | |/ g(
11 | ||   h,
12 | || ), loss.backward())
   | ||    --------------- walk
   | ||_^ inner
   | |____________________- outer"""
    )


def test_other_files_come_behind_the_finding_s_own() -> None:
    other = Source("lib/nets.py", "class G:\n    def f(self):\n        return self.a * 2\n")
    told = finding(
        label(other, "self.a * 2", "built"), label(TRAIN, "loss.backward()", "walked", primary=True), help="detach it"
    )
    assert (
        drawing(told)
        == """\
  --> train.py:14:5
   |
14 |     loss.backward()
   |     ^^^^^^^^^^^^^^^ walked
   |
  ::: lib/nets.py:3:16
   |
 3 |         return self.a * 2
   |                ---------- built
   |
   = help: detach it"""
    )


def test_a_notebook_s_cells_are_told_apart_and_their_rows_counted_from_one() -> None:
    book = Source.of_cells("nb.ipynb", ["import torch\n", "\ny = t @ a\n", "# walk\n\nfor i in r:\n    y.backward()"])
    told = finding(label(book, "t @ a", "built"), label(book, "for i in r:"), label(book, "y.backward()", primary=True))
    assert (
        picture(told)
        == """\
nb.ipynb:cell 3:4:5: error[RTL101] backward-in-loop: it is walked twice
 --> nb.ipynb:cell 3:4:5
  |
3 | for i in r:
4 |     y.backward()
  |     ^^^^^^^^^^^^
  |
 ::: nb.ipynb:cell 2:2:5
  |
2 | y = t @ a
  |     ----- built

"""
    )


def test_gaps_are_told_single_rows_are_filled_blank_ones_are_not() -> None:
    source = Source("m.py", "a\nb\nc\n\ne\nf\ng\nh\n")
    told = finding(*(label(source, letter, letter * 2, primary=letter == "h") for letter in "aceh"))
    rows = re.findall(r"^(\d|\.\.\.)", drawing(told), re.MULTILINE)
    assert rows == ["1", "2", "3", "...", "5", "...", "8"]


def test_tabs_wide_and_combining_characters_are_aligned() -> None:
    source = Source("m.py", "\tx = '日本'; e\u0301 = a\t* b; loss.backward()\n")
    told = finding(label(source, "a\t* b", "built"), label(source, "loss.backward()", "walked", primary=True))
    assert (
        drawing(told)
        == """\
  |
1 |     x = '日本'; e\u0301 = a    * b; loss.backward()
  |                     --------  ^^^^^^^^^^^^^^^ walked
  |                     |
  |                     built"""
    )


def test_what_a_terminal_would_act_on_is_escaped() -> None:
    source = Source("ev\x1b[2Jil\n::error::.py", "x = '\x1b[31m\u202e\x07\x0c\x85\u2028\U000e0001'; walk()\n")
    told = Diagnostic(
        "RTL101", "n", Severity.ERROR, "bad \x1b]0;title\x07", (label(source, "walk()", "text \x9b", primary=True),),
        notes=("core: \x1b",), helps=(Help("\u200b"),),
    )  # fmt: skip
    text = picture(told)
    assert all(character == "\n" or unicodedata.category(character)[0] not in "C" for character in text)
    assert text.startswith("ev\\x1b[2Jil\\x0a::error::.py:1:")
    assert r"x = '\x1b[31m\u202e\x07\x0c\x85\u2028\U000e0001'; walk()" in text
    row, marks = text.splitlines()[2:4]
    assert row.index("walk") == marks.index("^")


def test_a_long_row_is_squeezed_around_its_marks() -> None:
    row = "q = " + " + ".join(f"v{i:02}" for i in range(50)) + "; loss.backward()" + "  # tail" * 9
    source = Source("m.py", row + "\n")
    told = finding(label(source, "v20", "built"), label(source, "loss.backward()", "walked", primary=True))
    assert drawing(told, 70).count("...") == 3
    for line in drawing(told, 70).splitlines():
        assert len(line) <= 70
    shown, marks = drawing(told, 70).splitlines()[1:3]
    assert shown[marks.index("-") :].startswith("v20 ")
    assert shown[marks.index("^") :].startswith("loss.backward()")


def test_a_text_behind_a_far_mark_pulls_the_row_to_the_left() -> None:
    source = Source("m.py", " " * 4 + "first = second + third + fourth; loss.backward()\n")
    told = finding(label(source, "loss.backward()", "turn 1 frees it; turn 2 needs it", primary=True))
    assert max(map(len, drawing(told, 64).splitlines())) <= 64
    assert "...fourth; loss.backward()" in drawing(told, 64)
    assert "..." not in drawing(told, 100)


def test_a_long_text_is_wrapped_behind_its_mark_or_below_it() -> None:
    source = Source("m.py", "    x = a * b; loss.backward()\n")
    built = label(source, "a * b", "built before this loop: this product saves `a` and `b`")
    told = finding(built, label(source, "loss.backward()", "turn 1 frees it; turn 2 needs it again", primary=True))
    assert (
        drawing(told, 68)
        == """\
  |
1 |     x = a * b; loss.backward()
  |         -----  ^^^^^^^^^^^^^^^ turn 1 frees it; turn 2 needs it
  |         |                      again
  |         |
  |         built before this loop: this product saves `a` and `b`"""
    )
    assert (
        drawing(told, 52)
        == """\
  |
1 |     x = a * b; loss.backward()
  |         -----  ^^^^^^^^^^^^^^^
  |         |      |
  |         |      turn 1 frees it; turn 2 needs it
  |         |      again
  |         built before this loop: this product
  |         saves `a` and `b`"""
    )


def test_notes_are_wrapped_below_their_text() -> None:
    told = finding(
        label(TRAIN, "loss.backward()", "w", primary=True), help="one two three four five six seven", notes=("x y",)
    )
    assert drawing(told, 40).splitlines()[-3:] == [
        "   = note: x y",
        "   = help: one two three four five six",
        "           seven",
    ]


def test_a_file_that_could_not_be_read_has_no_drawing() -> None:
    told = finding(Label(Span(Source("m.py", ""), 0, 0), "", primary=True), help="h")
    assert picture(told) == "m.py:1:1: error[RTL101] backward-in-loop: it is walked twice\n  = help: h\n\n"


@pytest.mark.parametrize("text", ["x = 1", "x = 1\n", "x = 1\r\n", "x = 1\r"])
def test_the_end_of_a_text_can_be_marked(text: str) -> None:
    source = Source("m.py", text)
    for at in (5, len(text)):
        assert "^ here" in drawing(finding(Label(Span(source, at, at), "here", primary=True)))


def test_colours_come_only_when_asked_and_change_nothing_else() -> None:
    told = finding(label(TRAIN, "t @ a", "built"), label(TRAIN, "loss.backward()", "walked", primary=True), help="h")
    plain, coloured = picture(told), picture(told, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[1;31m^^^^^^^^^^^^^^^\x1b[0m \x1b[1;31mwalked\x1b[0m" in coloured
    assert "\x1b[1;34m-----\x1b[0m \x1b[1;34mbuilt\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    warning = picture(
        finding(label(TRAIN, "loss.backward()", "w", primary=True), severity=Severity.WARNING), colour=True
    )
    assert "\x1b[1;33mwarning[RTL101]" in warning


TEXTS = st.text(st.sampled_from("ab+ \n\t\r\x1b日e\u0301\u202e(;"), min_size=1, max_size=120)


@given(TEXTS, st.lists(st.tuples(st.integers(0, 120), st.integers(0, 120)), min_size=1, max_size=5), st.integers(1, 90))
def test_any_text_can_be_drawn(text: str, places: list[tuple[int, int]], width: int) -> None:
    source = Source("m.py", text)
    spans = [Span(source, min(a, b, len(text)), min(max(a, b), len(text))) for a, b in places]
    told = finding(*(Label(span, f"text{n}", primary=n == 0) for n, span in enumerate(spans)))
    lines = drawing(told, width).splitlines()
    assert all(f"text{n}" in "\n".join(lines) for n in range(len(spans)))
    assert not any(character in "".join(lines) for character in "\t\x1b\u202e\r")
    assert all(line == line.rstrip() for line in lines)


@given(
    TEXTS.map(lambda text: text.replace("\n", "").replace("\r", "") or "x"), st.integers(0, 119), st.integers(20, 60)
)
def test_the_mark_stands_under_what_it_marks(text: str, at: int, width: int) -> None:
    source = Source("m.py", text + "@" + text)
    at = len(text)
    told = finding(Label(Span(source, at, at + 1), "", primary=True))
    row, marks = drawing(told, width).splitlines()[1:3]
    column = 0
    for character in row[: row.index("@")]:
        column += 0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) == "W" else 1
    assert column == marks.index("^")


@given(TEXTS, st.integers(0, 200), st.integers(0, 200))
def test_a_part_of_a_row_is_drawn_as_in_the_whole(text: str, left: int, right: int) -> None:
    width = columns(text)[-1]
    left, right = sorted((min(left, width), min(right, width)))
    whole, part = Canvas(), Canvas()
    whole.put(0, text)
    whole.cut(left, right)
    part.put_part(text, left, right)
    assert part.text(Style()) == whole.text(Style())
