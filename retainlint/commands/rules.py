"""`retainlint rules`: the table of all rules."""

from __future__ import annotations

import json
from typing import TextIO


def rules(out: TextIO, *, as_json: bool = False, markdown: bool = False) -> int:
    from retainlint.rules import RULES

    if markdown:
        from retainlint.commands.rule_page import index

        out.write(index(RULES))
        return 0
    if as_json:
        from retainlint.commands.explain import described

        out.write(json.dumps([described(rule) for rule in RULES], indent=2) + "\n")
        return 0
    rows = [("CODE", "NAME", "LEVEL", "WHAT IT FINDS")]
    rows += [(rule.code, rule.name, rule.severity.value, rule.summary) for rule in RULES]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row, marked in zip(rows, [False, *(not rule.on_by_default for rule in RULES)], strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        out.write("  ".join([*cells, row[3]]).rstrip() + (" (off unless selected)" if marked else "") + "\n")
    return 0
