"""Python in the fenced blocks of Markdown: each a program of its own, at the places where it stands in the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from retainlint.text.notebook import blank, parses
from retainlint.text.prefilter import may_backpropagate
from retainlint.text.source import Source, UnreadableSource

_FENCE = re.compile(
    r"^(?P<indent>(?:[ \t]|> ?)*)(?P<fence>`{3,}|~{3,})[ \t]*(?:\{\.?|\.)?(?P<word>[\w.+-]*)(?P<rest>[^\r\n]*)$"
)
_PYTHON = frozenset("python py python3 pycon pycond pyi".split())
_PROMPT = re.compile(r"(>>>|\.\.\.)( |$)")
_BODY = "if 1:"

MOST = 50
"""So many blocks of a document are read: each costs as much as the document is long."""

LONGEST = 200_000
"""Characters of the longest document that is read."""


def programs(document: Source) -> Iterator[Source]:
    """Each block in which a walk may stand, as a source as long as the document with nothing but the block's rows.

    One that isn't Python is left out. A block that is indented, or whose rows begin with a prompt, is put as the body
    of an `if`. Raises UnreadableSource for a document that is too long.
    """
    if len(document.text) > LONGEST:
        raise UnreadableSource(f"the document is too long to be checked: more than {LONGEST:,} characters")
    found = (block for block in _blocks(document) if may_backpropagate(_rows(document, block[0], block[1])))
    for first, last, indent, has_prompts in islice(found, MOST):
        text = _program(document, first, last, indent, has_prompts)
        if text is not None and parses(text):
            yield Source(document.name, text, (), document.text)


def _rows(document: Source, first: int, last: int) -> bytes:
    """The text between two rows, in bytes."""
    starts = document.row_starts
    end = starts[last - 1] if last <= len(starts) else len(document.text)
    return document.text[starts[first] : end].encode(errors="replace") if first < len(starts) else b""


def _blocks(document: Source) -> Iterator[tuple[int, int, int, bool]]:
    """The fence's row and that of the fence that closes it, its indent, and whether prompts may lead its rows."""
    rows = len(document.row_starts)
    row = 1
    while row <= rows:
        found = _FENCE.match(document.row_text(row))
        if found is None or (found["fence"][0] == "`" and "`" in found["rest"]):
            row += 1
            continue
        closing = re.compile(rf"[ \t>]*{re.escape(found['fence'][0])}{{{len(found['fence'])},}}[ \t]*$")
        last = row + 1
        while last <= rows and not closing.match(document.row_text(last)):
            last += 1
        if found["word"].lower() in _PYTHON:
            opening = document.row_text(row + 1) if last > row + 1 else ""
            yield row, last, len(found["indent"]), opening[len(found["indent"]) :].startswith(">>>")
        row = last + 1


def _program(document: Source, first: int, last: int, indent: int, has_prompts: bool) -> str | None:
    starts, text = document.row_starts, document.text
    made = [blank(text[start:end]) for start, end in zip(starts, (*starts[1:], len(text)))]
    if indent > 0 or has_prompts:
        if len(document.row_text(first)) < len(_BODY):
            return None
        made[first - 1] = _BODY + made[first - 1][len(_BODY) :]
    for row in range(first + 1, min(last, len(starts) + 1)):
        content = document.row_text(row)
        lead, body, end = content[:indent], content[indent:], made[row - 1][len(content) :]
        if lead.strip(" \t>"):
            return None  # it stands further out than its fence
        prompt = _PROMPT.match(body)
        if prompt is not None and has_prompts:
            made[row - 1] = blank(lead + prompt[0]) + body[prompt.end() :] + end
        elif not has_prompts:
            made[row - 1] = blank(lead) + body + end
    return "".join(made)
