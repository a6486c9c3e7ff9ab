"""`retainlint explain`: what a rule finds, why that fails, and how it is cured, with its examples."""

from __future__ import annotations

import textwrap
from typing import TextIO

from retainlint.commands import CommandError, nearest


def explain(code_or_name: str, out: TextIO) -> int:
    """Raises CommandError, with the nearest rule, if there is none of that code or name."""
    from retainlint.rules import RULES, rule

    found = rule(code_or_name)
    if found is None:
        near = nearest(code_or_name, [word for rule in RULES for word in (rule.code, rule.name)])
        hint = f"did you mean '{near}'?" if near else "`retainlint rules` lists what there is"
        raise CommandError(f"unknown rule '{code_or_name}'; {hint}")
    out.write(f"{found.code} {found.name} ({found.severity.value})\n\n{found.explanation.strip()}\n")
    if found.bad:
        out.write("\nIn the examples, `-` and `+` are the cure, and `#~` tells what happens on its line.\n")
    for heading, examples in (("Fails", found.bad), ("Fine", found.good)):
        for example in examples:
            program = textwrap.indent(textwrap.dedent(example.text).strip("\n"), "    ")
            out.write(f"\n{heading}: {example.title}\n\n{program}\n")
    out.write(
        f"\nTo keep a place as it is: `# noqa: {found.code}` or `# retainlint: ignore[{found.name}]` on its line.\n"
    )
    return 0
