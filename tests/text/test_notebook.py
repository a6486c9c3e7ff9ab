"""Notebooks: their cells as one program, IPython's rows made Python's, and their bytes after an edit."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retainlint.checking import linter
from retainlint.config import Settings
from retainlint.text import notebook
from retainlint.text.notebook import as_python, blank, encoded, imported, parses, read, rewrite, unread
from retainlint.text.source import Source, UnreadableSource

LOOP = ["h = torch.zeros(3)\n", "for i in range(3):\n", "    h = torch.tanh(w * h)\n", "    %time h.sum().backward()"]


def code(*rows: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": list(rows), **more}


def prose(*rows: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": list(rows)}


def made(*cells: Any, **more: Any) -> bytes:
    found = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}
    return (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode()


def test_cells_are_one_program_counted_as_they_stand() -> None:
    data = made(
        prose("# loss.backward()"), code("import torch\n", "w = torch.ones(3, requires_grad=True)"), code(*LOOP)
    )
    (found,) = linter.check_source("a.ipynb", data, Settings()).diagnostics
    span = found.primary.span
    assert (found.code, span.source.place_in_cell(span.start)) == ("RTL104", (3, 4, 11))
    assert "(cell 3, line 3)" in "".join(found.notes)
    assert span.source.shown_row(span.row) == "    %time h.sum().backward()"


@pytest.mark.parametrize(
    "cell",
    [
        {"cell_type": "raw", "metadata": {}, "source": LOOP},
        code(*LOOP, metadata={"vscode": {"languageId": "julia"}}),
        code("%%bash\n", *LOOP),
    ],
)
def test_other_cells_are_no_program(cell: dict[str, Any]) -> None:
    assert linter.check_source("a.ipynb", made(cell), Settings()) == linter.FileResult("a.ipynb")


@pytest.mark.parametrize("metadata", [{"language_info": {"name": "R"}}, {"kernelspec": {"language": "julia"}}])
def test_other_kernels_are_not_checked(metadata: dict[str, Any]) -> None:
    assert not read("a.ipynb", made(code(*LOOP), metadata=metadata)).cells[0].is_python


def test_the_third_format_has_worksheets() -> None:
    cell = {"cell_type": "code", "language": "python", "input": LOOP, "outputs": [], "prompt_number": 7}
    data = json.dumps({"worksheets": [{"cells": [cell]}, {"cells": [cell]}], "nbformat": 3}).encode()
    book = read("a.ipynb", data)
    assert [(each.text, each.number) for each in book.cells] == [("".join(LOOP), 7)] * 2
    assert json.loads(rewrite(data, ["a\nb", "c"]))["worksheets"][1]["cells"][0]["input"] == ["c"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Expecting value"),
        (b"[1]", "no JSON object"),
        (b'{"cells": 1}', "it has no list of cells"),
        (b"{}", "it has no list of cells"),
        (b'{"cells": [1]}', "cell 1 is no JSON object"),
        (b'{"cells": [{"cell_type": "code", "source": 1}]}', "the source of cell 1 is no text"),
        (b'{"cells": [{"cell_type": "code", "source": ["a", 1]}]}', "the source of cell 1 is no text"),
        (b'{"worksheets": [3]}', "it has no list of cells"),
        (b"\xff\xfe", "not valid utf-8"),
        (b'{"cells": ' + b"[" * 200_000, "nested too deeply"),
        (b'{"cells": [' + b"9" * 10_000 + b"]}", "not a notebook"),
    ],
)
def test_what_is_no_notebook_is_one_finding(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableSource, match=reason):
        read("a.ipynb", data)
    result = linter.check_source("a.ipynb", data + b" backward", Settings())
    assert [d.code for d in result.diagnostics] == ["RTL900"]
    assert not result.crash


def test_one_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "LARGEST", 1_000_000)
    with pytest.raises(UnreadableSource, match="too large"):
        read("a.ipynb", b" " * 1_000_001)


def test_a_cell_with_an_error_doesnt_hide_the_others() -> None:
    data = made(code("import torch\n", "w = torch.ones(3, requires_grad=True)"), code("x = (\n", "y = )("), code(*LOOP))
    found = linter.check_source("a.ipynb", data, Settings()).diagnostics
    assert [(d.code, d.primary.span.source.place_in_cell(d.primary.span.start)[0]) for d in found] == [
        ("RTL900", 2),
        ("RTL104", 3),
    ]


@pytest.mark.parametrize(
    ("cell", "codes"),
    [
        ("loss = net(x).", ["RTL900"]),
        ("%%cython\ncdef loss = 3", []),
        ("%%bash\necho loss", ["RTL102"]),
        ("y = net(x).", ["RTL900", "RTL102"]),
    ],
)
def test_a_cell_that_nobody_can_read_may_have_bound_what_it_names(cell: str, codes: list[str]) -> None:
    first = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()"
    data = made(code(first), code(cell), code("loss.backward()"))
    assert [d.code for d in linter.check_source("a.ipynb", data, Settings()).diagnostics] == codes


def test_a_cell_that_ipython_would_dedent_is_a_gap() -> None:
    result = linter.check_source("a.ipynb", made(code("    x = 1\n", "    y = 2"), code("loss.backward()")), Settings())
    assert result.diagnostics == ()
    assert "all indented" in result.gaps[-1].reason


def test_an_escaped_walk_is_found() -> None:
    data = made(code("import torch\n", "w = torch.ones(3, requires_grad=True)\n", *LOOP)).replace(
        b"backward", b"\\u0062ackward"
    )
    assert [d.code for d in linter.check_source("a.ipynb", data, Settings()).diagnostics] == ["RTL104"]


# -- writing -------------------------------------------------------------------------------------------------------


def test_only_changed_rows_are_written() -> None:
    before = (
        b'\xef\xbb\xbf{ "metadata":{"x":1e400,"\\u0041":[]} ,\r\n"cells":[\t{"id":"q","source" : ["a\\u00e9\\n",  "b\\/\\n"\n, "c"],'
        b'"cell_type":"code","outputs":[{"source":["a"]}]},{"source":"","cell_type":"markdown"},{"cell_type":"code",'
        b'"source":"one\\ntwo"}]}'
    )
    after = rewrite(before, ["aé\nnew\nb/\nc", "", "one"])
    assert after == before.replace(b'"b\\/\\n"', b'"new\\n",  "b\\/\\n"').replace(b'"one\\ntwo"', b'"one"')


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    before = b'{"cells": [], "cells": [{"cell_type": "code", "source": "a", "source": ["b"]}]}'
    assert read("a.ipynb", before).cells[0].text == "b"
    assert rewrite(before, ["x"]) == before.replace(b'"b"', b'"x"')


def test_another_number_of_cells_is_refused() -> None:
    with pytest.raises(ValueError, match="2 texts for 1 cells"):
        rewrite(made(code("a")), ["a", "b"])


TEXT = st.text(st.sampled_from('ab\n\r\\"/é\u2028\U0001f600\ud800\t#'), max_size=20)


@given(
    st.lists(st.tuples(TEXT, TEXT, st.booleans(), st.booleans()), max_size=5),
    st.booleans(),
    st.sampled_from([None, 1, "\t"]),
)
def test_a_rewritten_notebook_says_the_new_and_nothing_else(
    cells: list[tuple[str, str, bool, bool]], in_ascii: bool, indent: Any
) -> None:
    def rows(text: str, listed: bool) -> Any:
        return text.splitlines(keepends=True) if listed else text

    old = [
        code(source=rows(a, listed), outputs=[{"text": a}]) | {"cell_type": "code" if is_code else "raw"}
        for a, _, listed, is_code in cells
    ]
    data = json.dumps({"metadata": {"source": "é"}, "cells": old}, ensure_ascii=in_ascii, indent=indent).encode(
        "utf-8", "replace"
    )
    known = [cell.text for cell in read("a.ipynb", data).cells]
    assert rewrite(data, known) == data
    new = [b for _, b, _, _ in cells]
    after = rewrite(data, new)
    assert [cell.text for cell in read("a.ipynb", after).cells] == new
    one, two = json.loads(data), json.loads(after)
    for found in (one, two):
        for cell in found["cells"]:
            del cell["source"]
    assert one == two
    assert rewrite(after, known).count(b'"outputs"') == data.count(b'"outputs"')


@given(st.lists(TEXT, max_size=5))
def test_what_was_read_is_given_back(texts: list[str]) -> None:
    data = json.dumps({"cells": [code(source=text) for text in texts]}).encode()
    source = read("a.ipynb", data).source
    assert encoded(source, data) == data


def test_a_cell_keeps_its_missing_last_line_end() -> None:
    data = made(code("a = 1\n", "b = 2"), code("c = 3"))
    source = read("a.ipynb", data).source
    text = source.text.replace("b = 2\n", "").replace("c = 3", "d\nc = 3")
    edited = Source(source.name, text, (0, 6))
    assert encoded(edited, data) == made(code("a = 1"), code("d\n", "c = 3"))


def test_a_fix_touches_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retainlint import cli

    monkeypatch.chdir(tmp_path)
    outputs = [{"output_type": "stream", "name": "stdout", "text": ["é\n"]}]
    before = made(
        code("!pip install x\n", "import torch\n", "w = torch.ones(3, requires_grad=True)"),
        prose("#"),
        code(*LOOP, outputs=outputs),
    )
    Path("a.ipynb").write_bytes(before)
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", "--fix", "--unsafe-fixes", "a.ipynb"])
    assert ended.value.code == 0
    fixed = [*LOOP[:2], "    h = h.detach()\n", *LOOP[2:]]
    assert Path("a.ipynb").read_bytes() == made(
        code("!pip install x\n", "import torch\n", "w = torch.ones(3, requires_grad=True)"),
        prose("#"),
        code(*fixed, outputs=outputs),
    )


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
