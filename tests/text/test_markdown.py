"""Python in Markdown: which blocks are read, and that nothing moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retainlint.checking import linter
from retainlint.config import Settings
from retainlint.text.markdown import programs
from retainlint.text.source import Source

TWICE = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\nloss.backward()\n"


def found(text: str) -> list[tuple[str, int, int]]:
    result = linter.check_source("README.md", text.encode(), Settings())
    return [(d.code, d.primary.span.row, d.primary.span.column) for d in result.diagnostics]


def fenced(text: str, word: str = "python", lead: str = "") -> str:
    return "".join(f"{lead}{row}\n" for row in [f"```{word}", *text.splitlines(), "```"])


@pytest.mark.parametrize("word", ["python", "py", "Python", "python title='x'", "{.python}", "{python}"])
def test_python_is_read_where_it_stands(word: str) -> None:
    assert found("# Title\n\n" + fenced(TWICE, word)) == [("RTL102", 8, 1)]


@pytest.mark.parametrize("lead", ["   ", "> ", "\t", "    "])
def test_an_indented_block_is_read_too(lead: str) -> None:
    assert found("1. x\n" + fenced(TWICE, lead=lead)) == [("RTL102", 7, len(lead) + 1)]


def test_prompts_are_no_part_of_it() -> None:
    session = ">>> import torch\n>>> w = torch.ones(3, requires_grad=True)\n>>> for i in range(2):\n...     loss = (w * w).sum()\n3\n"
    session += ">>> loss.backward()\n>>> loss.backward()\nRuntimeError: it's\n"
    assert found(fenced(session, "pycon")) == [("RTL102", 8, 5)]
    assert found(fenced(session)) == [("RTL102", 8, 5)]


def test_each_block_is_a_program_of_its_own() -> None:
    first, second = TWICE.rsplit("loss.backward()\n", 1)[0], "loss.backward()\n"
    assert found(fenced(first) + fenced(second)) == []
    assert [row for _, row, _ in found(fenced(TWICE) + fenced(TWICE))] == [6, 13]


@pytest.mark.parametrize(
    "text", [fenced(TWICE, "bash"), fenced(TWICE, ""), fenced("loss.backward() ...\n"), TWICE, "```py\n", "```"]
)
def test_the_rest_is_prose(text: str) -> None:
    assert found(text) == []


def test_a_block_may_be_open_or_longer_fenced() -> None:
    assert found("```python\n" + TWICE) == [("RTL102", 6, 1)]
    assert found(f"~~~~py\n{TWICE}~~~~\n") == [("RTL102", 6, 1)]
    assert found(f"````text\n{fenced(TWICE)}````\n") == []


@given(
    st.lists(
        st.sampled_from(
            ["```py", "```", "  ```python", "  x = 1", "x = 1", ">>> y", "... z", "", "~~~", "> ```py", "> a", "\tb"]
        ),
        max_size=12,
    )
)
def test_a_program_is_as_long_as_its_document(rows: list[str]) -> None:
    document = Source("a.md", "\n".join(rows))
    for program in programs(document):
        assert len(program.text) == len(document.text)
        assert program.row_starts == document.row_starts
        assert program.shown == document.text


def test_a_document_that_is_too_long_is_one_finding() -> None:
    result = linter.check_source("a.md", (fenced(TWICE) * 3000).encode(), Settings())
    assert [d.message for d in result.diagnostics] == [
        "not checked: the document is too long to be checked: more than 200,000 characters"
    ]
