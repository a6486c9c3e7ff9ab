"""Which suppressing comments, or which of the rules that they list, suppress nothing, and what would be left of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from retainlint.startup.records import record
from retainlint.suppressions.comments import Suppression, Suppressions
from retainlint.text.source import Span

_CODE = re.compile(r"RTL[0-9]+", re.IGNORECASE)
_ITSELF = frozenset({"rtl901", "unused-suppression"})


@record
class Unused:
    """A comment at `span` that is good for nothing, or in which the `useless` rules are, or the `unknown` words.

    Without either the whole comment is. `edit` is what to replace, by `left`, to be rid of it.
    """

    span: Span
    useless: tuple[str, ...]
    unknown: tuple[str, ...]
    misplaced: bool
    edit: Span
    left: str


def unused(
    comments: Suppressions, used: Collection[Span], names: Mapping[str, str], judged: Collection[str], bare: bool
) -> Iterator[Unused]:
    """The comments that are useless, given the places of those, or of their words, that covered a finding.

    `names` maps every rule's code to its name; only of the `judged` codes is it known that nothing was found, and
    with `bare` of all that a comment without a list may mean. A bare `# noqa` and the codes of other tools are no
    business of ours.
    """
    codes = {word.lower(): code for code, name in names.items() for word in (code, name)}
    for one in comments:
        if one.rules is not None and one.rules & _ITSELF:
            continue
        if not one.counts:
            yield Unused(one.span, (), (), True, *_without(one))
        elif one.words is None:
            if bare and one.own and one.span not in used:
                yield Unused(one.span, (), (), False, *_without(one))
        else:
            yield from _words(one, one.words, used, codes, judged)


def _words(
    one: Suppression, words: tuple[Span, ...], used: Collection[Span], codes: Mapping[str, str], judged: Collection[str]
) -> Iterator[Unused]:
    unknown = [w for w in words if w.text.lower() not in codes and (one.own or _CODE.fullmatch(w.text))]
    useless = [w for w in words if w not in used and codes.get(w.text.lower()) in judged]
    wrong = {*unknown, *useless}
    if wrong or (one.own and not words):
        edit = _without(one) if len(wrong) == len(words) else _shortened(words, wrong)
        yield Unused(one.span, _texts(useless), _texts(unknown), False, *edit)


def _texts(spans: list[Span]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(span.text for span in spans))


def _shortened(words: tuple[Span, ...], wrong: Collection[Span]) -> tuple[Span, str]:
    """The list without the wrong words; what else stands between the words stays."""
    text = words[0].source.text
    region = Span(words[0].source, words[0].start, words[-1].end)
    left, last = "", len(words) - 1
    for number, word in enumerate(words):
        after = text[word.end : words[number + 1].start] if number < last else ""
        left += after.lstrip(" \t,;") if word in wrong else word.text + after
    return region, left.rstrip(" \t,;")


def _without(one: Suppression) -> tuple[Span, str]:
    """The row without the comment: with it go the blanks before it, and the row if nothing else is on it."""
    source, start, end = one.span.source, one.span.start, one.span.end
    row = one.span.row
    text = source.row_text(row)
    row_start = source.offset(row, 1)
    before, after = text[: start - row_start], text[end - row_start :]
    if after.strip():
        blanks = len(after) - len(after.lstrip())
        return (Span(source, start, end + blanks), "") if after.lstrip()[0] == "#" else (one.span, "#")
    if not before.strip():
        next_row = source.row_starts[row] if row < len(source.row_starts) else len(source.text)
        return Span(source, row_start, next_row), ""
    return Span(source, row_start + len(before.rstrip(" \t")), row_start + len(text)), ""
