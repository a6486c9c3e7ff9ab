"""The comments by which a source says that a finding is meant: `# noqa` and `# retainlint: ignore`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from retainlint.source import Source, Span

_RULE = re.compile(r"(?<![\w-])(?:[A-Za-z]+[0-9]+|[A-Za-z]+(?:-[A-Za-z]+)+)(?![\w-])")
_NOQA = re.compile(r"#\s*noqa(?P<colon>\s*:)?(?P<rest>[^#]*)", re.IGNORECASE)
_IGNORE = re.compile(r"#\s*retainlint\s*:\s*ignore\b(?:\s*\[(?P<rules>[^\]]*)\])?", re.IGNORECASE)


@dataclass(frozen=True)
class Suppression:
    """One comment; `rules` are the codes and names that it lists, in lower case, or None for every rule."""

    span: Span
    rules: frozenset[str] | None

    def covers(self, code: str, name: str) -> bool:
        return self.rules is None or code.lower() in self.rules or name.lower() in self.rules


@dataclass(frozen=True)
class Suppressions:
    """All suppressing comments of a source, by row."""

    by_row: dict[int, tuple[Suppression, ...]]

    def covering(self, code: str, name: str, span: Span) -> Suppression | None:
        """The comment on a row of `span`, so at either end of a call over several lines, that covers the rule."""
        if not self.by_row:
            return None
        for row in range(span.row, span.end_place[0] + 1):
            for suppression in self.by_row.get(row, ()):
                if suppression.covers(code, name):
                    return suppression
        return None


def read(source: Source) -> Suppressions:
    """Read a source's comments; what stands in a string is none. A text with broken tokens is read up to the break."""
    lowered = source.text.lower()
    if "noqa" not in lowered and "retainlint" not in lowered:
        return Suppressions({})
    by_row: dict[int, tuple[Suppression, ...]] = {}
    for row, column, text in _comments(source):
        found = tuple(_parse(source, source.offset(row, column + 1), text))
        if found:
            by_row[row] = found
    return Suppressions(by_row)


def _comments(source: Source) -> Iterator[tuple[int, int, str]]:
    """Row from 1, column from 0 and text of each comment."""
    rows = [source.row_text(row) for row in range(1, len(source.row_starts) + 1)]
    lines = io.StringIO("\n".join(rows) + "\n")
    try:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.COMMENT:
                yield *token.start, token.string
    except (tokenize.TokenError, SyntaxError):  # SyntaxError covers IndentationError, for an odd dedent
        return


def _parse(source: Source, offset: int, comment: str) -> Iterator[Suppression]:
    for match in _IGNORE.finditer(comment):
        span = Span(source, offset + match.start(), offset + match.end())
        rules = match["rules"]
        if rules is None:
            yield Suppression(span, None)
        else:
            yield Suppression(span, frozenset(word.strip().lower() for word in rules.split(",")))
    for match in _NOQA.finditer(comment):
        span = Span(source, offset + match.start(), offset + match.end())
        if match["colon"] is None:
            if not match["rest"][:1].isalnum():  # but `noqa3` is another word
                yield Suppression(span, None)
            continue
        # As in ruff, a colon without any code behind it suppresses nothing: it is a comment that went wrong.
        codes = [rule.lower() for rule in _RULE.findall(match["rest"])]
        if codes:
            yield Suppression(span, frozenset(codes))
