"""Cells of IPython as Python: nothing moves, and what isn't IPython's stays."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retainlint.text.notebook import as_python, blank, imported, parses, unread


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("!ls\n", "0  \n"),
        ("%time loss.backward()", "0;    loss.backward()"),
        ("%timeit -n 10 -r3 -q f(x)", "0;                   f(x)"),
        ("%time for i in x: f(i)", "0                     "),
        ("%time", "0    "),
        ("%%time\nf()", "      \nf()"),
        ("%%capture out --no-stderr\nf()", " " * 25 + "\nf()"),
        ("x = !ls 'it\n", "x = _      \n"),
        ("a, b.c = %magic 1", "a, b.c = _       "),
        ("!a \\\n  b 'c\nx = 1", "0   \n      \nx = 1"),
        ("torch.nn?", "0        "),
        ("?torch\nf()", "0     \nf()"),
        ("if a:\n    !ls\nelse:\n    %cd x\n", "if a:\n    0  \nelse:\n    0    \n"),
        ("pip install torch\n", "0                \n"),
        ("!x\r\ny = 1\r\n", "0 \r\ny = 1\r\n"),
        ("!echo '''\nx = 1\n", "0        \nx = 1\n"),
    ],
)
def test_rows_of_ipython_become_python_of_the_same_length(cell: str, python: str) -> None:
    assert as_python(cell) == python
    assert parses(python)


@pytest.mark.parametrize(
    "inside",
    [
        's = """\n!ls\n%no\n"""\n',
        "z = (a\n  % b)\n",
        "# a?\n",
        "x = 'it?'\n",
        "y = a \\\n  % b\n",
        "await f()\n",
        "x = [\n1,\n]  # '''\n",
    ],
)
def test_what_only_looks_like_it_stays(inside: str) -> None:
    assert as_python(inside + "!ls\n" + inside) == inside + "0  \n" + inside


@pytest.mark.parametrize("name", ["bash", "html", "writefile x.py", "script perl", "cython", "javascript"])
def test_a_cell_of_another_language_is_none(name: str) -> None:
    assert as_python(f"%%{name}\nx.backward()\n") is None


def test_what_isnt_python_at_all_is_left_so() -> None:
    assert as_python("def f(:\n  pass") == "def f(:\n  pass"
    assert not parses("def f(:")
    parses("-" * 100_000 + "1")  # it must not crash
    assert blank("a\tb\r\nc\n") == "   \r\n \n"


PIECES = st.sampled_from(
    ["!ls 'x", "%time f(x)", "%matplotlib inline", "x = 1", "x = !ls", "f(\n  a,\n  b)", "s = '''\n!q\n'''", "for i in x:\n    f(i)",
     "if a:\n    !ls\n    g()", "torch?", "# comment's", "é = 'ü'", "", "%%time", "!a \\\n b"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_every_character_keeps_its_place(pieces: list[str], end: str) -> None:
    cell = "\n".join(pieces).replace("\n", end)
    made = as_python(cell)
    assert made is not None
    assert len(made) == len(cell)
    assert [m.span() for m in re.finditer(r"\r\n|\r|\n", made)] == [m.span() for m in re.finditer(r"\r\n|\r|\n", cell)]
    assert all(new in (old, " ", "0", ";", "_") for new, old in zip(made, cell, strict=True))


@given(st.text(alphabet="!%?ab ='\"\\\n()#0:\r\t", max_size=60))
def test_any_text_keeps_its_length_and_python_stays(cell: str) -> None:
    made = as_python(cell)
    assert made is None or len(made) == len(cell)
    try:
        ast.parse(cell)
    except (SyntaxError, ValueError):
        return
    assert made == cell


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("loss = net(x).\n", "loss=net=x=_  \n"),
        ("%%cython\ncdef loss = 3\n", "cython=_\ncdef=loss=_  \n"),
        ("%%bash\necho loss\n", "      \n         \n"),
        ("a b\nreturn 3 +\n", "a=_\nb=_       \n"),
        ("torch.ones(y,\r\n", "y=_          \r\n"),
        ("n = len(x) +\n", "n=x=_       \n"),
        ("sum = len(x) +\n", "sum=x=_       \n"),
    ],
)
def test_a_cell_that_nobody_can_read_may_have_bound_its_names(cell: str, python: str) -> None:
    assert unread(cell, imported("import torch\n")) == python
    assert parses(python)


@given(st.text())
def test_nothing_moves_in_a_cell_that_nobody_can_read(cell: str) -> None:
    assert blank(unread(cell)) == blank(cell)
