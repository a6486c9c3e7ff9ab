"""What the name of a file says of the text in it."""

from __future__ import annotations

from collections.abc import Sequence


def is_notebook(name: str) -> bool:
    """Whether a file of that name holds cells in JSON."""
    return name.lower().endswith(".ipynb")


def is_markdown(name: str) -> bool:
    """Whether a file of that name holds prose, with Python in fenced blocks."""
    return name.lower().endswith((".md", ".markdown"))


def alike(one: Sequence[object], two: Sequence[object]) -> int:
    """How many of their first are the same."""
    pairs = zip(one, two, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))
