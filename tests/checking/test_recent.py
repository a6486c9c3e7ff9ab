"""What an edit brings is told early, and as it is told in the end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from retainlint.checking import pipeline
from retainlint.checking.linter import Early, FileResult, check_source
from retainlint.checking.recent import MOST, Recent
from retainlint.config import Settings
from retainlint.diagnostic import Diagnostic

TEXT = """import torch

w = torch.ones(3, requires_grad=True)


def helper(x):
    return (x * w).exp().sum()


def first():
    loss = helper(1)
    loss.backward()
    loss.backward()


def second():
    loss = (w * w).sum()
    for _ in range(3):
        print(loss.detach())
    loss.backward()


def most_of_the_work():
    x = w
    for i in range(6):
        for j in range(6):
            x = x * w if i < j else x + w
    x.sum().backward()


class Third:
    def __init__(self):
        self.loss = (w * w).sum()

    def train(self):
        self.loss.backward()
        self.loss.backward()
"""
LAST = "    loss.backward()\n\n\ndef most"
BOTH = "    loss.backward(); loss.backward()\n\n\ndef most"


def rows(found: Sequence[Diagnostic]) -> list[tuple[str, int, tuple[str, ...]]]:
    """What is told, where, and the text that each of its marks stands at."""
    texts = [
        tuple(label.span.source.text[label.span.start : label.span.end] for label in each.labels) for each in found
    ]
    return [(each.code, each.primary.span.row, text) for each, text in zip(found, texts, strict=True)]


def diagnose(text: str) -> list[pipeline.Found]:
    return pipeline.diagnose("a.py", text.encode(), None)


@pytest.mark.parametrize(
    ("edit", "is_early"),
    [
        ((LAST, BOTH), True),
        (("print(loss.detach())", "print(loss)"), True),
        (("    loss = helper(1)\n", "    loss = helper(12345)\n"), True),
        (("(x * w).exp().sum()", "(x * w).sum().detach()"), True),  # who calls it is run again
        (("requires_grad=True", "requires_grad=False"), True),  # who reads what stands outside of all functions, too
        (("    loss = helper(1)\n", "    loss = helper(1)\n\n"), True),  # what is told behind it names other rows
        (("import torch\n", "import torch\nimport math\n\nEPOCHS = 3\n"), True),
        (
            (
                "x):\n    return (x * w).exp().sum()",
                "x):\n    return other(x)\n\n\ndef other(x):\n    return (x * w).sum()",
            ),
            True,
        ),
        (("class Third:\n", "class Third:\n    steps = 2\n\n"), True),
        (("def first():", "@torch.no_grad()\ndef first():"), True),
        (("        self.loss.backward()\n", "        self.loss.backward(\n"), False),  # no Python
    ],
)
def test_the_early_answer_is_the_last_one(
    edit: tuple[str, str], is_early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retainlint.checking.recent.ENOUGH", 60.0)
    assert edit[0] in TEXT
    recent, text = Recent(), TEXT.replace(*edit, 1)
    recent.keep("a.py", diagnose(TEXT))
    early = recent.glimpse("a.py", text.encode(), Settings(), None)
    assert (early is not None) is is_early
    if early is not None:
        (last,) = diagnose(text)
        assert rows(early) == rows(last.diagnostics)
        assert all(label.span.source.text == text for each in early for label in each.labels)


def test_a_text_that_cannot_be_read_keeps_the_one_before_it() -> None:
    recent = Recent()
    recent.keep("a.py", diagnose(TEXT))
    recent.keep("a.py", diagnose(TEXT.replace("def first():", "def first(:")))
    assert recent.glimpse("a.py", TEXT.replace(LAST, BOTH).encode(), Settings(), None) is not None


def test_an_edit_that_reaches_far_is_told_of_as_far_as_it_was_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retainlint.checking.recent.ENOUGH", 0.0)
    recent, text = Recent(), TEXT.replace("requires_grad=True", "requires_grad=bool(1)").replace(LAST, BOTH)
    recent.keep("a.py", diagnose(TEXT))
    early = recent.glimpse("a.py", text.encode(), Settings(), None)
    (last,) = diagnose(text)
    assert early is not None
    assert rows(early) == rows(
        last.diagnostics
    )  # what was edited is run, and what else sees the edit is as it was told


def test_few_texts_are_remembered() -> None:
    recent, found = Recent(), diagnose(TEXT)
    for number in range(MOST + 1):
        recent.keep(f"{number}.py", found)
    edited = TEXT.replace(LAST, BOTH).encode()
    known = [recent.glimpse(f"{number}.py", edited, Settings(), None) is not None for number in (0, 1, MOST)]
    assert known == [False, True, True]


def test_it_is_told_before_all_is_run() -> None:
    recent, told = Recent(), list[FileResult]()
    for text in (TEXT, TEXT.replace(LAST, BOTH)):
        told.clear()
        final = check_source("a.py", text.encode(), Settings(), None, Early(told.append, recent))
    first, untried = told
    assert rows(first.diagnostics) == rows(untried.diagnostics) == rows(final.diagnostics)
    assert len(final.diagnostics) == 3
