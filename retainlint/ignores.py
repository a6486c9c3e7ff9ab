"""The patterns that say what git ignores, and which names of a directory they leave out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Ignores:
    """The patterns of one file, and those that hold in the directories above it.

    `root` is the directory, ending in a separator, that the patterns are relative to, and `text` what the file holds.
    """

    def __init__(self, root: str, text: str, above: Ignores | None) -> None:
        self.root, self.text, self.above = root, text, above

    @cached_property
    def spec(self) -> GitIgnoreSpec:
        """The patterns compiled; one that git would find wrong is left out, as git does."""
        from pathspec import GitIgnoreSpec

        lines = _patterns(self.text)
        try:
            return GitIgnoreSpec.from_lines(lines)
        except ValueError:
            return GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))


def read(root: str, name: str, above: Ignores | None) -> Ignores | None:
    """The patterns `above` with those of a file in the directory `root` added, if there are any in it."""
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    except (OSError, ValueError):
        return above
    return Ignores(os.path.join(root, ""), text, above) if _patterns(text) else above


def ignored(ignores: Ignores, directory: str, names: Iterable[str]) -> set[str]:
    """Which of the names in an absolute directory git would ignore; those of directories end in `/`."""
    above = os.path.join(directory, "")
    return {name for name in names if _ignored(above + name, ignores)}


def _ignored(path: str, ignores: Ignores | None) -> bool:
    """Whether git would ignore a path: the nearest file that has an opinion decides."""
    while ignores is not None:
        opinion = ignores.spec.check_file(path[len(ignores.root) :]).include
        if opinion is not None:  # False to take it (`!pattern`)
            return opinion
        ignores = ignores.above
    return False


def _patterns(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip() and not line.startswith("#")]


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
