"""Rules as Markdown: a rule's page in the documentation, and the index of all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from retainlint.checking import linter
from retainlint.config import Settings
from retainlint.report import render
from retainlint.report.terminal import Style

if TYPE_CHECKING:
    from retainlint.rules import Example, Rule

_MARK = re.compile(r" *#~.*$", re.MULTILINE)
WIDTH = 100
FAMILIES = {
    "RTL1": "It will raise",
    "RTL2": "It runs, but keeps memory or time for nothing",
    "RTL3": "It runs, but not as meant",
    "RTL9": "On the linting itself",
}


def page(rule: Rule) -> str:
    """The rule's explanation, its examples, and what is said of the first that fails."""
    off = "" if rule.on_by_default else f", off unless it is selected: `--extend-select {rule.code}`"
    parts = [f"# {rule.code} {rule.name}\n\n{rule.severity.value.capitalize()}{off}.\n\n{rule.explanation.strip()}\n"]
    if rule.bad:
        parts.append("\n## What fails\n\n`-` and `+` are the cure; `#~` tells what happens on its line.\n")
    parts += [_example(example) for example in rule.bad]
    for example in rule.bad[:1]:
        parts.append(f"\nOf the first of these, retainlint says:\n\n```text\n{_said(rule, example)}```\n")
    if rule.good:
        parts.append("\n## What is fine\n")
    parts += [_example(example) for example in rule.good]
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
    for prefix, heading in FAMILIES.items():
        parts.append(f"\n## {heading}\n\n| code | name | level | what it finds |\n| --- | --- | --- | --- |\n")
        for rule in several:
            if rule.code.startswith(prefix):
                off = "" if rule.on_by_default else ", off unless selected"
                link = f"[{rule.code}]({rule.code}.md)"
                parts.append(f"| {link} | {rule.name} | {rule.severity.value}{off} | {_cell(rule.summary)} |\n")
    return "".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _example(example: Example) -> str:
    program = example.text
    language = "python" if example.fixed is None else "diff"
    title = example.title[:1].upper() + example.title[1:]
    return f"\n{title}:\n\n```{language}\n{program}\n```\n"


def _said(rule: Rule, example: Example) -> str:
    program = _MARK.sub("", example.program)
    found = linter.check_source("example.py", program.encode(), Settings())
    of_rule = [diagnostic for diagnostic in found.diagnostics if diagnostic.code == rule.code]
    return "".join(render("full", of_rule, Style(False, WIDTH))).rstrip("\n") + "\n"
