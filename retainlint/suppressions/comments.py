"""The comments by which a source says that a finding is meant, `# noqa`, `# retainlint: ignore`, and for a whole file: read and added."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cached_property

from retainlint.startup.records import record
from retainlint.text.source import Source, Span

_RULE = re.compile(r"(?<![\w-])(?:[A-Za-z]+[0-9]+|[A-Za-z]+(?:-[A-Za-z]+)+)(?![\w-])")

_LISTED = re.compile(r"[^\s,\[\]]+")

_NOQA = re.compile(r"#\s*noqa(?P<colon>\s*:)?(?P<rest>[^#]*)", re.IGNORECASE)

_IGNORE = re.compile(
    r"#\s*retainlint\s*:\s*(?P<word>ignore-file|ignore|noqa)(?![\w-])(?:\s*\[(?P<listed>[^\]#]*)\]|\s*:(?P<codes>[^#]*))?",
    re.IGNORECASE,
)

OURS = re.compile(r"\brtl[0-9]|retainlint", re.IGNORECASE)
"""A text without this has no comment that is ours to judge."""


@record
class Suppression:
    """One comment, from its `#` on. `words` are the places of the rules that it lists, or None for every rule.

    `own` is false for a `# noqa`, which other tools read too. `alone` tells that no code stands before it on its row;
    only there it counts for a file.
    """

    span: Span
    words: tuple[Span, ...] | None
    own: bool = False
    file: bool = False
    alone: bool = False

    @cached_property
    def rules(self) -> frozenset[str] | None:
        """The codes and names that it lists, in lower case."""
        return None if self.words is None else frozenset(word.text.lower() for word in self.words)

    def covers(self, code: str, name: str) -> bool:
        return self.rules is None or code.lower() in self.rules or name.lower() in self.rules

    @property
    def counts(self) -> bool:
        return self.alone or not self.file


@record
class Suppressions:
    """All suppressing comments of a source, by row; those for the whole file; where statements over many rows end."""

    by_row: dict[int, tuple[Suppression, ...]]
    of_file: tuple[Suppression, ...] = ()
    ends: dict[int, int] | None = None

    def __iter__(self) -> Iterator[Suppression]:
        yield from self.of_file
        for row in sorted(self.by_row):
            yield from self.by_row[row]

    def _covering(self, code: str, name: str, span: Span) -> Iterator[Suppression]:
        """The comments that cover the rule: on the rows of `span`, at the end of its statement, or for the file."""
        last = span.end_place[0]
        rows = [*range(span.row, last + 1)] if self.by_row else []
        end = (self.ends or {}).get(last, last)
        for row in rows if end == last else [*rows, end]:
            yield from (one for one in self.by_row.get(row, ()) if one.covers(code, name))
        yield from (one for one in self.of_file if one.counts and one.covers(code, name))

    def split(self, found: Iterable[tuple[str, str, Span]]) -> tuple[list[bool], set[Span]]:
        """Of findings (code, name, place) which are covered, and the places of comments, or of their words, that
        covered one."""
        covered: list[bool] = []
        used: set[Span] = set()
        for code, name, span in found:
            mine = list(self._covering(code, name, span))
            covered.append(bool(mine))
            for one in mine:
                words = [word for word in one.words or () if word.text.lower() in (code.lower(), name.lower())]
                used.update(words or [one.span])
        return covered, used


def read(source: Source) -> Suppressions:
    """Read a source's comments; what stands in a string is none. A text with broken tokens is read up to the break."""
    lowered = source.text.lower()
    if "noqa" not in lowered and "retainlint" not in lowered:
        return Suppressions({})
    by_row: dict[int, tuple[Suppression, ...]] = {}
    of_file: list[Suppression] = []
    layout = Layout(source)
    for row, column, text in layout.comments:
        alone = not source.row_text(row)[:column].strip()
        found = tuple(_parse(source, source.offset(row, column + 1), text, alone))
        of_file += (one for one in found if one.file)
        by_row[row] = tuple(one for one in found if not one.file)
    return Suppressions({row: found for row, found in by_row.items() if found}, tuple(of_file), layout.ends)


