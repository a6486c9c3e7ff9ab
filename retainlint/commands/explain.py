"""`retainlint explain`: what a rule finds, why that fails, and how it is cured, with its examples; `retainlint rules`.

Both are Markdown too, for the documentation.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from retainlint import rules as table
from retainlint.catalogue import FREED, LINTING, MISSED, MODIFIED, REFUSED, WASTED
from retainlint.checking import linter
from retainlint.commands import CommandError
from retainlint.commands.about import about_us
from retainlint.config import Settings, nearest, shown
from retainlint.report import render
from retainlint.report.terminal import Style
from retainlint.rules import Example, Rule
from retainlint.rules import rule as rule_of
from retainlint.rules.rule import MARK

if TYPE_CHECKING:
    from retainlint.diagnostic import Diagnostic

WIDTH = 100
HEADINGS = {
    "It will raise": (FREED, MODIFIED, REFUSED),
    "It runs, but keeps memory or time for nothing": (WASTED,),
    "It runs, but not as meant": (MISSED,),
    "On the linting itself": (LINTING,),
}


def explain(code_or_name: str | None, out: TextIO, form: str = "text") -> int:
    """Explain a rule, or all. Raises CommandError, with the nearest rule, if there is none of that code or name."""
    chosen = list(table.RULES) if code_or_name is None else [_found(code_or_name)]
    if form == "json":
        rows = [described(rule) for rule in chosen]
        out.write(json.dumps(rows if code_or_name is None else rows[0], indent=2) + "\n")
    elif form == "markdown":
        out.write("\n".join(page(rule) for rule in chosen))
    elif form == "html":
        out.writelines(_drawn(chosen))
    else:
        out.write("\n\n".join(_text(rule) for rule in chosen))
    return 0


def _drawn(chosen: Sequence[Rule]) -> Iterator[str]:
    """A page on which the graphs of the examples can be stepped through."""
    from retainlint.report.html import explanation

    one = chosen[0] if len(chosen) == 1 else None
    heading = f"{one.code} {one.name}" if one is not None else f"{len(chosen)} rules"
    text = one.explanation.strip() if one is not None else "What is found in the examples of each."
    found = [each for rule in chosen for example in rule.bad for each in _found_in(rule, example)]
    yield from explanation(heading, text, found, about_us())


def page_for(code: str) -> str:
    """The Markdown page of a rule. Raises CommandError if there is none of that code."""
    return page(_found(code))


def described(rule: Rule) -> dict[str, object]:
    """A rule for programs, with ruff's keys where ruff has them."""
    return {
        "name": rule.name,
        "code": rule.code,
        "linter": "retainlint",
        "summary": rule.summary,
        "explanation": rule.explanation.strip(),
        "severity": rule.severity.value,
        "on_by_default": rule.on_by_default,
        "bad": [_example(example) for example in rule.bad],
        "good": [_example(example) for example in rule.good],
    }


def _found(code_or_name: str) -> Rule:
    found = rule_of(code_or_name)
    if found is not None:
        return found
    near = nearest(code_or_name, [word for rule in table.RULES for word in (rule.code, rule.name)])
    hint = f"did you mean '{near}'?" if near else "`retainlint rules` lists what there is"
    raise CommandError(f"unknown rule {shown(code_or_name)}; {hint}")


def _example(example: Example) -> dict[str, object]:
    return {"title": example.title, "program": example.program, "fixed": example.fixed}


def _text(rule: Rule) -> str:
    off = "" if rule.on_by_default else ", off unless selected"
    parts = [f"{rule.code} {rule.name} ({rule.severity.value}{off})\n\n{rule.explanation.strip()}\n"]
    if rule.bad:
        parts.append("\nIn the examples, `-` and `+` are the cure, and `#~` says what happens on its line.\n")
    for heading, examples in (("Fails", rule.bad), ("Fine", rule.good)):
        for example in examples:
            program = textwrap.indent(example.text, "    ")
            parts.append(f"\n{heading}: {example.title}\n\n{program}\n")
    if rule.code != "RTL900":
        parts.append(
            f"\nTo keep a place as it is: `# noqa: {rule.code}` or `# retainlint: ignore[{rule.name}]` on its line.\n"
        )
    return "".join(parts)


def rules(out: TextIO, *, as_json: bool = False, markdown: bool = False) -> int:
    """The table of all rules."""
    if markdown:
        out.write(index(table.RULES))
        return 0
    if as_json:
        out.write(json.dumps([described(rule) for rule in table.RULES], indent=2) + "\n")
        return 0
    rows = [("CODE", "NAME", "LEVEL", "WHAT IT FINDS")]
    rows += [(rule.code, rule.name, rule.severity.value, rule.summary) for rule in table.RULES]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row, marked in zip(rows, [False, *(not rule.on_by_default for rule in table.RULES)], strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        out.write("  ".join([*cells, row[3]]).rstrip() + (" (off unless selected)" if marked else "") + "\n")
    return 0


def page(rule: Rule) -> str:
    """The rule's explanation, its examples, and what is said of the first that fails."""
    off = "" if rule.on_by_default else f", off unless it is selected: `--extend-select {rule.code}`"
    parts = [f"# {rule.code} {rule.name}\n\n{rule.severity.value.capitalize()}{off}.\n\n{rule.explanation.strip()}\n"]
    if rule.bad:
        parts.append("\n## What fails\n\n`-` and `+` are the cure; `#~` says what happens on its line.\n")
    parts += [_example_text(example) for example in rule.bad]
    for example in rule.bad[:1]:
        parts.append(f"\nOf the first of these, retainlint says:\n\n```text\n{_said(rule, example)}```\n")
    if rule.good:
        parts.append("\n## What is fine\n")
    parts += [_example_text(example) for example in rule.good]
    if rule.code != "RTL900":
        parts.append(
            "\n## To keep a place as it is\n\n"
            f"`# noqa: {rule.code}` or `# retainlint: ignore[{rule.name}]` on its line.\n"
        )
    return "".join(parts)


def index(rules: Iterable[Rule]) -> str:
    """All rules in tables, by what is wrong, each with a link to its page beside the index."""
    several = list(rules)
    parts = ["# Rules\n\n`retainlint explain CODE` shows a rule's page in the terminal.\n"]
    for heading, families in HEADINGS.items():
        parts.append(f"\n## {heading}\n\n| code | name | level | what it finds |\n| --- | --- | --- | --- |\n")
        for rule in several:
            if rule.family in families:
                off = "" if rule.on_by_default else ", off unless selected"
                link = f"[{rule.code}]({rule.code}.md)"
                parts.append(f"| {link} | {rule.name} | {rule.severity.value}{off} | {_cell(rule.summary)} |\n")
    return "".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _example_text(example: Example) -> str:
    program = example.text
    language = "python" if example.fixed is None else "diff"
    title = example.title[:1].upper() + example.title[1:]
    return f"\n{title}:\n\n```{language}\n{program}\n```\n"


def _said(rule: Rule, example: Example) -> str:
    return "".join(render("full", _found_in(rule, example), Style(False, WIDTH))).rstrip("\n") + "\n"


def _found_in(rule: Rule, example: Example) -> list[Diagnostic]:
    program = MARK.sub("", example.program)
    found = linter.check_source("example.py", program.encode(), Settings())
    return [diagnostic for diagnostic in found.diagnostics if diagnostic.code == rule.code]
