"""The format to be sent around: one page with nothing outside of it, findings with their sources, and graphs to step through."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote

from retainlint.report import statistics
from retainlint.report.drawing import rows_shown
from retainlint.report.graph_life import marked_up, svg
from retainlint.report.marks import Mark, mark
from retainlint.report.places import pointed, relative, sheet
from retainlint.report.run import Run
from retainlint.report.terminal import Style

if TYPE_CHECKING:
    from retainlint.diagnostic import Diagnostic, Label
    from retainlint.report.graph_life import Life
    from retainlint.text.source import Source

OPEN = 3
"""Findings of a page that has no more than this are open from the start."""


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    """Everything that a file holds is text in it: none becomes a tag, and the page's own script is the only one that runs."""
    found = list(diagnostics)
    nothing = '<p class="none">No backward pass was found that fails, and no graph that is kept for nothing.</p>\n'
    overview = [*_overview(found)] if found else [nothing]
    yield from _page(statistics.summary(found, Style(), run.files), overview, found, run)


def explanation(heading: str, text: str, found: Sequence[Diagnostic], run: Run) -> Iterator[str]:
    """A page about a rule: what its explanation says, in Markdown's paragraphs, and what is found in its examples."""
    paragraphs = [" ".join(each.split()) for each in text.split("\n\n")]
    yield from _page(heading, [f'<p class="prose">{_coded(each)}</p>\n' for each in paragraphs], found, run)


def _page(summary: str, above: Iterable[str], found: Sequence[Diagnostic], run: Run) -> Iterator[str]:
    script = _asset("html_page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    summary = marked_up(summary)
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>retainlint: {summary}</title>\n'
        f"<style>\n{_asset('html_page.css')}</style>\n</head>\n<body>\n"
        f'<header>\n<h1>retainlint</h1>\n<p class="sum">{summary}</p>\n'
    )
    yield from above
    yield "</header>\n<main>\n"
    for number, diagnostic in enumerate(found, 1):
        yield from _finding(diagnostic, number, len(found) <= OPEN, run)
    version = f" {marked_up(run.version)}" if run.version else ""
    yield f"</main>\n<footer>Written by retainlint{version}.</footer>\n<script>{script}</script>\n</body>\n</html>\n"


@cache
def _asset(name: str) -> str:
    return files("retainlint.report").joinpath(name).read_text(encoding="utf-8")


# -- what there is -------------------------------------------------------------------------------------------------


def _overview(found: Sequence[Diagnostic]) -> Iterator[str]:
    """The findings by rule and by folder, each row a button that shows only these, and the search."""
    names = {each.code: each.name for each in found}
    grade = {
        each.code: each.severity.value for each in sorted(found, key=lambda each: each.severity.value, reverse=True)
    }
    rules = Counter(each.code for each in found)
    folders = Counter(_folder(each) for each in found)
    yield '<div class="tables">\n'
    yield _table("by rule", "rule", [(c, f"{c} {names[c]}", n, grade[c]) for c, n in _ranked(rules)])
    yield _table("by folder", "folder", [(f, f, n, "") for f, n in _ranked(folders)])
    yield "</div>\n"
    yield (
        '<form class="find" role="search">\n'
        '<label>Search <input type="search" name="q" placeholder="file, rule or words" autocomplete="off"></label>\n'
        '<label><input type="checkbox" name="error" checked> errors</label>\n'
        '<label><input type="checkbox" name="warning" checked> warnings</label>\n'
        '<button type="button" data-do="open">open all</button>\n<button type="button" data-do="shut">close all</button>\n'
        f'<output aria-live="polite">{len(found):,} of {len(found):,} shown</output>\n</form>\n'
    )


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _table(heading: str, kind: str, rows: Sequence[tuple[str, str, int, str]]) -> str:
    most = max(count for _, _, count, _ in rows)
    buttons = "".join(
        f'<li><button type="button" aria-pressed="false" data-{kind}="{marked_up(key)}">'
        f'<span class="bar {grade}" style="--part:{count / most:.3f}"></span><span class="key">{marked_up(words)}</span>'
        f'<span class="many">{count:,}</span></button></li>\n'
        for key, words, count, grade in rows
    )
    return f"<section><h2>{heading}</h2>\n<ul>\n{buttons}</ul></section>\n"


def _folder(diagnostic: Diagnostic) -> str:
    return os.path.dirname(relative(diagnostic.primary.span.source.name)) or "."


# -- a finding -----------------------------------------------------------------------------------------------------


