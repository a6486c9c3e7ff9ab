"""What of a tree was ignored in the last run, so that the same patterns aren't matched with the same names again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from retainlint.cache.store import UNUSABLE, File, plain, small
from retainlint.project.discovery import ignored

if TYPE_CHECKING:
    from typing import TypeAlias

    from retainlint.project.discovery import Ignores

    Row: TypeAlias = "tuple[int, str, str]"
    """One file of patterns: the number of those above it, -1 for none; what it is relative to; what it holds."""

    Question: TypeAlias = "tuple[Ignores, str, str]"
    """The patterns, the directory, and the names in it, in order and parted by `/`."""

_ALONE = -1
_ALL = 0
"""The number of the one record."""


class Answers:
    """The answers for one tree, in a file of the cache's directory that is replaced whole.

    An answer counts for the very patterns, directory and names that it was given for, so nothing makes it wrong but
    another version of what matches them. Nothing is raised: what can't be read is asked again, what can't be written
    is lost.
    """

    def __init__(self, file: File) -> None:
        self._file = file
        self._is_read = self._is_new = False
        self._patterns: dict[Row, int] = {}
        self._known: dict[str, tuple[str, list[str]]] = {}
        self._numbers: dict[Ignores, int | None] = {}
        self._given: list[tuple[Question, list[str]]] = []

    def ignored(self, ignores: Ignores, directory: str, names: list[str]) -> list[str]:
        """Which of the names in an absolute directory git would ignore; those of directories end in `/`."""
        if not self._is_read:
            self._is_read = True
            self._read()
        asked = "/".join(sorted(names))
        known = self._known.get(_key(self._number(ignores), directory))
        if known is not None and known[0] == asked:
            found = known[1]
        else:
            self._is_new, found = True, sorted(ignored(ignores, directory, names))
        self._given.append(((ignores, directory, asked), found))
        return found

    def _number(self, ignores: Ignores | None) -> int | None:
        """The number that patterns have in what was kept, None if they aren't in it."""
        if ignores is None:
            return _ALONE
        if ignores not in self._numbers:
            above = self._number(ignores.above)
            self._numbers[ignores] = None if above is None else self._patterns.get((above, ignores.root, ignores.text))
        return self._numbers[ignores]

    def _read(self) -> None:
        try:
            patterns, known = json.loads(plain(self._file.read()[_ALL]))
            rows = {(int(above), str(root), str(text)): n for n, (above, root, text) in enumerate(patterns)}
            answers = {str(key): (str(asked), [str(name) for name in names]) for key, (asked, names) in known.items()}
            self._patterns, self._known = rows, answers
        except UNUSABLE:
            return

    def save(self) -> None:
        """Keep what was asked in this run, if not all of it was known."""
        if self._is_new and self._file.write({_ALL: self._dumped()}):
            self._is_new = False

    def _dumped(self) -> bytes:
        patterns: dict[Row, int] = {}

        def number(ignores: Ignores | None) -> int:
            if ignores is None:
                return _ALONE
            return patterns.setdefault((number(ignores.above), ignores.root, ignores.text), len(patterns))

        known = {_key(number(ignores), where): (asked, found) for (ignores, where, asked), found in self._given}
        return small(json.dumps([list(patterns), known], separators=(",", ":")).encode())


def _key(number: int | None, directory: str) -> str:
    return f"{number} {directory}"