class Layout:
    """Where a source's comments stand, where its statements end, and behind which rows a comment could be put."""

    def __init__(self, source: Source) -> None:
        self.comments: list[tuple[int, int, str]] = []
        """Row from 1, column from 0 and text."""
        self.ends: dict[int, int] = {}
        """Of the rows of a statement over many rows, its last one."""
        self.open_rows: set[int] = set()
        """Rows that end outside of strings and without a backslash."""
        rows = [source.row_text(row) for row in range(1, len(source.row_starts) + 1)]
        lines = io.StringIO("\n".join(rows) + "\n")
        try:
            self._read(lines)
        except (tokenize.TokenError, SyntaxError):  # SyntaxError covers IndentationError, for an odd dedent
            return

    def _read(self, lines: io.StringIO) -> None:
        first, depth = 0, 0
        for token in tokenize.generate_tokens(lines.readline):
            row = token.start[0]
            kind = tokenize.tok_name[token.type]
            depth += kind.endswith("STRING_START") - kind.endswith("STRING_END")
            if kind == "COMMENT":
                self.comments.append((*token.start, token.string))
            elif kind == "NEWLINE":
                if first and row > first:
                    self.ends.update(dict.fromkeys(range(first, row), row))
                first = 0
            elif kind not in ("NL", "INDENT", "DEDENT", "ENDMARKER", "ENCODING"):
                first = first or row
            if kind in ("NL", "NEWLINE", "COMMENT") and not depth:
                self.open_rows.add(row)


def _parse(source: Source, offset: int, comment: str, alone: bool) -> Iterator[Suppression]:
    def words(match: re.Match[str], group: str, pattern: re.Pattern[str]) -> tuple[Span, ...]:
        start = offset + match.start(group)
        return tuple(Span(source, start + word.start(), start + word.end()) for word in pattern.finditer(match[group]))

    for match in _IGNORE.finditer(comment):
        span = Span(source, offset + match.start(), offset + match.end())
        for_file = match["word"].lower() != "ignore"
        if match["listed"] is not None:
            yield Suppression(span, words(match, "listed", _LISTED), True, for_file, alone)
        elif match["codes"] is not None:
            yield Suppression(span, words(match, "codes", _RULE), True, for_file, alone)
        else:
            yield Suppression(span, None, True, for_file, alone)
    for match in _NOQA.finditer(comment):
        span = Span(source, offset + match.start(), offset + match.end())
        if match["colon"] is None:
            if not match["rest"][:1].isalnum():  # but `noqa3` is another word
                yield Suppression(span, None, alone=alone)
            continue
        # As in ruff, a colon without any code behind it suppresses nothing: it is a comment that went wrong.
        codes = words(match, "rest", _RULE)
        if codes:
            yield Suppression(span, codes, alone=alone)


def with_noqa(source: Source, findings: Iterable[tuple[str, Span]], reason: str = "") -> tuple[str, int]:
    """The source's text with each finding, a code and a place in it, suppressed on its row; and how many are.

    A `# noqa` that lists codes is extended, and keeps its reason. Where no comment can stand, in a string or before a line that is
    continued, it goes behind the end of the statement. What has no such place stays as it is.
    """
    layout, comments = Layout(source), read(source)
    wanted: dict[int, list[str]] = {}
    added = 0
    for code, span in findings:
        row = _row_for_comment(layout, span)
        if row is None:
            continue
        codes = wanted.setdefault(row, [])
        added += 1
        if code not in codes:
            codes.append(code)
    text = source.text
    for row in sorted(wanted, reverse=True):
        at, addition = _addition(source, row, sorted(wanted[row]), comments.by_row.get(row, ()), reason)
        text = text[:at] + addition + text[at:]
    return text, added


def _row_for_comment(layout: Layout, span: Span) -> int | None:
    last = span.end_place[0]
    if last in layout.open_rows:
        return last
    end = layout.ends.get(last)
    return end if end in layout.open_rows else None


def _addition(
    source: Source, row: int, codes: list[str], there: tuple[Suppression, ...], reason: str
) -> tuple[int, str]:
    """What to put in at which offset."""
    for one in there:
        if not one.own and one.words:
            return one.words[-1].end, "".join(f", {code}" for code in codes)
    text = source.row_text(row)
    bare = text.rstrip(" \t\x0c")
    return source.offset(row, 1) + len(bare), f"  # noqa: {', '.join(codes)}{reason and ' '}{reason}"


def ignoring(source: Source, code: str, span: Span, reason: str) -> tuple[int, str] | None:
    """What to put in, and where, to suppress a finding on its row by a comment of ours that gives a reason; None where no
    comment can stand. One that lists rules there already is extended."""
    row = _row_for_comment(Layout(source), span)
    if row is None:
        return None
    for one in read(source).by_row.get(row, ()):
        if one.own and one.words:
            return one.words[-1].end, f", {code}"
    at = source.offset(row, 1) + len(source.row_text(row).rstrip(" \t\x0c"))
    return at, f"  # retainlint: ignore[{code}] {reason}"