def _finding(diagnostic: Diagnostic, number: int, is_open: bool, run: Run) -> Iterator[str]:
    span, grade = diagnostic.primary.span, diagnostic.severity.value
    keys = (
        f'data-rule="{marked_up(diagnostic.code)}" data-folder="{marked_up(_folder(diagnostic))}" data-grade="{grade}"'
    )
    yield (
        f'<details class="finding" id="f{number}" {keys}{" open" if is_open else ""}>\n<summary>'
        f'<span class="grade {grade}">{grade}</span> <b class="code">{marked_up(diagnostic.code)}</b> '
        f'<span class="name">{marked_up(diagnostic.name)}</span> <span class="where">{marked_up(pointed(span))}</span>'
        f'<span class="message">{_coded(diagnostic.message)}</span></summary>\n<div class="body">\n<div class="told">\n'
    )
    sheets: dict[tuple[str, int | None], list[Label]] = {}
    for label in sorted(diagnostic.labels, key=lambda label: sheet(label) != sheet(diagnostic.primary)):
        if label.span.source.text:
            sheets.setdefault(sheet(label), []).append(label)
    for labels in sheets.values():
        yield from _sheet_drawn(labels, grade, run)
    if diagnostic.notes or diagnostic.helps:
        yield '<ul class="notes">\n'
        for note in diagnostic.notes:
            yield f"<li>{_coded(note)}</li>\n"
        for at, each in enumerate(diagnostic.helps):
            yield f'<li class="help"><b>{"or" if at else "help"}</b> {_coded(each.words)}</li>\n'
        yield "</ul>\n"
    if url := run.url(diagnostic.code):
        yield f'<p><a href="{marked_up(url)}">about this rule</a></p>\n'
    yield "</div>\n"
    witness = diagnostic.witness
    life = run.replay(witness) if run.replay is not None and witness is not None else None
    if life is not None:
        yield from _timeline(life, number)
    elif witness is not None and run.replay is None:
        yield "<p>With numpy (<code>pip install 'retainlint[run]'</code>) the graph is drawn here.</p>\n"
    yield "</div>\n</details>\n"


def _coded(text: str) -> str:
    """Words with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return marked_up(text)
    return "".join(f"<code>{marked_up(part)}</code>" if at % 2 else marked_up(part) for at, part in enumerate(parts))


def _sheet_drawn(labels: Sequence[Label], grade: str, run: Run) -> Iterator[str]:
    """The rows of a file, or of a notebook's cell, that a finding speaks of, with their marks and the words below them."""
    source = labels[0].span.source
    first = next((label for label in labels if label.primary), labels[0]).span
    path = marked_up(pointed(first))
    if run.browse and first.place.cell is None:
        address = run.browse + quote(relative(source.name, run.root), errors="replace")
        path = f'<a href="{marked_up(address)}#L{first.row}">{path}</a>'
    marks = [mark(label) for label in labels]
    above = labels[0].span.row - labels[0].span.place.row  # rows of the cells before this one
    yield f'<figure class="source"><figcaption>{path}</figcaption>\n<div class="rows">\n'
    before = 0
    for row in rows_shown(source, marks):
        if before and row > before + 1:
            yield '<div class="gap" aria-hidden="true">⋯</div>\n'
        before = row
        yield from _row(source, row, row - above, [each for each in marks if each.covers(row)], grade)
    yield "</div></figure>\n"


def _row(source: Source, row: int, number: int, marks: Sequence[Mark], grade: str) -> Iterator[str]:
    text = source.shown_row(row)
    stretches = []
    for each in marks:
        start = each.start if each.row == row else len(text) - len(text.lstrip())
        end = each.end if each.end_row == row else len(text)
        if each.label.text or each.label.primary:
            stretches.append((start, max(end, start), each))
    cuts = sorted({0, len(text), *(at for start, end, _ in stretches for at in (start, end) if at <= len(text))})
    parts = []
    for start, end in zip(cuts, cuts[1:]):
        over = [each for low, high, each in stretches if low <= start and end <= high]
        piece = marked_up(text[start:end])
        kind = f"at {grade}" if any(each.label.primary for each in over) else "too"
        parts.append(f'<mark class="{kind}">{piece}</mark>' if over else piece)
    yield f'<div class="row"><span class="no">{number}</span><code>{"".join(parts) or " "}</code></div>\n'
    for start, _, each in sorted(stretches, key=lambda stretch: -stretch[0]):
        if each.end_row == row and each.label.text:
            kind = f"at {grade}" if each.label.primary else "too"
            indent = len(text[:start].expandtabs(4))
            yield f'<div class="say {kind}" style="--in:{min(indent, 60)}">{_coded(each.label.text)}</div>\n'


def _timeline(life: Life, number: int) -> Iterator[str]:
    """The drawing, the buttons, and beside them all that happens in words: the drawing adds nothing to these."""
    last = len(life.steps)
    words = re.sub("`", "", life.steps[-1].words)
    yield f'<section class="life" tabindex="0" aria-label="the graph of finding {number}, step by step">\n<div class="picture">'
    yield from svg(life, f"The graph as it is in the end: {words}")
    yield (
        '</div>\n<div class="beside"><div class="steer" role="group" aria-label="steps">\n'
        '<button type="button" data-go="first" aria-label="first step">⏮</button>\n'
        '<button type="button" data-go="back" aria-label="step back">◀</button>\n'
        '<button type="button" data-go="play" aria-label="play">▶</button>\n'
        '<button type="button" data-go="on" aria-label="step forward">▶▏</button>\n'
        '<button type="button" data-go="last" aria-label="last step">⏭</button>\n'
        f'<input type="range" min="1" max="{last}" value="{last}" aria-label="step">\n'
        f'<output aria-live="polite">{last} of {last}</output></div>\n<ol class="steps">\n'
    )
    for at, step in enumerate(life.steps, 1):
        states = "".join(state.value for state in step.states)
        arrows = " ".join(f"{start}-{end}" for start, end in step.arrows)
        now = ' aria-current="step"' if at == last else ""
        yield f'<li class="{step.kind}" data-s="{states}" data-e="{arrows}"{now}>{_coded(step.words)}</li>\n'
    yield (
        '</ol>\n<p class="key"><span class="b">built</span> <span class="r">running</span> <span class="f">freed</span> '
        '<span class="c">changed</span> <span class="x">fails</span> The ← and → keys step, too.</p></div>\n</section>\n'
    )
