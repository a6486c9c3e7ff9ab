"""Finds the line on which a TOML text states a key, which the standard library's reader doesn't tell."""

from __future__ import annotations

import re
from typing import TypeAlias

KeyPath: TypeAlias = "tuple[str | int, ...]"
"""The way from the top: keys, and numbers of elements from 0."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'", re.DOTALL)
_PLAIN = re.compile(r"[^,\]}\n#]+")


def places(text: str) -> dict[KeyPath, int]:
    """Row, from 1, of each key and each element of a list in a TOML text that is known to be right."""
    return _RowFinder(text).read()


def row_of(known: dict[KeyPath, int], path: KeyPath) -> int:
    """The row of a path, or of the longest part of it that has one; 1 if none has."""
    while path and path not in known:
        path = path[:-1]
    return known.get(path, 1)


class _RowFinder:
    """One pass over the text; nesting is kept on a stack of its own, since a hostile text may nest deeply."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._found: dict[KeyPath, int] = {}
        self._counted, self._row = 0, 1
        self._tables: dict[KeyPath, int] = {}

    def read(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._skip() < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._value(self._key(table))
        return self._found

    def _skip(self) -> int:
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at

    def _state(self, path: KeyPath) -> None:
        self._row += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        self._found.setdefault(path, self._row)

    def _header(self) -> KeyPath:
        many = self._text.startswith("[[", self._at)
        at = self._at
        self._at += 2 if many else 1
        path, end = self._dotted(())
        self._at, end = at, self._at
        if many:
            number = self._tables[path] = self._tables.get(path, -1) + 1
            path = (*path, number)
        for length in range(1, len(path) + 1):
            self._state(path[:length])
        self._at = end + (2 if many else 1)
        return path

    def _key(self, table: KeyPath) -> KeyPath:
        """Reads `a."b".c =` and states each part."""
        start = self._at
        path, _ = self._dotted(table)
        self._at, end = start, self._at
        for length in range(len(table) + 1, len(path) + 1):
            self._state(path[:length])
        self._at = end + 1  # behind the =
        self._skip()
        return path

    def _dotted(self, path: KeyPath) -> tuple[KeyPath, int]:
        while True:
            self._skip()
            match = _STRING.match(self._text, self._at) or _BARE.match(self._text, self._at)
            if match is None:  # not TOML: nothing more can be told
                self._at = len(self._text)
                return path, self._at
            self._at = match.end()
            word = match[0]
            path = (*path, word[1:-1] if word[0] in "\"'" else word)
            self._skip()
            if self._text[self._at : self._at + 1] != ".":
                return path, self._at
            self._at += 1

    def _value(self, path: KeyPath) -> None:
        """Steps over one value, stating what is in it."""
        open_: list[tuple[str, KeyPath, int]] = []  # the bracket, the path of what it opens, its element's number
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign in "[{":
                self._at += 1
                open_.append((sign, path, 0))
            elif sign in "]}":
                self._at += 1
                open_.pop()
            elif sign == "," and open_:
                self._at += 1
                bracket, above, number = open_.pop()
                open_.append((bracket, above, number + 1))
            else:
                match = _STRING.match(self._text, self._at) or _PLAIN.match(self._text, self._at)
                self._at = match.end() if match else self._at + 1
            if not open_:
                return
            self._skip()
            path = self._inside(open_[-1])

    def _inside(self, opened: tuple[str, KeyPath, int]) -> KeyPath:
        """The path of the element that starts here, if one does."""
        bracket, above, number = opened
        if self._text[self._at : self._at + 1] in ("]", "}", ",", ""):
            return above
        if bracket == "{":
            return self._key(above)
        self._state((*above, number))
        return (*above, number)
