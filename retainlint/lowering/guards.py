"""Why a text can't be lowered, in words for people; and how deep it nests, judged before a recursive parser is let near it."""

from __future__ import annotations

import re

from retainlint.lowering import limits
from retainlint.text.source import Source

_WORD = re.compile(r"\w+|[^\w\s]")


def words_in(text: str) -> int:
    """The words and signs of a text: what it costs to read goes with them."""
    return len(_WORD.findall(text))


_ARM = re.compile(r"^([ \t]*)(if|elif)\b", re.MULTILINE)


_TOKEN = re.compile(
    r"""
      \#[^\n]*
    | (?P<string> \w{0,2} (?: '''(?:[^\\]|\\.)*?(?:'''|\\?\Z) | \"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\\?\Z)
                            | '(?:[^'\\\n]|\\.)*'? | "(?:[^"\\\n]|\\.)*"? ) )
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    | (?P<row> \n )
    | (?P<comma> [,;] )
    | (?P<link> \b(?:not|lambda|else|and|or|await|in|is)\b | [.+*/%@&|^~<>-] )
    | \w+
    """,
    re.VERBOSE | re.DOTALL,
)


def too_deep(text: str) -> int | None:
    """The offset at which `text` gets deeper than a parser can bear, if it does."""
    if (
        len(text) <= limits.CHAINED_LINKS
        and sum(map(text.count, "([{")) < limits.BRACKET_DEPTH
        and sum(map(text.count, "\"'")) <= limits.NESTED_QUOTES
    ):
        return None  # there is no room for more
    deep = _deep_statement(text)
    return _deep_expression(text, 0, 0) if deep is None else deep


def _deep_statement(text: str) -> int | None:
    if text.count("elif") <= limits.NESTED_ARMS:
        return None
    arms: dict[int, int] = {}  # how many at each indent
    for found in _ARM.finditer(text):
        indent, goes_on = len(found[1]), found[2] == "elif"
        arms = {other: count for other, count in arms.items() if other < indent or (other == indent and goes_on)}
        if goes_on:
            arms[indent] = arms.get(indent, 0) + 1
            if sum(arms.values()) > limits.NESTED_ARMS:
                return found.start()
    return None


def _deep_expression(text: str, offset: int, quotes: int) -> int | None:
    """The same for what nests in expressions; `text` starts at `offset`, inside of so many `quotes`."""
    links, total = [0], 0  # links at each level of brackets since its last comma, and their sum
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind is None:
            continue
        if kind == "comma" or (kind == "row" and len(links) == 1):
            total -= links[-1]
            links[-1] = 0
            continue
        if kind == "close":
            if len(links) > 1:
                total -= links.pop()
            continue
        if kind == "row":
            continue
        links[-1] += 1
        total += 1
        if kind == "open":
            links.append(0)
        elif kind == "string" and (inner := _interpolated(found[0])) is not None:
            at = offset + found.start() + inner
            deep = at if quotes == limits.NESTED_QUOTES else _deep_expression(found[0][inner:-1], at, quotes + 1)
            if deep is not None:
                return deep
        if len(links) > limits.BRACKET_DEPTH or total > limits.CHAINED_LINKS:
            return offset + found.start()
    return None


def _interpolated(string: str) -> int | None:
    """Where the content of an f-string or t-string starts; None for a plain one."""
    for at in (1, 2):
        if string[at : at + 1] in ("'", '"'):
            return at + 1 if set(string[:at]) & set("fFtT") else None
    return None


class LoweringError(Exception):
    """A text that isn't Python as we know it, or is too deep to be read safely.

    `reason` is written for people; `row` and `column` count from 1, `offset` from 0, in characters of the text.
    """

    def __init__(self, source: Source, reason: str, offset: int) -> None:
        self.source = source
        self.reason = reason
        self.offset = min(max(offset, 0), len(source.text))
        self.row, self.column = source.place(self.offset)
        super().__init__(f"{source.name}:{self.row}:{self.column}: {reason}")

    def __reduce__(self) -> tuple[type[LoweringError], tuple[Source, str, int]]:
        return LoweringError, (self.source, self.reason, self.offset)  # for it to pass between processes
