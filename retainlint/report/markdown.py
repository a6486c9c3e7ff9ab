"""The format for a comment on a pull request, or a job's summary: Markdown, a table and then each finding drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from retainlint.report import full, statistics
from retainlint.report.places import pointed, relative
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe

if TYPE_CHECKING:
    from retainlint.diagnostic import Diagnostic

MOST = 30
"""So many findings are drawn, and named in the table: a comment holds 65,536 characters."""

WIDTH = 100


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    """A heading, what was found as a table, and below it each finding with its drawing."""
    found = list(diagnostics)
    yield "## retainlint\n\n"
    yield f"{statistics.summary(found, Style(), run.files)}\n"
    if not found:
        return
    yield "\n| | where | what |\n| --- | --- | --- |\n"
    for each in found[:MOST]:
        what = f"**{each.code}** {each.name}: {marked(safe(each.message))}"
        yield f"| {each.severity.value} | {_linked(each, run)} | {_cell(what)} |\n"
    for each in found[:MOST]:
        drawing = "".join(full.render([each], Style(width=WIDTH), run)).rstrip("\n")
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", drawing)), default=0))
        head = _plain(f"{pointed(each.primary.span)}: {each.code} {each.name}")
        yield f"\n<details><summary>{head}</summary>\n\n{fence}text\n{drawing}\n{fence}\n\n</details>\n"
    if len(found) > MOST:
        yield f"\nand {len(found) - MOST} more.\n"


def _linked(found: Diagnostic, run: Run) -> str:
    """The place, as a link where it is known where the project is browsed."""
    span = found.primary.span
    text = f"`{_cell(safe(pointed(span)).replace('`', chr(39)))}`"
    if not run.browse:
        return text
    from urllib.parse import quote

    at = span.place
    path = quote(relative(span.source.name, run.root), errors="replace")
    return f"[{text}]({run.browse}{path}{'' if at.cell else f'#L{at.row}'})"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def marked(text: str) -> str:
    """Plain text as Markdown: names of the source between backticks stay, all else is only text."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one that is left open would mark the rest
        return _escaped(text.replace("`", "'"))
    return "`".join(part if at % 2 else _escaped(part) for at, part in enumerate(parts))


def _escaped(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\*_[]<>#|~" else "&#64;" if sign == "@" else sign for sign in text)


def _plain(text: str) -> str:
    """Text between HTML tags."""
    return safe(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
