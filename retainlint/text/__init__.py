"""What the name of a file says of the text in it."""

from __future__ import annotations


def is_notebook(name: str) -> bool:
    """Whether a file of that name holds cells in JSON."""
    return name.lower().endswith(".ipynb")


def is_markdown(name: str) -> bool:
    """Whether a file of that name holds prose, with Python in fenced blocks."""
    return name.lower().endswith((".md", ".markdown"))
