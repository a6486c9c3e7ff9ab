"""How the command line is called in tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Run: TypeAlias = Callable[..., tuple[int, str, str]]
"""Arguments to exit code, standard output and standard error."""

BAD = "bad.backward()\n"


def write(name: str, text: str = BAD) -> None:
    """Write a file, with the directories above it; line ends stay as they are."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(text.encode("utf-8"))
